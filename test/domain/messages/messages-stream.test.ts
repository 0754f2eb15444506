import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { type ChatEvent, chatStream } from '../../../domain/chat/chat-stream.ts';
import { fromChatCompletion } from '../../../domain/messages/from-chat.ts';
import { messagesStream } from '../../../domain/messages/messages-stream.ts';
import { type Json, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import {
  maxHeldBackChars,
  maxStreamEventBytes,
  maxTranslatedToolCalls,
} from '../../../domain/shared/limits.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import { andThen, seal } from '../../../domain/shared/stream-machine.ts';
import { sseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { aChatScript } from '../../support/arbitraries/chat-streams.ts';
import { aChunkSoup, aStreamedAnswer, type StreamedAnswer } from '../../support/arbitraries/messages.ts';
import { describeMachineLaws, outputsOf } from '../../support/machine-laws.ts';
import { emptyInChat, malformedInChat } from '../../support/malformed-pieces.ts';
import { grammarFault } from '../../support/messages-grammar.ts';

type MessagesEvent = StreamEvent<JsonObject>;

const about = { id: 'msg_1', model: 'fast' };
const machine = seal(messagesStream(about));
const done: ChatEvent = { kind: 'done' };
const failure = (message: string, status = 502): ChatEvent & { kind: 'failed' } => ({
  kind: 'failed',
  error: { code: 'upstream_error', message, upstream: { status } },
});

const chunkEvent = (chunk: JsonObject): ChatEvent => ({
  kind: 'chunk',
  chunk,
  wire: Buffer.from('data: {}\n\n'),
  terminal: false,
});
const choiceChunk = (choice: JsonObject): ChatEvent =>
  chunkEvent({ id: 'c1', choices: [{ index: 0, ...choice }] });
const says = (delta: JsonObject): ChatEvent => choiceChunk({ delta, finish_reason: null });
const finishes = (finish_reason: string, delta: JsonObject = {}): ChatEvent =>
  choiceChunk({ delta, finish_reason });
const called = (...calls: readonly JsonObject[]): ChatEvent => says({ tool_calls: calls });
/** A piece of the call at an index. */
const piece = (index: number, args: string, more: JsonObject = {}, name?: string): JsonObject => ({
  index,
  ...more,
  function: { ...(name === undefined ? {} : { name }), arguments: args },
});

const eventsOf = (inputs: readonly ChatEvent[]): readonly MessagesEvent[] => outputsOf(machine, inputs);
/** What a caller reads, an error in the words of the messages family. */
const toldOf = (events: readonly MessagesEvent[]): readonly JsonObject[] =>
  events.flatMap((event) => {
    if (event.kind === 'done') return [];
    return [
      event.kind === 'chunk'
        ? event.chunk
        : { type: 'error', error: { type: 'api_error', message: event.error.message } },
    ];
  });
const told = (...inputs: readonly ChatEvent[]): readonly JsonObject[] => {
  const events = toldOf(eventsOf(inputs));
  expect(grammarFault(events)).toBeUndefined();
  return events;
};

interface BlockEvent {
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

/** What a caller has in the end. */
function saidIn(events: readonly JsonObject[]): Said {
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
const said = (...inputs: readonly ChatEvent[]): Said => saidIn(told(...inputs, done));
/** The blocks of an answer, each as its type and what it says, with the pieces that it came in. */
const blocksOf = (...inputs: readonly ChatEvent[]): readonly string[] =>
  told(...inputs, done).flatMap((event) => {
    const { type, content_block: block, delta } = event as unknown as BlockEvent;
    if (type === 'content_block_start') return [[block.type, block.name ?? ''].join(' ').trim()];
    if (type === 'content_block_delta') return [delta.text ?? delta.thinking ?? delta.partial_json ?? ''];
    return type === 'content_block_stop' ? ['.'] : [];
  });

const zero = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
};
const start = {
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
const endsWith = (stop_reason: string, usage: object = zero) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
];

describe('an answer, event by event', () => {
  it('text', () => {
    expect(
      told(
        says({ role: 'assistant', content: '' }),
        says({ content: 'Hel' }),
        says({ content: 'lo' }),
        finishes('stop'),
        chunkEvent({
          choices: [],
          usage: { prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } },
        }),
        done,
      ),
    ).toEqual([
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      ...endsWith('end_turn', { ...zero, input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 2 }),
    ]);
  });

  it('thinking and a call', () => {
    expect(
      told(
        says({ reasoning: 'hm' }),
        called(piece(0, '', { id: 'call_1', type: 'function' }, 'f')),
        called(piece(0, '{"a":')),
        called(piece(0, '1}')),
        finishes('tool_calls'),
        done,
      ),
    ).toEqual([
      start,
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'call_1', name: 'f', input: {} },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '1}' } },
      { type: 'content_block_stop', index: 1 },
      ...endsWith('tool_use'),
    ]);
  });

  it('nothing but [DONE]', () => {
    expect(told(done)).toEqual([start, ...endsWith('end_turn')]);
  });

  it('message_start leaves with the first chunk, and a piece as soon as it came', () => {
    const run = machine.begin();
    const types = (event: ChatEvent) => toldOf(run.push(event)).map(({ type }) => type);
    expect(types(chunkEvent({ choices: [], id: '' }))).toEqual(['message_start']);
    expect(types(says({ content: '' }))).toEqual([]);
    expect(types(says({ content: 'a' }))).toEqual(['content_block_start', 'content_block_delta']);
    expect(types(says({ content: 'b' }))).toEqual(['content_block_delta']);
    expect(types(called(piece(0, '{', { id: 'a' }, 'f')))).toEqual([
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
    ]);
    expect(types(called(piece(0, '}')))).toEqual(['content_block_delta']);
    expect(types(called(piece(1, '', { id: 'b' }, 'g')))).toEqual([
      'content_block_stop',
      'content_block_start',
    ]);
    expect(types(finishes('tool_calls'))).toEqual([]);
    expect(types(done)).toEqual(['content_block_stop', 'message_delta', 'message_stop']);
  });

  it('message_stop alone is held back until the settlement is committed, and nothing is passed on as it came', () => {
    const events = eventsOf([says({ content: 'a' }), finishes('stop'), done]);
    expect(events.at(-1)).toEqual({ kind: 'done' });
    const chunks = events.flatMap((event) => (event.kind === 'chunk' ? [event] : []));
    expect(chunks.map(({ held, terminal }) => held === true && terminal)).toEqual(
      chunks.map(({ chunk }) => chunk['type'] === 'message_stop'),
    );
    expect(chunks.every(({ wire }) => wire === undefined)).toBe(true);
  });
});

