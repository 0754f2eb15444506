import { expect } from '@jest/globals';
import type { ChatEvent } from '../../../domain/chat/chat-stream.ts';
import { messagesStream } from '../../../domain/messages/messages-stream.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import { seal } from '../../../domain/shared/stream-machine.ts';
import { outputsOf } from '../../support/machine-laws.ts';
import { grammarFault } from '../../support/messages-grammar.ts';

export type MessagesEvent = StreamEvent<JsonObject>;

export const about = { id: 'msg_1', model: 'fast' };
export const machine = seal(messagesStream(about));
export const done: ChatEvent = { kind: 'done' };
export const failure = (message: string, status = 502): ChatEvent & { kind: 'failed' } => ({
  kind: 'failed',
  error: { code: 'upstream_error', message, upstream: { status } },
});

export const chunkEvent = (chunk: JsonObject): ChatEvent => ({
  kind: 'chunk',
  chunk,
  wire: Buffer.from('data: {}\n\n'),
  terminal: false,
});
const choiceChunk = (choice: JsonObject): ChatEvent =>
  chunkEvent({ id: 'c1', choices: [{ index: 0, ...choice }] });
export const says = (delta: JsonObject): ChatEvent => choiceChunk({ delta, finish_reason: null });
export const finishes = (finish_reason: string, delta: JsonObject = {}): ChatEvent =>
  choiceChunk({ delta, finish_reason });
export const called = (...calls: readonly JsonObject[]): ChatEvent => says({ tool_calls: calls });
/** A delta of the tool call at an index. */
export const piece = (index: number, args: string, more: JsonObject = {}, name?: string): JsonObject => ({
  index,
  ...more,
  function: { ...(name === undefined ? {} : { name }), arguments: args },
});

export const eventsOf = (inputs: readonly ChatEvent[]): readonly MessagesEvent[] =>
  outputsOf(machine, inputs);
/** The events that a caller receives: a failure is an error event of the messages API. */
export const toldOf = (events: readonly MessagesEvent[]): readonly JsonObject[] =>
  events.flatMap((event) => {
    if (event.kind === 'done') return [];
    return [
      event.kind === 'chunk'
        ? event.chunk
        : { type: 'error', error: { type: 'api_error', message: event.error.message } },
    ];
  });
export const told = (...inputs: readonly ChatEvent[]): readonly JsonObject[] => {
  const events = toldOf(eventsOf(inputs));
  expect(grammarFault(events)).toBeUndefined();
  return events;
};

export interface BlockEvent {
  readonly type: string;
  readonly content_block: { readonly type: string; readonly id: string; readonly name?: string };
  readonly delta: { readonly text?: string; readonly thinking?: string; readonly partial_json?: string };
}

interface Said {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string | undefined;
    readonly args: string;
  }[];
  readonly stop: Json | undefined;
  readonly usage: Json | undefined;
}

/** The answer that a caller assembles from the events. */
export function saidIn(events: readonly JsonObject[]): Said {
  const blocks: { readonly start: BlockEvent['content_block']; words: string }[] = [];
  for (const { type, content_block, delta } of events as unknown as readonly BlockEvent[]) {
    if (type === 'content_block_start') blocks.push({ start: content_block, words: '' });
    if (type === 'content_block_delta')
      blocks.at(-1)!.words += delta.text ?? delta.thinking ?? delta.partial_json ?? '';
  }
  const ofType = (type: string) => blocks.filter(({ start }) => start.type === type);
  const wordsOf = (type: string) =>
    ofType(type)
      .map(({ words }) => words)
      .join('');
  const last = events.find(({ type }) => type === 'message_delta');
  return {
    text: wordsOf('text'),
    thinking: wordsOf('thinking'),
    calls: ofType('tool_use').map(({ start: { id, name }, words }) => ({ id, name, args: words })),
    stop: (last?.['delta'] as JsonObject | undefined)?.['stop_reason'],
    usage: last?.['usage'],
  };
}
export const said = (...inputs: readonly ChatEvent[]): Said => saidIn(told(...inputs, done));

export const zero = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
};
export const start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'fast',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...zero, cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 } },
  },
};
