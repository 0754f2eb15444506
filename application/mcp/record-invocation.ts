import { type Caller, ownerOf } from '../../domain/identity/caller.ts';
import type { InvocationStatus, McpName, PolicyResult } from '../../domain/mcp/invocation.ts';
import { type InvocationPayload, redactedInvocation } from '../../domain/payload/invocation-payload.ts';
import { forCaller, type RedactionRules } from '../../domain/payload/redact.ts';
import { withoutSecrets } from '../../domain/payload/secrets.ts';
import type { Clock } from '../ports/clock.ts';
import type { InvocationQueue } from '../ports/mcp-invocations.ts';

/** One call of one tool of an MCP server, as whoever made it saw it. */
export interface ToolInvocation {
  readonly requestId: string;
  readonly requestLogId: string | undefined;
  /** Undefined when nobody was authenticated. */
  readonly caller: Caller | undefined;
  /** The caller's key and its secret part, which are kept nowhere. */
  readonly callerSecrets: readonly string[];
  readonly server: McpName;
  readonly tool: McpName;
  readonly status: InvocationStatus;
  readonly policyResult: PolicyResult;
  readonly latencyMs: number;
  readonly errorCode: string | undefined;
  readonly payload: InvocationPayload;
}

export interface RecordInvocationPorts {
  readonly invocations: InvocationQueue;
  readonly clock: Pick<Clock, 'newId'>;
  /** The rules in force. */
  readonly redaction: () => RedactionRules;
}

/**
 * Records an invocation behind the answer, with redacted, bounded arguments and result; gives back its id. `heldBytes`:
 * what arguments and result hold of memory until then.
 */
export const recordInvocation =
  ({ invocations, clock, redaction }: RecordInvocationPorts) =>
  ({ caller, callerSecrets, payload, ...invocation }: ToolInvocation, heldBytes: number): string => {
    const invocationId = clock.newId();
    invocations.add((isWhole) => {
      const rules = forCaller(redaction(), callerSecrets);
      const { server, tool, errorCode } = invocation;
      return {
        ...invocation,
        requestId: withoutSecrets(invocation.requestId, rules.secrets),
        server: cleanName(server, rules),
        tool: cleanName(tool, rules),
        errorCode: cleaned(errorCode, rules),
        invocationId,
        apiKeyId: caller?.apiKeyId,
        owner: caller === undefined ? undefined : ownerOf(caller),
        payload: redactedInvocation(isWhole ? payload : nothing, rules),
      };
    }, heldBytes);
    return invocationId;
  };

/** What is left of arguments and result where there is no room for them. */
const nothing: InvocationPayload = { arguments: undefined, result: undefined };

/** What others call their servers and tools is bounded where it is stored: no half of a secret is to be left there. */
const cleanName = ({ id, displayName }: McpName, rules: RedactionRules): McpName => ({
  id: withoutSecrets(id, rules.secrets),
  displayName: cleaned(displayName, rules),
});

const cleaned = (text: string | undefined, { secrets }: RedactionRules): string | undefined =>
  text === undefined ? undefined : withoutSecrets(text, secrets);