describe('blocks come one after the other', () => {
  const f = { id: 'a' };
  const g = { id: 'b' };

  it.each<[string, readonly ChatEvent[], readonly string[]]>([
    [
      'empty deltas open nothing',
      [says({ content: '' }), says({ reasoning: '' }), says({}), says({ content: null })],
      [],
    ],
    ['`tool_calls: []` beside text is text', [says({ content: 'a', tool_calls: [] })], ['text', 'a', '.']],
    [
      'text after thinking',
      [says({ reasoning: 'r', content: 'a' })],
      ['thinking', 'r', '.', 'text', 'a', '.'],
    ],
    [
      'thinking after text',
      [says({ content: 'a' }), says({ reasoning: 'r' }), says({ content: 'b' })],
      ['text', 'a', '.', 'thinking', 'r', '.', 'text', 'b', '.'],
    ],
    [
      'text after a call',
      [called(piece(0, '{}', f, 'f')), says({ content: 'a' }), says({ content: 'b' })],
      ['tool_use f', '{}', '.', 'text', 'a', 'b', '.'],
    ],
    [
      'text amid a call waits for its end',
      [called(piece(0, '{', f, 'f')), says({ content: 'a' }), says({ content: 'b' }), called(piece(0, '}'))],
      ['tool_use f', '{', '}', '.', 'text', 'ab', '.'],
    ],
    [
      'calls one after the other',
      [
        called(piece(0, '{"a":', f, 'f')),
        called(piece(0, '1}')),
        called(piece(1, '{', g, 'g')),
        called(piece(1, '}')),
      ],
      ['tool_use f', '{"a":', '1}', '.', 'tool_use g', '{', '}', '.'],
    ],
    [
      'calls in one chunk',
      [called(piece(0, '{}', f, 'f'), piece(1, '{}', g, 'g'))],
      ['tool_use f', '{}', '.', 'tool_use g', '{}', '.'],
    ],
    [
      'interleaved calls',
      [
        called(piece(0, '', f, 'f'), piece(1, '', g, 'g')),
        called(piece(0, '{"a":')),
        called(piece(1, '{"b":')),
        called(piece(0, '"}"'), piece(1, '2')),
        called(piece(0, '}')),
        called(piece(1, '}')),
      ],
      ['tool_use f', '{"a":', '"}"', '}', '.', 'tool_use g', '{"b":2', '}', '.'],
    ],
    [
      'brackets inside of strings end no call',
      [called(piece(0, '{"a":"}\\"}', f, 'f')), called(piece(1, '{}', g, 'g')), called(piece(0, '"}'))],
      ['tool_use f', '{"a":"}\\"}', '"}', '.', 'tool_use g', '{}', '.'],
    ],
    [
      'a call that never gets whole ends with the answer',
      [called(piece(0, '{', f, 'f')), called(piece(1, '{}', g, 'g'))],
      ['tool_use f', '{', '.', 'tool_use g', '{}', '.'],
    ],
    ['a call without arguments', [called(piece(0, '', f, 'f'))], ['tool_use f', '.']],
    [
      'arguments of null',
      [
        called({ index: 0, id: 'a', function: { name: 'f', arguments: null } }),
        called(piece(0, '{}')),
        called(piece(0, '')),
      ],
      ['tool_use f', '{}', '.'],
    ],
    [
      'blanks after a call that is complete',
      [called(piece(0, '{}', f, 'f')), says({ content: 'a' }), called(piece(0, '\n'))],
      ['tool_use f', '{}', '.', 'text', 'a', '.'],
    ],
    [
      'calls without an index are whole',
      [
        called(
          { id: 'a', function: { name: 'f', arguments: '{}' } },
          { id: 'b', function: { name: 'g', arguments: '{}' } },
        ),
      ],
      ['tool_use f', '{}', '.', 'tool_use g', '{}', '.'],
    ],
    [
      'calls without an index that share their id',
      [
        called({ id: '0', function: { name: 'f', arguments: '{}' } }),
        called({ id: '0', function: { name: 'f', arguments: '{}' } }),
      ],
      ['tool_use f', '{}', '.', 'tool_use f', '{}', '.'],
    ],
    [
      'more of a call without an index',
      [
        called({ id: 'a', function: { name: 'f', arguments: '{' } }),
        called({ function: { arguments: '"a":' } }),
        called({ id: 'a', function: { name: 'f', arguments: '1}' } }),
      ],
      ['tool_use f', '{', '"a":', '1}', '.'],
    ],
    [
      'parallel calls that share an index',
      [called(piece(0, '{}', f, 'f')), called(piece(0, '{}', g, 'g'))],
      ['tool_use f', '{}', '.', 'tool_use g', '{}', '.'],
    ],
    [
      'an id that is new in every piece',
      [called(piece(0, '{', { id: 'a1' }, 'f')), called(piece(0, '}', { id: 'a2' }))],
      ['tool_use f', '{', '}', '.'],
    ],
    ['a refusal', [says({ refusal: 'N' }), says({ refusal: 'o.' })], ['text', 'N', 'o.', '.']],
    ['content in parts', [says({ content: [{ type: 'text', text: 'a' }] })], ['text', 'a', '.']],
    [
      'the legacy single call',
      [says({ function_call: { name: 'f', arguments: '' } }), says({ function_call: { arguments: '{}' } })],
      ['tool_use f', '{}', '.'],
    ],
    [
      'a legacy call that is none',
      [says({ content: 'a', function_call: { name: '', arguments: '' } })],
      ['text', 'a', '.'],
    ],
    ['a call of which nothing is said', [called({ index: 0 }), says({ content: 'a' })], ['text', 'a', '.']],
    [
      'a call in the chunk that finishes',
      [finishes('tool_calls', { tool_calls: [piece(0, '{}', f, 'f')] })],
      ['tool_use f', '{}', '.'],
    ],
    [
      'other choices are passed over',
      [
        chunkEvent({
          choices: [
            { index: 1, delta: { content: 'x' }, finish_reason: 'length' },
            { index: 0, delta: { content: 'a' } },
          ],
        }),
        chunkEvent({ choices: [{ delta: { content: 'b' } }] }),
      ],
      ['text', 'a', 'b', '.'],
    ],
  ])('%s', (_, inputs, blocks) => {
    expect(blocksOf(...inputs)).toEqual(blocks);
  });

  it('id and name may come late, and again: the first ones count', () => {
    expect(
      said(
        called(piece(0, '{')),
        called(piece(0, '"a":', {}, 'f')),
        called(piece(0, '1', { id: 'a' }, 'f')),
        called(piece(0, '}', { id: 'a' }, 'f')),
      ).calls,
    ).toEqual([{ id: 'a', name: 'f', args: '{"a":1}' }]);
  });

  it.each<[string, string]>([
    ['a long id', 'x'.repeat(200)],
    ['an id with characters that platforms refuse', 'functions.f:0|ü'],
  ])('ids come back unchanged: %s', (_, id) => {
    expect(said(called(piece(0, '{}', { id }, 'f'))).calls).toEqual([{ id, name: 'f', args: '{}' }]);
  });

  it('a call without an id gets one, the same whenever it is asked', () => {
    const once = said(called(piece(0, '{}', {}, 'f'), piece(1, '{}', { id: '' }, 'g')));
    expect(once.calls.map(({ id }) => id)).toEqual(['toolu_1_0', 'toolu_1_1']);
  });
});

