import type { ChatEvent } from '../../domain/chat/chat-stream.ts';
import { isArray, isObject, type Json, type JsonObject } from '../../domain/shared/json.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import { chatFromMessages } from '../../infrastructure/providers/messages-body/stream.ts';
import { sseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { outputsOf } from '../support/machine-laws.ts';

const about = { id: 'chatcmpl-1', model: 'fast', createdSecs: 1700 };
export const namespace = 'cloud_a_platform';
export const sanitise = (message: string): string => message.replaceAll('hunter2', '[REDACTED]');
export const messagesMachine = seal(chatFromMessages({ about, namespace, sanitise }));
export const machine = andThen(sseFrames, messagesMachine);

export const failure = (message: string, status = 502) => ({
  kind: 'failed',
  error: { code: 'upstream_error', message, upstream: { status } },
});

export type Payload = { readonly type: string; readonly [key: string]: unknown };
export const event = (payload: Payload): string =>
  `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`;
export const start = event({
  type: 'message_start',
  message: { usage: { input_tokens: 5, output_tokens: 1 } },
});
export const open = (index: number, content_block: object): string =>
  event({ type: 'content_block_start', index, content_block });
export const delta = (index: number, more: object): string =>
  event({ type: 'content_block_delta', index, delta: more });
export const close = (index: number): string => event({ type: 'content_block_stop', index });
export const stopped = (
  stop_reason: string | null,
  usage: object | undefined = { output_tokens: 7 },
): string => event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage });
/** Each with the finish reason of a chat answer, without and with calls. */
export const stopReasons: readonly (readonly [reason: string, finish: string, withCalls: string])[] = [
  ['end_turn', 'stop', 'tool_calls'],
  ['stop_sequence', 'stop', 'tool_calls'],
  ['pause_turn', 'stop', 'tool_calls'],
  ['max_tokens', 'length', 'length'],
  ['model_context_window_exceeded', 'length', 'length'],
  ['tool_use', 'stop', 'tool_calls'],
  ['refusal', 'content_filter', 'content_filter'],
  ['a_new_one', 'stop', 'tool_calls'],
];
export const stop = event({ type: 'message_stop' });
export const hello =
  open(0, { type: 'text', text: '' }) + delta(0, { type: 'text_delta', text: 'Hello' }) + close(0);

export const eventsOf = (text: string, ending?: Ending): readonly ChatEvent[] =>
  outputsOf(machine, [Buffer.from(text)], ending);

export const chunksOf = (events: readonly ChatEvent[]): readonly JsonObject[] =>
  events.flatMap((each) => (each.kind === 'chunk' ? [each.chunk] : []));

/** The deltas of the only choice. */
export const deltasOf = (events: readonly ChatEvent[]): readonly JsonObject[] =>
  chunksOf(events).flatMap(({ choices }) =>
    (isArray(choices) ? choices : []).flatMap((choice) =>
      isObject(choice) && isObject(choice['delta']) ? [choice['delta']] : [],
    ),
  );

export const finishesOf = (events: readonly ChatEvent[]): readonly Json[] =>
  chunksOf(events).flatMap(({ choices }) =>
    (choices as readonly JsonObject[]).flatMap(({ finish_reason: finish }) => finish ?? []),
  );

export const nativeOf = (events: readonly ChatEvent[]): readonly Record<string, readonly JsonObject[]>[] =>
  deltasOf(events).flatMap(({ provider_metadata: metadata }) =>
    isObject(metadata) ? [metadata[namespace] as unknown as Record<string, readonly JsonObject[]>] : [],
  );

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
