import { type ChatEvent, chatStream } from '../../../domain/chat/chat-stream.ts';
import { andThen, type Ending, seal } from '../../../domain/shared/stream-machine.ts';
import { sseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { outputsOf } from '../../support/machine-laws.ts';

export const sanitise = (message: string): string => message.replaceAll('hunter2', '[REDACTED]');
export const chatMachine = seal(chatStream({ namespace: 'compat', sanitise }));
export const machine = andThen(sseFrames, chatMachine);

export const failure = (message: string, status = 502): ChatEvent & { kind: 'failed' } => ({
  kind: 'failed',
  error: { code: 'upstream_error', message, upstream: { status } },
});

/** The chat events parsed from a stream with one frame per text. */
export const eventsOf = (data: readonly string[], ending?: Ending): readonly ChatEvent[] =>
  outputsOf(machine, [Buffer.from(data.map((each) => `data: ${each}\n\n`).join(''))], ending);

export const text = '{"id":"c1","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}';
export const usage =
  '{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}';