describe('the end', () => {
  const call = called(piece(0, '{}', { id: 'a' }, 'f'));

  it.each<[string, readonly ChatEvent[], string]>([
    ['stop', [finishes('stop')], 'end_turn'],
    ['length', [finishes('length')], 'max_tokens'],
    ['tool_calls', [call, finishes('tool_calls')], 'tool_use'],
    ['function_call', [says({ function_call: { name: 'f' } }), finishes('function_call')], 'tool_use'],
    ['content_filter', [finishes('content_filter')], 'refusal'],
    ['a reason that nobody knows', [finishes('eos')], 'end_turn'],
    ['stop after a call in an earlier chunk', [call, finishes('stop')], 'tool_use'],
    ['length after a call', [call, finishes('length')], 'max_tokens'],
    ['[DONE] without a reason', [says({ content: 'a' })], 'end_turn'],
    ['[DONE] without a reason after a call', [call], 'tool_use'],
    ['an empty reason', [finishes('')], 'end_turn'],
    ['a reason that is repeated', [finishes('length'), finishes('length')], 'max_tokens'],
    ['a reason before null', [finishes('length'), says({})], 'max_tokens'],
    ['a refusal', [says({ refusal: 'No.' }), finishes('stop')], 'refusal'],
    [
      'a reason of another choice',
      [chunkEvent({ choices: [{ index: 1, finish_reason: 'length' }] })],
      'end_turn',
    ],
  ])('stop_reason: %s', (_, inputs, stop) => {
    expect(said(...inputs).stop).toBe(stop);
  });

  it.each<[string, readonly ChatEvent[], readonly [input: number, cached: number, output: number]]>([
    ['none', [finishes('stop')], [0, 0, 0]],
    [
      'in the chunk that finishes',
      [
        chunkEvent({
          choices: [{ finish_reason: 'stop' }],
          usage: { prompt_tokens: 3, completion_tokens: 5 },
        }),
      ],
      [3, 0, 5],
    ],
    [
      'in a chunk of its own',
      [finishes('stop'), chunkEvent({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 5 } })],
      [3, 0, 5],
    ],
    [
      'before the end',
      [chunkEvent({ usage: { prompt_tokens: 3, completion_tokens: 1 } }), says({ content: 'a' })],
      [3, 0, 1],
    ],
    [
      'repeated: the last one counts, never a sum',
      [
        chunkEvent({ usage: { prompt_tokens: 3, completion_tokens: 1 } }),
        chunkEvent({ usage: { prompt_tokens: 3, completion_tokens: 5 } }),
        chunkEvent({ usage: null }),
      ],
      [3, 0, 5],
    ],
    [
      'in x_groq alone',
      [chunkEvent({ x_groq: { usage: { prompt_tokens: 3, completion_tokens: 5 } } })],
      [3, 0, 5],
    ],
    [
      'more cached than there is',
      [
        chunkEvent({
          usage: { prompt_tokens: 3, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 9 } },
        }),
      ],
      [0, 9, 5],
    ],
  ])('usage: %s', (_, inputs, [input_tokens, cache_read_input_tokens, output_tokens]) => {
    expect(said(...inputs).usage).toEqual({ ...zero, input_tokens, cache_read_input_tokens, output_tokens });
  });

  it('usage: what was written to a cache', () => {
    const prompt_tokens_details = { cached_tokens: 2, cache_write_tokens: 3 };
    const usage = { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details };
    expect(said(chunkEvent({ choices: [], usage })).usage).toEqual({
      ...zero,
      input_tokens: 4,
      cache_read_input_tokens: 2,
      cache_creation_input_tokens: 3,
      output_tokens: 5,
    });
  });

  it('nothing comes after it', () => {
    expect(eventsOf([done, says({ content: 'a' }), done, failure('late')])).toEqual(eventsOf([done]));
  });
});

