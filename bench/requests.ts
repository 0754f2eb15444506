// The requests of the load of `npm run bench`.
import { agentBody } from './agent-body.ts';

/** Content frames of a paced stream. */
export const pacedFrames = 50;

/** The models as callers of the gateway name them, and at the simulated upstream. */
export const upstreamModels = {
  fast: 'simulated-fast',
  streamed: 'simulated-fast?chunks=20',
  paced: `simulated-fast?chunks=${pacedFrames}&chunk-delay-ms=20`,
} as const;

export type Model = keyof typeof upstreamModels;
export type Family = 'chat' | 'messages';

export const familyPaths: Readonly<Record<Family, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
};

interface Asked {
  readonly model: Model;
  /** Bytes of messages of a coding agent. */
  readonly agentBytes?: number;
  /** Turns of a conversation, 2 KB each. */
  readonly turns?: number;
}

const requests = {
  small: { model: 'fast' },
  '100 KB': { model: 'fast', agentBytes: 100_000 },
  '1 MB': { model: 'fast', agentBytes: 1_000_000 },
  '100 KB of prose': { model: 'fast', turns: 50 },
  streamed: { model: 'streamed' },
  paced: { model: 'paced' },
} as const satisfies Record<string, Asked>;

export type RequestName = keyof typeof requests;

const conversation = (turns: number): readonly object[] =>
  Array.from({ length: turns }, (_, turn) => ({
    // The last turn is the user's.
    role: (turns - turn) % 2 === 1 ? 'user' : 'assistant',
    content: `${turn} ${'lorem ipsum "dolor" sit amet\n'.repeat(70)}`,
  }));

const contentOf = ({ agentBytes, turns }: Asked): object =>
  agentBytes === undefined
    ? { messages: turns === undefined ? [{ role: 'user', content: 'Hello there' }] : conversation(turns) }
    : agentBody(agentBytes);

/** The body of a request in the format of a family. `nameOf` gives the name of a model at the server. */
export function bodyOf(name: RequestName, family: Family, nameOf: (model: Model) => string): Buffer {
  const asked: Asked = requests[name];
  const { model } = asked;
  const body = {
    model: nameOf(model),
    ...contentOf(asked),
    ...(model === 'fast' ? {} : { stream: true }),
    ...(model !== 'fast' && family === 'chat' ? { stream_options: { include_usage: true } } : {}),
    ...(family === 'messages' ? { max_tokens: 100 } : {}),
  };
  return Buffer.from(JSON.stringify(body));
}
