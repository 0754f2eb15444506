import { type Caller, ownerOf } from '../../domain/identity/caller.ts';
import type { InvocationStatus, McpName, PolicyResult } from '../../domain/mcp/invocation.ts';
import { type InvocationPayload, redactedInvocation } from '../../domain/payload/invocation-payload.ts';
import { forCaller, type RedactionRules } from '../../domain/payload/redact.ts';
import { withoutSecrets } from '../../domain/payload/secrets.ts';
import type { Clock } from '../ports/clock.ts';
import type { McpRecords } from '../ports/mcp-invocations.ts';

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
  readonly records: McpRecords;
  readonly clock: Clock;
  /** The rules in force. */
  readonly redaction: () => RedactionRules;
}

/** Records an invocation with redacted, bounded arguments and result; gives back its id. */
export const recordInvocation =
  ({ records, clock, redaction }: RecordInvocationPorts) =>
  async ({ caller, callerSecrets, payload, ...invocation }: ToolInvocation): Promise<string> => {
    const invocationId = clock.newId();
    const rules = forCaller(redaction(), callerSecrets);
    const { server, tool, errorCode } = invocation;
    await records.addInvocation({
      ...invocation,
      server: cleanName(server, rules),
      tool: cleanName(tool, rules),
      errorCode: cleaned(errorCode, rules),
      invocationId,
      apiKeyId: caller?.apiKeyId,
      owner: caller === undefined ? undefined : ownerOf(caller),
      payload: redactedInvocation(payload, rules),
    });
    return invocationId;
  };

/** What others call their servers and tools is bounded where it is stored: no half of a secret is to be left there. */
const cleanName = ({ id, displayName }: McpName, rules: RedactionRules): McpName => ({
  id: withoutSecrets(id, rules.secrets),
  displayName: cleaned(displayName, rules),
});

const cleaned = (text: string | undefined, { secrets }: RedactionRules): string | undefined =>
  text === undefined ? undefined : withoutSecrets(text, secrets);