describe('a failure never looks finished', () => {
  it('passes as it is, and nothing comes after it', () => {
    const failed = failure('gone', 504);
    const events = eventsOf([
      says({ content: 'a' }),
      { ...failed, chunk: { error: {} }, alreadyShown: true },
      says({ content: 'b' }),
      done,
    ]);
    expect(events.at(-1)).toEqual(failed);
    expect(toldOf(events).map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'error',
    ]);
    expect((events.at(-1) as typeof failed).error).toBe(failed.error);
  });

  it('may be all there is', () => {
    expect(eventsOf([failure('gone')])).toEqual([failure('gone')]);
  });

  it.each([
    [
      'by itself',
      { kind: 'eof' } as const,
      'The upstream ended its stream before the answer was complete.',
      502,
    ],
    [
      'by a fault',
      { kind: 'fault', reason: 'The upstream went silent.', status: 504 } as const,
      'The upstream went silent.',
      504,
    ],
  ])('a stream that ends %s without saying so is one', (_, ending, message, status) => {
    expect(outputsOf(machine, [says({ content: 'a' })], ending).at(-1)).toEqual(failure(message, status));
  });

  const malformed = failure('The upstream sent a malformed event.');

  it.each(malformedInChat)('a piece that would vanish is malformed: %s', (_, delta) => {
    for (const before of [[], [says({ content: 'a' })]]) {
      const events = eventsOf([...before, says(delta), finishes('stop'), done]);
      expect(events.at(-1)).toEqual(malformed);
      expect(grammarFault(toldOf(events))).toBeUndefined();
    }
  });

  it.each<[string, JsonObject]>([
    ['choices that are no list', { choices: 'x' }],
    ['a choice that is none', { choices: ['x'] }],
    ['a delta that is none', { choices: [{ index: 0, delta: 'x' }] }],
  ])('so are %s', (_, chunk) => {
    expect(eventsOf([chunkEvent(chunk), finishes('stop'), done])).toEqual([malformed]);
  });

  it.each(emptyInChat)('a piece that is empty is none: %s', (_, delta) => {
    expect(eventsOf([says({ content: 'a' }), says(delta), done])).toEqual(
      eventsOf([says({ content: 'a' }), done]),
    );
  });

  it('never yields message_stop, whatever came before', () => {
    fc.assert(
      fc.property(aStreamedAnswer, fc.nat(), ({ chunks }, at) => {
        const inputs = [...chunks.map(chunkEvent), done];
        const events = toldOf(eventsOf(inputs.toSpliced(at % inputs.length, 0, failure('gone'))));
        expect(events.at(-1)?.['type']).toBe('error');
        expect(events.some(({ type }) => type === 'message_stop' || type === 'message_delta')).toBe(false);
        expect(grammarFault(events)).toBeUndefined();
      }),
    );
  });

  it('a call that goes on after it was complete cannot be told', () => {
    const events = eventsOf([
      called(piece(0, '{}', { id: 'a' }, 'f')),
      called(piece(1, '{', { id: 'b' }, 'g')),
      called(piece(0, '{}')),
      called(piece(1, '}')),
      done,
    ]);
    expect(events.at(-1)).toEqual(failure('The upstream went on with a tool call that was complete.'));
    expect(grammarFault(toldOf(events))).toBeUndefined();
  });
});

