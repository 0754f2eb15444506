import type { JsonObject } from '../../../domain/shared/json.ts';
import { streamFailure } from '../../../domain/upstream/upstream-fault.ts';
import type { Chunk, End } from './scripted-upstream.ts';

const asCame = (chunk: JsonObject, over: Partial<Chunk> = {}): Chunk => {
  const text = JSON.stringify(chunk);
  return { kind: 'chunk', chunk, wire: Buffer.from(`data: ${text}\n\n`), text, terminal: false, ...over };
};

export const done: End = { kind: 'done' };

export const failed = (message = 'The upstream broke off.'): End => ({
  kind: 'failed',
  error: streamFailure(message),
});

export const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };

const choice = (delta: JsonObject, finish_reason: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
});

/** Chunks of a chat stream, as a dialect's machine produces them. */
export const chatText = (content: string): Chunk => asCame(choice({ content }));
export const chatFinish: Chunk = asCame(choice({}, 'stop'), { terminal: true });
export const chatUsage: Chunk = asCame({ ...choice({}), choices: [], usage });

/** Events of a responses stream, of which the terminal one is held back. */
export const responsesText = (delta: string): Chunk => asCame({ type: 'response.output_text.delta', delta });
export const responsesCompleted: Chunk = asCame(
  { type: 'response.completed', response: { status: 'completed', usage } },
  { terminal: true, held: true },
);
export const responsesFailed = (message: string): Chunk =>
  asCame({ type: 'error', message, code: 'server_error' }, { failing: true });

/** The upstream's own error event is passed on to the caller. */
export const failedAsTold: End = {
  kind: 'failed',
  error: streamFailure('It is too hot.'),
  alreadyShown: true,
};

/** Events of a messages stream, from an upstream that uses the messages body. */
export const messageText = (text: string): Chunk =>
  asCame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
export const messageDelta: Chunk = asCame({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: { input_tokens: 10, output_tokens: 20 },
});
export const messageStop: Chunk = asCame({ type: 'message_stop' }, { terminal: true, held: true });
