import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll } from '@jest/globals';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';

export type Json = Record<string, unknown>;

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  readonly ended: 'clean' | 'broken' | 'no head';
}

/** One server-sent event; `lines` are its lines as received. */
interface Event {
  readonly name: string | undefined;
  readonly data: string;
  readonly lines: readonly string[];
}

export const hello = 'Hello out there, how are you today?';
export const echoed = `This is a simulated answer; no model was asked. You said: "${hello}".`;

/** An ordinary request of each family; `said` is the text of the caller. */
export const bodies = {
  responses: (said: string): Json => ({ input: said }),
  messages: (said: string): Json => ({ max_tokens: 100, messages: [{ role: 'user', content: said }] }),
  embeddings: (said: string): Json => ({ input: said }),
  'chat/completions': (said: string): Json => ({ messages: [{ role: 'user', content: said }] }),
};
type Name = keyof typeof bodies;
export const streaming = ['responses', 'messages'] as const;

export const eventsOf = (text: string): readonly Event[] =>
  text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const lines = block.split('\n');
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `));
      return { name: field('event')?.slice(7), data: field('data')?.slice(6) ?? '', lines };
    });
export const jsonOf = ({ text }: Received): Json => JSON.parse(text) as Json;
export const errorOf = (received: Received): Json => jsonOf(received)['error'] as Json;
export const typesOf = (text: string): readonly unknown[] =>
  eventsOf(text).map(({ data }) => (data === '[DONE]' ? data : (JSON.parse(data) as Json)['type']));
export const dataOf = (text: string, type: string): readonly Json[] =>
  eventsOf(text)
    .filter(({ data }) => data.startsWith(`{"type":"${type}"`))
    .map(({ data }) => JSON.parse(data) as Json);
/** The event types without repetitions: `a, b, b, c` becomes `a, b, c`. */
export const shapeOf = (text: string): readonly unknown[] =>
  typesOf(text).filter((type, index, all) => type !== all[index - 1]);

interface ResponseObject extends Json {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Json[];
  readonly usage: Json | null;
}
export const responseOf = (received: Received): ResponseObject => jsonOf(received) as ResponseObject;
export const endOf = (text: string): ResponseObject =>
  (JSON.parse(eventsOf(text).findLast(({ data }) => data.includes('"response":'))?.data ?? '') as Json)[
    'response'
  ] as ResponseObject;
export const partsOf = (item: Json | undefined): readonly Json[] =>
  (item?.['content'] ?? []) as readonly Json[];
export const outputText = ({ output }: ResponseObject): unknown =>
  partsOf(output.find(({ type }) => type === 'message'))[0]?.['text'];
export const deltasOf = (text: string): string =>
  dataOf(text, 'response.output_text.delta')
    .map(({ delta }) => delta)
    .join('');

interface Message extends Json {
  readonly content: readonly Json[];
  readonly stop_reason: string | null;
}
export const messageOf = (received: Received): Message => jsonOf(received) as Message;
export const blockDeltas = (text: string): readonly Json[] =>
  dataOf(text, 'content_block_delta').map(({ delta }) => delta as Json);
/** One member of all deltas, joined: text, thinking or arguments. */
export const joinedDeltas = (text: string, member: string): string =>
  blockDeltas(text)
    .map((delta) => (delta[member] ?? '') as string)
    .join('');

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' }, note: { type: 'string' } },
  required: ['city'],
};
export const filled = { city: 'simulated city' };
export const toolsFor = {
  responses: [
    { type: 'web_search' },
    { type: 'namespace', name: 'others', tools: [] },
    { type: 'custom', name: 'patch' },
    { type: 'function', name: 'weather', parameters },
    { type: 'function', name: 'time' },
  ],
  messages: [
    { type: 'web_search_20250305', name: 'web_search' },
    { name: 'weather', input_schema: parameters },
    { type: 'custom', name: 'time', input_schema: { type: 'object' } },
  ],
  'chat/completions': [
    { type: 'function', function: { name: 'weather', parameters } },
    { type: 'function', function: { name: 'time' } },
  ],
};

/** A simulated upstream for the suite, called over sockets. */
export function simulatedFamiliesScene() {
  let server: SimulatedUpstream;
  beforeAll(async () => {
    server = await startSimulatedUpstream({ port: 0 });
  });
  afterAll(() => server.close());

  function send(family: Name, body: Json | string, headers: Record<string, string> = {}): Promise<Received> {
    return new Promise((resolve) => {
      const pieces: Buffer[] = [];
      const asked = httpRequest(`${server.url}/${family}`, { method: 'POST', headers, agent: false });
      asked.on('response', (response) => {
        const finish = (ended: Received['ended']) => () => {
          const bytes = Buffer.concat(pieces);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes,
            text: bytes.toString(),
            ended,
          });
        };
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', finish('clean'));
        response.on('error', finish('broken'));
      });
      asked.on('error', () =>
        resolve({ status: 0, headers: {}, bytes: Buffer.alloc(0), text: '', ended: 'no head' }),
      );
      asked.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  const whole = (family: Name, query = '', more: Json = {}): Promise<Received> =>
    send(family, { model: `simulated?${query}`, ...bodies[family](hello), ...more });
  const streamed = (family: Name, query = '', more: Json = {}): Promise<Received> =>
    whole(family, query, { stream: true, ...more });

  return { send, whole, streamed, upstream: () => server };
}