describe('what waits is bounded', () => {
  const tooMuch = failure('The upstream sent too much of an answer out of order.');
  const million = 'x'.repeat(1024 * 1024);
  const pushes = maxHeldBackChars / million.length;

  it.each<[string, readonly ChatEvent[]]>([
    [
      'arguments of a second call',
      [
        called(piece(0, '{', { id: 'a' }, 'f')),
        ...Array.from({ length: pushes }, () => called(piece(1, million, { id: 'b' }, 'g'))),
      ],
    ],
    [
      'arguments of a call that has no name yet',
      Array.from({ length: pushes }, () => called(piece(0, million, { id: 'a' }))),
    ],
    [
      'text behind a call',
      [
        called(piece(0, '{', { id: 'a' }, 'f')),
        ...Array.from({ length: pushes }, () => says({ content: million })),
      ],
    ],
    [
      'many small blocks behind a call',
      [
        called(piece(0, '{', { id: 'a' }, 'f')),
        ...Array.from({ length: maxHeldBackChars / 64 }, (_, at) =>
          says(at % 2 === 0 ? { content: 'a' } : { reasoning: 'b' }),
        ),
      ],
    ],
    [
      'ids',
      Array.from({ length: pushes }, (_, at) => called(piece(at, '{}', { id: `${million}${at}` }, 'f'))),
    ],
  ])('%s', (_, inputs) => {
    const events = eventsOf([...inputs, says({ content: 'a' }), done]);
    expect(events.filter(({ kind }) => kind !== 'chunk')).toEqual([tooMuch]);
    expect(events.at(-1)).toEqual(tooMuch);
  });

  it('what goes out at once does not count, nor does an id that is told again', () => {
    const inputs = [
      ...Array.from({ length: 2 * pushes }, () => says({ content: million })),
      called(piece(0, '{"a":"', { id: million }, 'f')),
      ...Array.from({ length: 2 * pushes }, () => called(piece(0, million, { id: million }))),
      called(piece(0, '"}'), piece(1, '{"a":"', { id: 'b' }, 'g')),
      ...Array.from({ length: 2 * pushes }, () => called(piece(1, million))),
    ];
    expect(eventsOf([...inputs, done]).at(-1)).toEqual(done);
  });

  it.each<[string, JsonObject]>([
    ['text', { content: million.repeat(pushes + 1) }],
    ['reasoning', { reasoning: million.repeat(pushes + 1) }],
    ['a call', { tool_calls: [piece(0, `{"a":"${million.repeat(pushes + 1)}"}`, { id: 'a' }, 'f')] }],
  ])('one piece over the bound that is in order goes out: %s', (_, delta) => {
    for (const before of [[], [says({ content: 'a' })], [says({ reasoning: 'a' })]]) {
      const events = eventsOf([...before, says(delta), done]);
      expect(events.at(-1)).toEqual(done);
      expect(grammarFault(toldOf(events))).toBeUndefined();
      expect(JSON.stringify(toldOf(events)).length).toBeGreaterThan(maxHeldBackChars);
    }
  });

  it('what waited and went out does not count any more', () => {
    const inputs = Array.from({ length: 2 * pushes }, (_, at) => [
      called(piece(2 * at, '{', { id: `a${at}` }, 'f')),
      called(piece(2 * at + 1, `"${million}`, { id: `b${at}` }, 'g')),
      called(piece(2 * at, '}')),
      called(piece(2 * at + 1, '"{}')),
    ]).flat();
    expect(eventsOf([...inputs, done]).at(-1)).toEqual(done);
  });

  it.each<[number, MessagesEvent]>([
    [maxTranslatedToolCalls, done],
    [maxTranslatedToolCalls + 1, failure('The upstream sent too many tool calls in one answer.')],
  ])('%i calls', (count, last) => {
    const calls = Array.from({ length: count }, (_, at) => called(piece(at, '{}', { id: `a${at}` }, 'f')));
    expect(eventsOf([...calls, done]).at(-1)).toEqual(last);
  });
});

