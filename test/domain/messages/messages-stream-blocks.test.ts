import { describe, expect, it } from '@jest/globals';
import type { ChatEvent } from '../../../domain/chat/chat-stream.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { maxHeldBackChars, maxTranslatedToolCalls } from '../../../domain/shared/limits.ts';
import { grammarFault } from '../../support/messages-grammar.ts';
import {
  type BlockEvent,
  called,
  chunkEvent,
  done,
  eventsOf,
  failure,
  finishes,
  type MessagesEvent,
  piece,
  said,
  says,
  told,
  toldOf,
} from './messages-stream-told.ts';

/** The content blocks of an answer, each as its type, its deltas and a dot. */
const blocksOf = (...inputs: readonly ChatEvent[]): readonly string[] =>
  told(...inputs, done).flatMap((event) => {
    const { type, content_block: block, delta } = event as unknown as BlockEvent;
    if (type === 'content_block_start') return [[block.type, block.name ?? ''].join(' ').trim()];
    if (type === 'content_block_delta') return [delta.text ?? delta.thinking ?? delta.partial_json ?? ''];
    return type === 'content_block_stop' ? ['.'] : [];
  });

describe('streamed content blocks are sent one after the other', () => {
  const f = { id: 'a' };
  const g = { id: 'b' };

  it.each<[string, readonly ChatEvent[], readonly string[]]>([
    [
      'empty deltas open no block',
      [says({ content: '' }), says({ reasoning: '' }), says({}), says({ content: null })],
      [],
    ],
    [
      '`tool_calls: []` beside text opens no block',
      [says({ content: 'a', tool_calls: [] })],
      ['text', 'a', '.'],
    ],
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
      'reasoning only in reasoning_details',
      [
        says({ reasoning_details: [{ type: 'reasoning.text', text: 'h', index: 0 }] }),
        says({ reasoning: '', reasoning_details: [{ type: 'reasoning.summary', summary: 'm', index: 0 }] }),
        says({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA', index: 1 }] }),
        says({ reasoning_details: [{ type: 'reasoning.text', signature: 's', index: 0 }], content: 'a' }),
      ],
      ['thinking', 'h', 'm', '.', 'text', 'a', '.'],
    ],
    [
      'reasoning_content in blocks',
      [
        says({ reasoning_content: { text: 'h' } }),
        says({ reasoning_content: { text: 'm' } }),
        says({ reasoning_content: { signature: 's' } }),
        says({ content: 'a' }),
      ],
      ['thinking', 'h', 'm', '.', 'text', 'a', '.'],
    ],
    [
      'numbers in place of text are read as their digits',
      [
        says({ reasoning_content: 4 }),
        says({ content: 'a' }),
        says({ content: 1 }),
        says({ content: 0 }),
        called({ index: 0, id: 'a', function: { name: 'f', arguments: '{"a":' } }),
        called({ index: 0, function: { arguments: 20 } }),
        called(piece(0, '}')),
      ],
      ['thinking', '4', '.', 'text', 'a', '1', '0', '.', 'tool_use f', '{"a":', '20', '}', '.'],
    ],
    [
      'text after a call',
      [called(piece(0, '{}', f, 'f')), says({ content: 'a' }), says({ content: 'b' })],
      ['tool_use f', '{}', '.', 'text', 'a', 'b', '.'],
    ],
    [
      'text within a call is held back until the call ends',
      [called(piece(0, '{', f, 'f')), says({ content: 'a' }), says({ content: 'b' }), called(piece(0, '}'))],
      ['tool_use f', '{', '}', '.', 'text', 'ab', '.'],
    ],
    [
      'text after a call without a name is held back until the call ends',
      [says({ content: 'a' }), called(piece(0, '{}')), says({ content: 'b' }), called(piece(0, '', f, 'f'))],
      ['text', 'a', '.', 'tool_use f', '{}', '.', 'text', 'b', '.'],
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
      'brackets inside strings do not end a call',
      [called(piece(0, '{"a":"}\\"}', f, 'f')), called(piece(1, '{}', g, 'g')), called(piece(0, '"}'))],
      ['tool_use f', '{"a":"}\\"}', '"}', '.', 'tool_use g', '{}', '.'],
    ],
    [
      'an incomplete call ends with the answer',
      [called(piece(0, '{', f, 'f')), called(piece(1, '{}', g, 'g'))],
      ['tool_use f', '{', '.', 'tool_use g', '{}', '.'],
    ],
    [
      'arguments that are not a JSON object are sent as `_raw_arguments` when the call ends',
      [
        called(piece(0, '"{\\"a\\"', f, 'f'), piece(0, ':1"')),
        says({ content: 'a' }),
        called(piece(1, '[{}', g, 'g'), piece(1, '] ')),
      ],
      [
        'tool_use f',
        JSON.stringify({ _raw_arguments: '"{\\"a\\":1"' }),
        '.',
        'text',
        'a',
        '.',
        'tool_use g',
        '{"_raw_arguments":"[{}] "}',
        '.',
      ],
    ],
    [
      'the text for a custom tool is sent as `_raw_arguments`',
      [
        called({ index: 0, id: 'a', custom: { name: 'f', input: '' } }),
        called({ index: 0, custom: { input: '4 +' } }),
        called({ index: 0, custom: { input: ' 4' } }),
      ],
      ['tool_use f', '{"_raw_arguments":"4 + 4"}', '.'],
    ],
    [
      'arguments that are JSON-encoded twice are decoded',
      [called(piece(0, '"{\\"a\\"', f, 'f'), piece(0, ':1}"'))],
      ['tool_use f', '{"a":1}', '.'],
    ],
    [
      'arguments with the text null, in pieces',
      [called(piece(0, 'nu', f, 'f'), piece(0, 'll'))],
      ['tool_use f', '{}', '.'],
    ],
    ['a call without arguments', [called(piece(0, '', f, 'f'))], ['tool_use f', '.']],
    [
      'null arguments',
      [
        called({ index: 0, id: 'a', function: { name: 'f', arguments: null } }),
        called(piece(0, '{}')),
        called(piece(0, '')),
      ],
      ['tool_use f', '{}', '.'],
    ],
    [
      'a new call at the index of the previous one',
      [
        called(piece(0, '{"a":1}', f, 'f')),
        called(piece(0, '', g, 'g')),
        called(piece(1, '{"b":')),
        called(piece(1, '2}')),
      ],
      ['tool_use f', '{"a":1}', '.', 'tool_use g', '{"b":', '2}', '.'],
    ],
    [
      'complete arguments that are repeated',
      [
        called(piece(0, '', f, 'f')),
        called(piece(0, '{"a":')),
        called(piece(0, '1}')),
        called(piece(0, '{"a":1}')),
        called(piece(1, '{}', g, 'g')),
        called(piece(0, '{"a":1}', f, 'f')),
      ],
      ['tool_use f', '{"a":', '1}', '.', 'tool_use g', '{}', '.'],
    ],
    [
      'the same arguments for another call at the same index',
      [called(piece(0, '{}', f, 'f')), called(piece(0, '{}', g, 'f'))],
      ['tool_use f', '{}', '.', 'tool_use f', '{}', '.'],
    ],
    [
      'the same arguments for another call without an id at the same index',
      [called(piece(0, '{}', {}, 'f')), called(piece(0, '{}', {}, 'f'))],
      ['tool_use f', '{}', '.', 'tool_use f', '{}', '.'],
    ],
    [
      'arguments without a name at a new index',
      [called(piece(0, '{"a":1}', f, 'f')), called(piece(0, '{"b":2}', g, 'g')), called(piece(1, '{}'))],
      ['tool_use f', '{"a":1}', '.', 'tool_use g', '{"b":2}', '.', 'tool_use', '{}', '.'],
    ],
    [
      'a whole message after a call without a name',
      [called(piece(0, '{}', f)), chunkEvent({ choices: [{ index: 0, message: { content: 'a' } }] })],
      ['tool_use', '{}', '.'],
    ],
    ['arguments with the text null', [called(piece(0, 'null', f, 'f'))], ['tool_use f', '.']],
    [
      'a null inside the arguments',
      [called(piece(0, '{"a":', f, 'f')), called(piece(0, 'null')), called(piece(0, '}'))],
      ['tool_use f', '{"a":', 'null', '}', '.'],
    ],
    [
      'blanks after a complete call are dropped',
      [called(piece(0, '{}', f, 'f')), says({ content: 'a' }), called(piece(0, '\n'))],
      ['tool_use f', '{}', '.', 'text', 'a', '.'],
    ],
    [
      'calls without an index',
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
      'a call without an index, in pieces',
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
      'parallel calls that share an index, and have no ids',
      [
        called(piece(0, '{"a":', { id: '' }, 'f'), piece(0, '1}')),
        called(piece(0, '{"a":2}', { id: '' }, 'f')),
        called(piece(0, '{"a":', {}, 'g')),
        called(piece(0, '3}')),
      ],
      ['tool_use f', '{"a":1}', '.', 'tool_use f', '{"a":2}', '.', 'tool_use g', '{"a":3}', '.'],
    ],
    [
      'a name in every piece, also in blanks after the arguments',
      [called(piece(0, '{"a":', {}, 'f')), called(piece(0, '1}', {}, 'f')), called(piece(0, ' ', {}, 'f'))],
      ['tool_use f', '{"a":1} ', '.'],
    ],
    [
      'a new id in every piece',
      [called(piece(0, '{', { id: 'a1' }, 'f')), called(piece(0, '}', { id: 'a2' }))],
      ['tool_use f', '{', '}', '.'],
    ],
    ['a refusal', [says({ refusal: 'N' }), says({ refusal: 'o.' })], ['text', 'N', 'o.', '.']],
    [
      'an audio transcript',
      [says({ audio: { id: 'a' } }), says({ audio: { data: 'AA' } }), says({ audio: { transcript: 'a' } })],
      ['text', 'a', '.'],
    ],
    [
      'an image beside a text is dropped',
      [says({ content: 'a', images: [{ type: 'image_url' }] })],
      ['text', 'a', '.'],
    ],
    ['content in parts', [says({ content: [{ type: 'text', text: 'a' }] })], ['text', 'a', '.']],
    [
      'the legacy single call',
      [says({ function_call: { name: 'f', arguments: '' } }), says({ function_call: { arguments: '{}' } })],
      ['tool_use f', '{}', '.'],
    ],
    [
      'an empty legacy call',
      [says({ content: 'a', function_call: { name: '', arguments: '' } })],
      ['text', 'a', '.'],
    ],
    ['an empty call', [called({ index: 0 }), says({ content: 'a' })], ['text', 'a', '.']],
    [
      'a call in the chunk with the finish_reason',
      [finishes('tool_calls', { tool_calls: [piece(0, '{}', f, 'f')] })],
      ['tool_use f', '{}', '.'],
    ],
    [
      'a whole message in one chunk',
      [
        says({ role: 'assistant', content: '' }),
        chunkEvent({
          object: 'chat.completion',
          choices: [
            {
              index: 0,
              message: {
                role: 'assistant',
                reasoning: 'r',
                content: 'a',
                tool_calls: [piece(0, '{}', f, 'f')],
              },
              finish_reason: 'tool_calls',
            },
          ],
        }),
      ],
      ['thinking', 'r', '.', 'text', 'a', '.', 'tool_use f', '{}', '.'],
    ],
    [
      'a whole message after its deltas is ignored',
      [
        says({ content: 'a' }),
        chunkEvent({ choices: [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }] }),
      ],
      ['text', 'a', '.'],
    ],
    [
      'other choices are ignored',
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

  it('the id and name of a call may arrive late and be repeated', () => {
    expect(
      said(
        called(piece(0, '{')),
        called(piece(0, '"a":', {}, 'f')),
        called(piece(0, '1', { id: 'a' }, 'f')),
        called(piece(0, '}', { id: 'a' }, 'f')),
      ).calls,
    ).toEqual([{ id: 'a', name: 'f', args: '{"a":1}' }]);
  });

  it('a thought signature that arrives before the name is kept on its call', () => {
    const signed = { extra_content: { google: { thought_signature: 's' } } };
    const events = told(called(piece(0, '', { ...f, ...signed })), called(piece(0, '{}', {}, 'f')), done);
    expect(events).toContainEqual({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', ...f, name: 'f', input: {}, ...signed },
    });
  });

  it.each<[string, string]>([
    ['a long id', 'x'.repeat(200)],
    ['an id with characters that some platforms reject', 'functions.f:0|ü'],
  ])('call ids are kept unchanged: %s', (_, id) => {
    expect(said(called(piece(0, '{}', { id }, 'f'))).calls).toEqual([{ id, name: 'f', args: '{}' }]);
  });

  it('a missing or empty call id is generated from the message id and the position of the call', () => {
    const once = said(called(piece(0, '{}', {}, 'f'), piece(1, '{}', { id: '' }, 'g')));
    expect(once.calls.map(({ id }) => id)).toEqual(['toolu_1_0', 'toolu_1_1']);
  });
});

describe('held-back output is limited', () => {
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
      'arguments that are not an object',
      Array.from({ length: pushes }, () => called(piece(0, `7${million}`, { id: 'a' }, 'f'))),
    ],
    [
      'arguments of a call without a name',
      Array.from({ length: pushes }, () => called(piece(0, million, { id: 'a' }))),
    ],
    [
      'text after an open call',
      [
        called(piece(0, '{', { id: 'a' }, 'f')),
        ...Array.from({ length: pushes }, () => says({ content: million })),
      ],
    ],
    [
      'many small blocks after an open call',
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
    for (const end of [[], [says({ content: 'a' })]]) {
      const events = eventsOf([...inputs, ...end, done]);
      expect(events.filter(({ kind }) => kind !== 'chunk')).toEqual([tooMuch]);
      expect(events.at(-1)).toEqual(tooMuch);
    }
  });

  it('output that is sent at once does not count, nor does a repeated id', () => {
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
  ])('a single piece over the limit is sent if it is in order: %s', (_, delta) => {
    for (const before of [[], [says({ content: 'a' })], [says({ reasoning: 'a' })]]) {
      const events = eventsOf([...before, says(delta), done]);
      expect(events.at(-1)).toEqual(done);
      expect(grammarFault(toldOf(events))).toBeUndefined();
      expect(JSON.stringify(toldOf(events)).length).toBeGreaterThan(maxHeldBackChars);
    }
  });

  it('held-back output no longer counts once it is sent', () => {
    const inputs = Array.from({ length: 2 * pushes }, (_, at) => [
      called(piece(2 * at, '{', { id: `a${at}` }, 'f')),
      called(piece(2 * at + 1, `{"a":"${million}`, { id: `b${at}` }, 'g')),
      called(piece(2 * at, '}')),
      called(piece(2 * at + 1, '"}')),
    ]).flat();
    expect(eventsOf([...inputs, done]).at(-1)).toEqual(done);
  });

  it('blocks that were sent do not count, however many there are', () => {
    const turn = [says({ content: 'a' }), says({ reasoning: 'b' })];
    const inputs = Array.from({ length: 40_000 }, () => turn).flat();
    expect(eventsOf([...inputs, done]).at(-1)).toEqual(done);
  });

  it.each<[number, MessagesEvent]>([
    [maxTranslatedToolCalls, done],
    [maxTranslatedToolCalls + 1, failure('The upstream sent too many tool calls in one answer.')],
  ])('%i tool calls: up to the limit the stream completes, above it fails', (count, last) => {
    const calls = Array.from({ length: count }, (_, at) => called(piece(at, '{}', { id: `a${at}` }, 'f')));
    expect(eventsOf([...calls, done]).at(-1)).toEqual(last);
  });
});
