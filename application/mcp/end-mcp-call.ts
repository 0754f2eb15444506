import { type McpError, mcpErrorMessage, mcpErrors, mcpErrorStatus } from '../../domain/mcp/mcp-error.ts';
import { calledTool, isToolCall } from '../../domain/mcp/message.ts';
import { policyResultOf } from '../../domain/mcp/server-policy.ts';
import { isFailedResult } from '../../domain/mcp/server-message.ts';
import type { InvocationPayload } from '../../domain/payload/invocation-payload.ts';
import { joinedSecrets, type Secrets, withoutSecrets } from '../../domain/payload/secrets.ts';
import { elapsedMs } from '../../domain/shared/elapsed.ts';
import type { Clock } from '../ports/clock.ts';
import { awaitedId, type McpCall, type SentMcpCall } from './mcp-call.ts';
import type { McpAnswer } from './mcp-request.ts';
import type { ToolInvocation } from './record-invocation.ts';
import type { ToolTitles } from './tool-titles.ts';

export interface McpCallPorts {
  readonly clock: Pick<Clock, 'now'>;
  readonly record: (invocation: ToolInvocation, heldBytes: number) => void;
  /** The titles that servers give their tools. */
  readonly titles: ToolTitles;
  /** The credentials of the configuration, which must not be shown or logged. */
  readonly secrets: () => Secrets;
}

/** What a server answered, and the memory that it takes. */
interface ServerAnswer extends Omit<InvocationPayload, 'arguments'> {
  readonly bytes: number;
}

/** Ends the call with an error answer, and aborts what is under way, because nobody waits for it any more. */
export function failed(ports: McpCallPorts, call: McpCall, error: McpError): McpAnswer {
  const reported = call.life.lost ?? error;
  call.life.abort();
  end(ports, call, reported, noAnswer);
  const id = awaitedId(call);
  const text = JSON.stringify(mcpErrorMessage(reported, id));
  return { kind: 'whole', status: mcpErrorStatus(reported, id), text, error: reported.code };
}

/** Ends the call with a server's answer; a tool that reports its own failure has answered, too. */
export function answered(ports: McpCallPorts, call: SentMcpCall, answer: ServerAnswer): void {
  const isFailure = answer.error !== undefined || isFailedResult(answer.result);
  end(ports, call, isFailure ? saidByServer : undefined, answer);
}

/** Ends the call well, without a server's answer to record. */
export const succeeded = (ports: McpCallPorts, call: SentMcpCall): void =>
  end(ports, call, undefined, noAnswer);

const noAnswer: ServerAnswer = { result: undefined, bytes: 0 };

/** The failure is the server's own answer, which is passed on and recorded as a failed call. */
const saidByServer: McpError = { code: 'upstream_failed', message: 'The server says that the call failed.' };

/** How a call ended, for its log line as well as for its record. */
type Ended = Pick<
  ToolInvocation,
  'requestId' | 'status' | 'errorCode' | 'latencyMs' | 'caller' | 'policyResult'
>;

/** A call ends only once, with whatever comes first. */
function end(ports: McpCallPorts, call: McpCall, error: McpError | undefined, answer: ServerAnswer): void {
  if (!call.life.end()) return;
  const { requestId, receivedAt, caller } = call.request;
  const ended: Ended = {
    requestId,
    status: error === undefined ? 'success' : mcpErrors[error.code].recorded,
    errorCode: error?.code,
    latencyMs: elapsedMs(receivedAt, ports.clock.now()),
    caller,
    policyResult: policyResultOf(caller, call.server?.policy, toolOf(call)),
  };
  report(ports, call, ended);
  if (isRecorded(call, error)) record(ports, call, ended, answer);
}

/** Its log line, spans and metrics. */
function report(ports: McpCallPorts, call: McpCall, { policyResult, ...ended }: Ended): void {
  const { telemetry, headers } = call.request;
  const secrets = joinedSecrets(ports.secrets(), call.callerSecrets);
  const clean = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : withoutSecrets(text, secrets);
  telemetry.ended({
    ...ended,
    requestId: withoutSecrets(ended.requestId, secrets),
    method: clean(methodOf(call)),
    serverId: call.server?.id,
    tool: policyResult === 'allowed' ? clean(toolOf(call)) : undefined,
    protocolVersion: clean(headers.protocolVersion),
  });
}

function record(ports: McpCallPorts, call: McpCall, ended: Ended, { bytes, ...answer }: ServerAnswer): void {
  const { request, message } = call;
  const { id, displayName } = call.server ?? { id: request.serverId, displayName: undefined };
  const tool = toolOf(call) ?? `(${methodOf(call) ?? 'unread'})`;
  const args = message?.kind === 'request' ? message.params['arguments'] : undefined;
  ports.record(
    {
      ...ended,
      requestLogId: undefined,
      callerSecrets: request.callerSecrets,
      server: { id, displayName },
      tool: { id: `${id}/${tool}`, displayName: ports.titles.of(id, tool) },
      payload: { arguments: args, ...answer },
    },
    bytes + (args === undefined ? 0 : call.messageBytes),
  );
}

/**
 * Records tool calls, and everything that was refused before it was sent to a server. The probes with which clients
 * start are not recorded: they only learn that there is no stream, or no revision without sessions.
 */
function isRecorded(call: McpCall, error: McpError | undefined): boolean {
  if (error?.code === 'no_stream') return false;
  if (error?.code === 'unsupported_revision' && methodOf(call) === discovery) return false;
  return !call.isSent || (call.message !== undefined && isToolCall(call.message));
}

/** How clients of the revision without sessions start. */
const discovery = 'server/discover';

const methodOf = ({ message }: McpCall): string | undefined =>
  message === undefined || message.kind === 'response' ? undefined : message.method;

const toolOf = ({ message }: McpCall): string | undefined =>
  message !== undefined && isToolCall(message) ? calledTool(message) : undefined;