describe('for any answer', () => {
  const fieldsOf = (value: Json | undefined): JsonObject =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  /** The delta of choice 0 of a chunk of the soup. */
  const deltaOfFirst = ({ choices }: JsonObject): JsonObject => {
    const all = Array.isArray(choices) ? (choices as readonly Json[]) : [];
    const first = all.find(
      (choice) => isDeepStrictEqual(fieldsOf(choice), choice) && (fieldsOf(choice)['index'] ?? 0) === 0,
    );
    return fieldsOf(fieldsOf(first)['delta']);
  };
  const wordsIn = (value: Json | undefined): string =>
    typeof value === 'string' ? value : Array.isArray(value) ? 'c' : '';
  const metadataIn = (value: Json | undefined): string =>
    'reasoning' in fieldsOf(fieldsOf(value)['a']) ? 's' : '';

  const streamed = ({ chunks }: StreamedAnswer): readonly JsonObject[] =>
    toldOf(eventsOf([...chunks.map(chunkEvent), done]));

  it('the stream is grammatical, and says what the upstream said', () => {
    fc.assert(
      fc.property(aStreamedAnswer, (answer) => {
        const events = streamed(answer);
        expect(grammarFault(events)).toBeUndefined();
        const { text, thinking, calls } = saidIn(events);
        expect(thinking).toBe(answer.reasoning);
        expect(text).toBe(answer.text + answer.refusal);
        expect(calls).toEqual(
          answer.calls.map(({ id, name, text }, ordinal) => ({
            id: id === '' ? `toolu_1_${ordinal}` : id,
            name,
            args: text,
          })),
        );
      }),
      { numRuns: 1000 },
    );
  });

  it('streamed and whole translation agree', () => {
    const whole = (answer: StreamedAnswer): JsonObject => ({
      choices: [
        {
          index: 0,
          message: {
            content: answer.text,
            reasoning: answer.reasoning,
            refusal: answer.refusal,
            tool_calls: answer.calls.map(({ id, name, text }) => ({
              id,
              function: { name, arguments: text },
            })),
          },
          finish_reason: answer.finish ?? null,
        },
      ],
      usage: answer.usage ?? null,
    });
    fc.assert(
      fc.property(aStreamedAnswer, (answer) => {
        const { calls, stop, usage } = saidIn(streamed(answer));
        const translated = fromChatCompletion(whole(answer), about);
        const message = E.isRight(translated) ? translated.right : {};
        const blocks = message['content'] as readonly JsonObject[];
        const uses = blocks.filter(({ type }) => type === 'tool_use');
        expect(
          calls.map(({ args, ...call }) => ({ ...call, input: JSON.stringify(parseExact(args || '{}')) })),
        ).toEqual(uses.map(({ id, name, input }) => ({ id, name, input: JSON.stringify(input) })));
        const words = (field: 'text' | 'thinking') =>
          (blocks as readonly { readonly text?: string; readonly thinking?: string }[])
            .map((block) => block[field] ?? '')
            .join('');
        expect([words('text'), words('thinking')]).toEqual([answer.text + answer.refusal, answer.reasoning]);
        expect(stop).toBe(message['stop_reason']);
        expect(message['usage']).toMatchObject(usage as object);
      }),
      { numRuns: 500 },
    );
  });

  it('words without meaning are told in order all the same, or as a failure', () => {
    fc.assert(
      fc.property(aChunkSoup, fc.boolean(), (chunks, ends) => {
        const events = eventsOf([...chunks.map(chunkEvent), ...(ends ? [done] : [])]);
        expect(grammarFault(toldOf(events))).toBeUndefined();
        expect(events.filter(({ kind }) => kind !== 'chunk')).toHaveLength(1);
        if (events.at(-1)?.kind !== 'done') return;
        const { text, thinking } = saidIn(toldOf(events));
        const deltas = chunks.map(deltaOfFirst);
        expect(text).toBe(
          deltas.flatMap(({ content, refusal }) => [wordsIn(content), wordsIn(refusal)]).join(''),
        );
        expect(thinking).toBe(
          deltas
            .map(({ reasoning, provider_metadata }) => wordsIn(reasoning) || metadataIn(provider_metadata))
            .join(''),
        );
      }),
      { numRuns: 1000 },
    );
  });
});

describeMachineLaws('sseFrames, then chatStream, then messagesStream', {
  machine: andThen(
    andThen(sseFrames, seal(chatStream({ namespace: 'compat', sanitise: (message) => message }))),
    machine,
  ),
  streams: aChatScript.map(({ bytes }) => bytes),
  isTerminal: ({ kind }) => kind !== 'chunk',
  endless: {
    piece: Buffer.alloc(1024 * 1024, 'data: {"choices":'),
    pushes: 2 * (maxStreamEventBytes / (1024 * 1024)),
    outputs: [failure('The upstream sent an event that is too large.')],
  },
});
