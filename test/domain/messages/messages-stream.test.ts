import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { type ChatEvent, chatStream } from '../../../domain/chat/chat-stream.ts';
import { fromChatCompletion } from '../../../domain/messages/from-chat.ts';
import { type Json, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { maxStreamEventBytes } from '../../../domain/shared/limits.ts';
import { andThen, seal } from '../../../domain/shared/stream-machine.ts';
import { sseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { aChatScript } from '../../support/arbitraries/chat-streams.ts';
import { aChunkSoup, aStreamedAnswer, type StreamedAnswer } from '../../support/arbitraries/messages.ts';
import { describeMachineLaws } from '../../support/machine-laws.ts';
import { grammarFault } from '../../support/messages-grammar.ts';
import {
  about,
  called,
  chunkEvent,
  done,
  eventsOf,
  failure,
  finishes,
  machine,
  piece,
  said,
  saidIn,
  says,
  start,
  told,
  toldOf,
  zero,
} from './messages-stream-told.ts';

const endsWith = (stop_reason: string, usage: object = zero) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
];

describe('the events of a messages stream', () => {
  it('has one call for a call that the legacy field repeats, as llama-cpp-python streams it', () => {
    const both = (args: string) =>
      says({
        tool_calls: [piece(0, args, { id: 'c' }, 'f')],
        function_call: { name: 'f', arguments: args },
      });
    const nothing = { content: null, function_call: null, tool_calls: null };
    const { calls, stop } = said(says(nothing), both('{"a"'), both(':1}'), finishes('tool_calls', nothing));
    expect({ calls, stop }).toEqual({ calls: [{ id: 'c', name: 'f', args: '{"a":1}' }], stop: 'tool_use' });
  });

  it('for a text', () => {
    expect(
      told(
        says({ role: 'assistant', content: '' }),
        says({ content: 'Hel' }),
        says({ content: 'lo' }),
        finishes('stop'),
        chunkEvent({
          choices: [],
          usage: {
            prompt_tokens: 9,
            completion_tokens: 2,
            prompt_tokens_details: { cached_tokens: 4 },
            completion_tokens_details: { reasoning_tokens: 1 },
          },
        }),
        done,
      ),
    ).toEqual([
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      ...endsWith('end_turn', {
        ...zero,
        input_tokens: 5,
        cache_read_input_tokens: 4,
        output_tokens: 2,
        output_tokens_details: { thinking_tokens: 1 },
      }),
    ]);
  });

  it('for thinking and a tool call', () => {
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

  it('for an answer whose text and call are in choices of one chunk with one index', () => {
    const delta = { tool_calls: [piece(0, '{}', { id: 'a' }, 'f')] };
    const choices = [{ delta: { content: 'I look.' } }, { index: 0, delta, finish_reason: 'tool_calls' }];
    const { text, calls, stop } = said(chunkEvent({ choices }));
    expect({ text, calls, stop }).toEqual({
      text: 'I look.',
      calls: [{ id: 'a', name: 'f', args: '{}' }],
      stop: 'tool_use',
    });
  });

  it('for an empty message', () => {
    expect(told(says({ role: 'assistant' }), done)).toEqual([start, ...endsWith('end_turn')]);
  });

  it('are sent as the chunks arrive, with message_start at the first chunk', () => {
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
    expect(types(called(piece(1, '', { id: 'b' }, 'g')))).toEqual([]);
    expect(types(called(piece(1, '{"a"')))).toEqual([
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
    ]);
    expect(types(finishes('tool_calls'))).toEqual([]);
    expect(types(done)).toEqual(['content_block_stop', 'message_delta', 'message_stop']);
  });

  it('are all written anew, and only message_stop is marked as terminal and held back', () => {
    const events = eventsOf([says({ content: 'a' }), finishes('stop'), done]);
    expect(events.at(-1)).toEqual({ kind: 'done' });
    const chunks = events.flatMap((event) => (event.kind === 'chunk' ? [event] : []));
    expect(chunks.map(({ held, terminal }) => held === true && terminal)).toEqual(
      chunks.map(({ chunk }) => chunk['type'] === 'message_stop'),
    );
    expect(chunks.every(({ wire }) => wire === undefined)).toBe(true);
  });
});

describe('the end of a messages stream', () => {
  const call = called(piece(0, '{}', { id: 'a' }, 'f'));

  it.each<[string, readonly ChatEvent[], string]>([
    ['stop', [finishes('stop')], 'end_turn'],
    ['length', [finishes('length')], 'max_tokens'],
    ['tool_calls', [call, finishes('tool_calls')], 'tool_use'],
    ['function_call', [says({ function_call: { name: 'f' } }), finishes('function_call')], 'tool_use'],
    ['tool_calls without any call', [says({ content: 'a' }), finishes('tool_calls')], 'end_turn'],
    ['content_filter', [finishes('content_filter')], 'refusal'],
    ['an unknown reason', [finishes('eos')], 'end_turn'],
    ['model_length', [finishes('model_length')], 'max_tokens'],
    ['model_length after a call', [call, finishes('model_length')], 'max_tokens'],
    ['a content filter with a name', [finishes('content_filter: RECITATION')], 'refusal'],
    ['a failure followed by stop', [finishes('error'), finishes('stop')], 'end_turn'],
    ['stop after a call in an earlier chunk', [call, finishes('stop')], 'tool_use'],
    ['length after a call', [call, finishes('length')], 'max_tokens'],
    ['[DONE] without a reason', [says({ content: 'a' })], 'end_turn'],
    ['[DONE] without a reason after a call', [call], 'tool_use'],
    ['an empty reason', [finishes('')], 'end_turn'],
    ['a reason that is repeated', [finishes('length'), finishes('length')], 'max_tokens'],
    ['a reason before null', [finishes('length'), says({})], 'max_tokens'],
    ['a reason before an empty one', [finishes('length'), finishes('')], 'max_tokens'],
    ['a refusal', [says({ refusal: 'No.' }), finishes('stop')], 'refusal'],
    [
      'a stop_reason in provider metadata',
      [
        chunkEvent({
          choices: [{ finish_reason: 'stop' }],
          provider_metadata: { a: { stop_reason: 'stop_sequence' } },
        }),
        chunkEvent({ choices: [], provider_metadata: { a: { trace: {} } } }),
      ],
      'stop_sequence',
    ],
    [
      'a reason of another choice',
      [says({ content: 'a' }), chunkEvent({ choices: [{ index: 1, finish_reason: 'length' }] })],
      'end_turn',
    ],
  ])('stop_reason: %s', (_, inputs, stop) => {
    expect(said(...inputs).stop).toBe(stop);
  });

  it.each<[string, readonly ChatEvent[], readonly [input: number, cached: number, output: number]]>([
    ['none', [finishes('stop')], [0, 0, 0]],
    [
      'in the chunk with the finish_reason',
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
      'only output tokens, repeated',
      [chunkEvent({ usage: { completion_tokens: 1 } }), chunkEvent({ usage: { completion_tokens: 5 } })],
      [0, 0, 5],
    ],
    [
      'repeated: the last one counts, never a sum',
      [
        chunkEvent({ usage: { prompt_tokens: 3, completion_tokens: 1 } }),
        chunkEvent({ usage: { prompt_tokens: 3, completion_tokens: 5 } }),
        chunkEvent({ usage: null }),
        chunkEvent({ usage: {} }),
      ],
      [3, 0, 5],
    ],
    [
      'only in x_groq',
      [chunkEvent({ x_groq: { usage: { prompt_tokens: 3, completion_tokens: 5 } } })],
      [3, 0, 5],
    ],
    [
      'more cached tokens than prompt tokens, which are not among them',
      [
        chunkEvent({
          usage: { prompt_tokens: 3, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 9 } },
        }),
      ],
      [3, 9, 5],
    ],
  ])('usage: %s', (_, inputs, [input_tokens, cache_read_input_tokens, output_tokens]) => {
    const { usage } = said(says({ content: 'a' }), ...inputs);
    expect(usage).toEqual({ ...zero, input_tokens, cache_read_input_tokens, output_tokens });
  });

  it('usage: cache write tokens', () => {
    const prompt_tokens_details = { cached_tokens: 2, cache_write_tokens: 3 };
    const usage = { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details };
    expect(said(finishes('stop'), chunkEvent({ choices: [], usage })).usage).toEqual({
      ...zero,
      input_tokens: 4,
      cache_read_input_tokens: 2,
      cache_creation_input_tokens: 3,
      output_tokens: 5,
    });
  });

  it.each([
    ['are cache reads', [9, 7, 7], [0, 7, 2]],
    ['are kept if more than the prompt were read', [3, 9, 2], [3, 9, 2]],
    ['are kept if more than the prompt were written', [3, 2, 9], [3, 2, 9]],
  ])('usage: tokens that are counted as cache writes and as cache reads: %s', (_, reported, told) => {
    const [prompt_tokens, cached_tokens, cache_write_tokens] = reported;
    const [input_tokens, cache_read_input_tokens, cache_creation_input_tokens] = told;
    const prompt_tokens_details = { cached_tokens, cache_write_tokens };
    const usage = { prompt_tokens, completion_tokens: 5, prompt_tokens_details };
    expect(said(finishes('stop'), chunkEvent({ choices: [], usage })).usage).toEqual({
      input_tokens,
      cache_read_input_tokens,
      cache_creation_input_tokens,
      output_tokens: 5,
    });
  });

  it('is followed by no event', () => {
    expect(eventsOf([done, says({ content: 'a' }), done, failure('late')])).toEqual(eventsOf([done]));
  });
});

describe('the translation of any streamed answer', () => {
  const fieldsOf = (value: Json | undefined): JsonObject =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  /** The deltas of choice 0 of an arbitrary chunk. */
  const deltasOfFirst = ({ choices }: JsonObject): readonly JsonObject[] => {
    const all = Array.isArray(choices) ? (choices as readonly Json[]) : [];
    const first = all.filter(
      (choice) => isDeepStrictEqual(fieldsOf(choice), choice) && (fieldsOf(choice)['index'] ?? 0) === 0,
    );
    return first.map((choice) => fieldsOf(fieldsOf(choice)['delta']));
  };
  const wordsIn = (value: Json | undefined): string =>
    Array.isArray(value) ? 'c' : typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  const metadataIn = (value: Json | undefined): string =>
    'reasoning' in fieldsOf(fieldsOf(value)['a']) ? 's' : '';

  const streamed = ({ chunks }: StreamedAnswer): readonly JsonObject[] =>
    toldOf(eventsOf([...chunks.map(chunkEvent), done]));

  it('is a well-formed stream with the text, thinking and calls of the upstream', () => {
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

  it('agrees with the translation of the whole answer', () => {
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

  it('sends arguments that are not a JSON object as in a whole answer, however they are split', () => {
    const anyText = fc.oneof(
      fc.json({ maxDepth: 2 }),
      fc.constantFrom(
        'null',
        ' null',
        '"{\\"a\\":1}"',
        '[{"a":1}]',
        '7',
        'true',
        '\\{',
        '\u00a0{}',
        '\ufeff{}',
      ),
    );
    fc.assert(
      fc.property(
        anyText.filter((text) => !text.trimStart().startsWith('{')),
        fc.nat(),
        (text, at) => {
          const cut = at % text.length;
          const pieces = [text.slice(0, cut), text.slice(cut)].map((each) => called(piece(0, each)));
          const { calls, stop } = said(called(piece(0, '', { id: 'a' }, 'f')), ...pieces);
          const call = { id: 'a', function: { name: 'f', arguments: text } };
          const whole = fromChatCompletion({ choices: [{ message: { tool_calls: [call] } }] }, about);
          const message = E.isRight(whole) ? whole.right : {};
          const [use] = message['content'] as readonly JsonObject[];
          expect(JSON.parse(calls[0]?.args || '{}')).toEqual(use?.['input']);
          expect(stop).toBe(message['stop_reason']);
        },
      ),
    );
  });

  it('keeps text and thinking of arbitrary chunks in order, or ends with a failure', () => {
    fc.assert(
      fc.property(aChunkSoup, fc.boolean(), (chunks, ends) => {
        const events = eventsOf([...chunks.map(chunkEvent), ...(ends ? [done] : [])]);
        expect(grammarFault(toldOf(events))).toBeUndefined();
        expect(events.filter(({ kind }) => kind !== 'chunk')).toHaveLength(1);
        if (events.at(-1)?.kind !== 'done') return;
        const { text, thinking } = saidIn(toldOf(events));
        const deltas = chunks.flatMap(deltasOfFirst);
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
