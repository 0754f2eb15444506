import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect } from '@jest/globals';
import {
  type SeenRequest,
  type SimulatedUpstream,
  startSimulatedUpstream,
} from '../../tools/simulated-upstream/server.ts';

type Json = Record<string, unknown>;

/** What was received on the socket; `ended` is how the body ended. */
export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as received, one element per HTTP chunk or packet. */
  readonly pieces: readonly Buffer[];
  readonly text: string;
  readonly ended: 'clean' | 'broken' | 'no head';
}

interface Chunk {
  readonly id?: string;
  readonly choices: readonly {
    readonly delta: {
      readonly role?: string;
      readonly content?: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly ToolPart[];
    };
    readonly finish_reason: string | null;
    readonly usage?: Json;
  }[];
  readonly usage?: Json | null;
  readonly error?: Json;
}

export interface ToolPart {
  readonly index: number;
  readonly id?: string;
  readonly function: { readonly name?: string; readonly arguments: string };
}

export const hello = [{ role: 'user', content: 'Hello out there, how are you today?' }];

export const dataOf = (text: string): readonly string[] =>
  text.split('\n\n').flatMap((event) => (event.startsWith('data: ') ? [event.slice(6)] : []));
export const chunksOf = (text: string): readonly Chunk[] =>
  dataOf(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as Chunk);
export const contentOf = (text: string): readonly string[] =>
  chunksOf(text).flatMap((chunk) =>
    chunk.choices.flatMap(({ delta }) => (delta.content ? [delta.content] : [])),
  );
export const isDone = (text: string): boolean => dataOf(text).at(-1) === '[DONE]';

interface Completion extends Json {
  readonly id: string;
  readonly usage?: Json;
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly function: { name: string; arguments: string };
      }[];
    };
    readonly finish_reason: string | null;
    readonly usage?: Json;
  }[];
}
export const completionOf = ({ text }: Received): Completion => JSON.parse(text) as Completion;
export const errorOf = ({ text }: Received): Json => (JSON.parse(text) as { error: Json }).error;

export const eventually = async (holds: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 2000 && !holds(); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(holds()).toBe(true);
};

/** A simulated upstream for the suite, called for chat completions over sockets. */
export function simulatedChatScene() {
  let server: SimulatedUpstream;
  let lastSeen: SeenRequest | undefined;
  beforeAll(async () => {
    server = await startSimulatedUpstream({
      port: 0,
      onRequest: (request) => {
        lastSeen = request;
      },
    });
  });
  afterAll(() => server.close());

  function send(body: Json | string, headers: Record<string, string> = {}, base = server): Promise<Received> {
    return new Promise((resolve) => {
      const pieces: Buffer[] = [];
      const asked = httpRequest(`${base.url}/chat/completions`, { method: 'POST', headers, agent: false });
      asked.on('response', (response) => {
        const finish = (ended: Received['ended']) => () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            pieces,
            text: Buffer.concat(pieces).toString(),
            ended,
          });
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', finish('clean'));
        response.on('error', finish('broken'));
      });
      asked.on('error', () => resolve({ status: 0, headers: {}, pieces, text: '', ended: 'no head' }));
      asked.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  const whole = (query = '', more: Json = {}): Promise<Received> =>
    send({ model: `simulated?${query}`, messages: hello, ...more });
  const streamed = (query = '', more: Json = {}): Promise<Received> =>
    send({ model: `simulated?${query}`, messages: hello, stream: true, ...more });

  /** Sends a request, and disconnects when `until` returns true (called for each piece of the body). */
  function leave(query: string, until: (bytes: number) => boolean, base = server): Promise<number> {
    return new Promise((resolve) => {
      let bytes = 0;
      const body = JSON.stringify({ model: `simulated?${query}`, messages: hello, stream: true });
      const socket = connect(Number(new URL(base.url).port), '127.0.0.1', () => {
        socket.write(
          `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
      });
      socket.on('data', (piece) => {
        bytes += piece.length;
        if (until(bytes)) socket.destroy();
      });
      socket.on('close', () => resolve(bytes));
    });
  }

  return {
    send,
    whole,
    streamed,
    leave,
    upstream: () => server,
    /** The last request that the upstream received. */
    seen: () => lastSeen,
  };
}
