import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  type McpError,
  mcpErrorMessage,
  mcpErrors,
  mcpErrorStatus,
  noRoom,
} from '../../domain/mcp/mcp-error.ts';
import type { McpId } from '../../domain/mcp/message-id.ts';
import { calledTool, type McpMessage, readMcpMessage } from '../../domain/mcp/message.ts';
import { policyResultOf } from '../../domain/mcp/server-policy.ts';
import { isFailedResult } from '../../domain/mcp/server-message.ts';
import type { InvocationPayload } from '../../domain/payload/invocation-payload.ts';
import { fewSecrets, joinedSecrets, type Secrets, withoutSecrets } from '../../domain/payload/secrets.ts';
import { elapsedMs } from '../../domain/shared/elapsed.ts';
import type { Json } from '../../domain/shared/json.ts';
import { bytesOfValue } from '../../domain/shared/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { McpServer } from '../ports/mcp-upstreams.ts';
import type { McpAnswer, McpRequest } from './mcp-request.ts';
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

/** The outcome of a caller's message. */
interface Ended {
  readonly error: McpError | undefined;
  /** What a server answered. */
  readonly answer: Omit<InvocationPayload, 'arguments'>;
  readonly bytes: number;
}

/**
 * One message of a caller, from its arrival until its record is written. It ends only once, with whatever comes first.
 */
export class McpCall {
  readonly request: McpRequest;
  server: McpServer | undefined;
  /** Aborts whatever is under way upstream. */
  readonly abort = new AbortController();
  message: McpMessage | undefined;
  /** The caller's key, as secrets to search texts for. */
  readonly callerSecrets: Secrets;
  /** Why nobody waits for the answer any more. */
  lost: McpError | undefined;
  private readonly ports: McpCallPorts;
  /** The memory that the caller's message takes, as text and parsed. */
  private receivedBytes = 0;
  private isSent = false;
  private isOver = false;

  constructor(ports: McpCallPorts, request: McpRequest, server: McpServer | undefined) {
    this.ports = ports;
    this.request = request;
    this.server = server;
    this.callerSecrets = fewSecrets(request.callerSecrets);
    request.link.whenLost((why) => this.lose(why === 'client_closed' ? left : cutOff));
  }

  get id(): McpId | undefined {
    return this.message?.kind === 'request' ? this.message.id : undefined;
  }

  /** Whether it has its answer, or will get none. */
  get hasEnded(): boolean {
    return this.isOver;
  }

  get tool(): string | undefined {
    return this.message !== undefined && isToolCall(this.message) ? calledTool(this.message) : undefined;
  }

  /** Reads the caller's message, if there is memory for it. */
  read(text: string): Either<McpError, McpMessage> {
    const read = readMcpMessage(text);
    if (E.isLeft(read)) return read;
    const { message, valueCount } = read.right;
    const parsedBytes = valueCount * bytesOfValue;
    this.message = message;
    this.receivedBytes = text.length + parsedBytes;
    return this.request.memory.hold(parsedBytes) ? E.right(message) : E.left(noRoom);
  }

  lose(why: McpError): void {
    if (this.lost !== undefined) return;
    this.lost = why;
    this.abort.abort();
  }

  sent(): void {
    this.isSent = true;
    this.request.telemetry.sent();
  }

  /** Ends the call with an error answer, and aborts what is under way, because nobody waits for it any more. */
  failed(error: McpError): McpAnswer {
    const reported = this.lost ?? error;
    this.abort.abort();
    this.over({ error: reported, answer: { result: undefined }, bytes: 0 });
    const text = JSON.stringify(mcpErrorMessage(reported, this.id));
    return { kind: 'whole', status: mcpErrorStatus(reported, this.id), text, error: reported.code };
  }

  /** The server answered; a tool that reports its own failure has answered, too. */
  answered(result: Json | undefined, error: Json | undefined, bytes: number): void {
    const failed = error !== undefined || isFailedResult(result);
    this.over({ error: failed ? saidByServer : undefined, answer: { result, error }, bytes });
  }

  private over(how: Ended): void {
    if (this.isOver) return;
    this.isOver = true;
    const { request, server, message, tool } = this;
    const { error } = how;
    const ended = {
      requestId: request.requestId,
      status: error === undefined ? ('success' as const) : mcpErrors[error.code].recorded,
      errorCode: error?.code,
      latencyMs: elapsedMs(request.receivedAt, this.ports.clock.now()),
      caller: request.caller,
    };
    const policyResult = policyResultOf(request.caller, server?.policy, tool);
    const secrets = joinedSecrets(this.ports.secrets(), this.callerSecrets);
    const clean = (text: string | undefined): string | undefined =>
      text === undefined ? undefined : withoutSecrets(text, secrets);
    request.telemetry.ended({
      ...ended,
      requestId: withoutSecrets(ended.requestId, secrets),
      method: clean(methodOf(message)),
      serverId: server?.id,
      tool: policyResult === 'allowed' ? clean(tool) : undefined,
      protocolVersion: clean(request.headers.protocolVersion),
    });
    if (this.isRecorded(error)) this.record({ ...ended, policyResult }, how);
  }

  private record(
    ended: Pick<
      ToolInvocation,
      'requestId' | 'status' | 'errorCode' | 'latencyMs' | 'caller' | 'policyResult'
    >,
    { answer, bytes }: Ended,
  ): void {
    const { request, message } = this;
    const server = this.server ?? { id: request.serverId, displayName: undefined };
    const tool = this.tool ?? `(${methodOf(message) ?? 'unread'})`;
    const args = message?.kind === 'request' ? message.params['arguments'] : undefined;
    this.ports.record(
      {
        ...ended,
        requestLogId: undefined,
        callerSecrets: request.callerSecrets,
        server: { id: server.id, displayName: server.displayName },
        tool: { id: `${server.id}/${tool}`, displayName: this.ports.titles.of(server.id, tool) },
        payload: { arguments: args, ...answer },
      },
      bytes + (args === undefined ? 0 : this.receivedBytes),
    );
  }

  /**
   * Records tool calls, and everything that was refused before it was sent to a server. The probes with which clients
   * start are not recorded: they only learn that there is no stream, or no revision without sessions.
   */
  private isRecorded(error: McpError | undefined): boolean {
    if (error?.code === 'no_stream') return false;
    if (error?.code === 'unsupported_revision' && methodOf(this.message) === discovery) return false;
    return !this.isSent || (this.message !== undefined && isToolCall(this.message));
  }
}

const methodOf = (message: McpMessage | undefined): string | undefined =>
  message === undefined || message.kind === 'response' ? undefined : message.method;

export const isToolCall = (
  message: McpMessage,
): message is Extract<McpMessage, { readonly kind: 'request' }> =>
  message.kind === 'request' && message.method === 'tools/call';

/** How clients of the revision without sessions start. */
const discovery = 'server/discover';

const left: McpError = { code: 'client_closed', message: 'The caller has left.' };
const cutOff: McpError = {
  code: 'shutting_down',
  message: 'The gateway is shutting down and has cut this call off; try again.',
};
/** The failure is the server's own answer, which is passed on and recorded as a failed call. */
const saidByServer: McpError = { code: 'upstream_failed', message: 'The server says that the call failed.' };
