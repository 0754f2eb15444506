import { type Caller, ownerOf } from '../../domain/identity/caller.ts';
import type { McpName } from '../../domain/mcp/invocation.ts';
import { type InvocationPayload, redactedInvocation } from '../../domain/payload/invocation-payload.ts';
import { forCaller, type RedactionRules } from '../../domain/payload/redact.ts';
import { withoutSecrets } from '../../domain/payload/secrets.ts';
import { type CaptureMode, isKept } from '../../domain/request-log/capture-policy.ts';
import type { Clock } from '../ports/clock.ts';
import type { InvocationQueue, InvocationRecord } from '../ports/mcp-invocations.ts';

/** One call of one tool of an MCP server, as seen by the code that made it. */
export interface ToolInvocation
  extends Omit<InvocationRecord, 'invocationId' | 'apiKeyId' | 'owner' | 'payload'> {
  /** `undefined` when nobody was authenticated. */
  readonly caller: Caller | undefined;
  /** The caller's key and its secret part, which are not stored. */
  readonly callerSecrets: readonly string[];
  readonly payload: InvocationPayload;
}

export interface RecordInvocationPorts {
  readonly invocations: InvocationQueue;
  readonly clock: Pick<Clock, 'newId'>;
  /** The rules in force. */
  readonly redaction: () => RedactionRules;
  readonly captureMode: () => CaptureMode;
}

/**
 * Records an invocation after the answer, with redacted, bounded arguments and result if bodies of the caller are kept.
 * Returns its id. `heldBytes` is the memory that arguments and result take until then.
 */
export const recordInvocation =
  ({ invocations, clock, redaction, captureMode }: RecordInvocationPorts) =>
  ({ caller, callerSecrets, payload, ...invocation }: ToolInvocation, heldBytes: number): string => {
    const invocationId = clock.newId();
    const kept = keepsPayload(captureMode(), caller) ? payload : nothing;
    invocations.add(
      (isWhole) => {
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
          payload: redactedInvocation(isWhole ? kept : nothing, rules),
        };
      },
      kept === nothing ? 0 : heldBytes,
    );
    return invocationId;
  };

/** Arguments and results are bodies, and are kept where those of the caller's requests are (rule 54.36). */
const keepsPayload = (mode: CaptureMode, caller: Caller | undefined): boolean =>
  caller === undefined ? mode === 'redacted_payloads' : isKept(mode, caller);

/** Replaces arguments and result that are not to be kept, or for which there is no room. */
const nothing: InvocationPayload = { arguments: undefined, result: undefined };

/** Names that others give their servers and tools are truncated when stored, which must leave no partial secret. */
const cleanName = ({ id, displayName }: McpName, rules: RedactionRules): McpName => ({
  id: withoutSecrets(id, rules.secrets),
  displayName: cleaned(displayName, rules),
});

const cleaned = (text: string | undefined, { secrets }: RedactionRules): string | undefined =>
  text === undefined ? undefined : withoutSecrets(text, secrets);
