import type { McpId } from '../../domain/mcp/message-id.ts';
import type { McpMessage } from '../../domain/mcp/message.ts';
import { fewSecrets, type Secrets } from '../../domain/payload/secrets.ts';
import type { McpServer } from '../ports/mcp-upstreams.ts';
import { CallLife } from './call-life.ts';
import type { McpRequest } from './mcp-request.ts';

/** One request of a caller at any stage of its pipeline: what is known of it so far. */
export interface McpCall {
  readonly request: McpRequest;
  readonly life: CallLife;
  /** The caller's key, as secrets to search texts for. */
  readonly callerSecrets: Secrets;
  /** `undefined` if there is none of this name, and at `/mcp` until it is known for which one the message is. */
  readonly server: McpServer | undefined;
  /** `undefined` until it is read; `GET` and `DELETE` have none. */
  readonly message: McpMessage | undefined;
  /** The memory that the message takes, as text and parsed. */
  readonly messageBytes: number;
  /** Whether it went beyond the checks of the gateway. */
  readonly isSent: boolean;
}

/** Its message was read. */
export interface ReadMcpCall extends McpCall {
  readonly message: McpMessage;
  /** The message as the caller wrote it. */
  readonly text: string;
}

/** Its caller may use the server. */
export interface AdmittedMcpCall extends McpCall {
  readonly server: McpServer;
  /** The server's own session. */
  readonly session: string | undefined;
}

/** It goes to a server, or the gateway answers it. */
export interface SentMcpCall extends McpCall {
  readonly isSent: true;
}

/** The server's answer to it may be passed on. */
export type RelayedMcpCall = AdmittedMcpCall & SentMcpCall;

export const arrived = (request: McpRequest, server: McpServer | undefined): McpCall => ({
  request,
  life: new CallLife(request.link),
  callerSecrets: fewSecrets(request.callerSecrets),
  server,
  message: undefined,
  messageBytes: 0,
  isSent: false,
});

export function sent<C extends McpCall>(call: C): C & SentMcpCall {
  call.request.telemetry.sent();
  return { ...call, isSent: true };
}

/** The id of the answer that the caller waits for; `undefined` if it waits for none. */
export const awaitedId = ({ message }: McpCall): McpId | undefined =>
  message?.kind === 'request' ? message.id : undefined;
