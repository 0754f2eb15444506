import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { ChatEvent } from '../../../domain/chat/chat-stream.ts';
import { readChatCompletion } from '../../../domain/chat/chat-completion.ts';
import { fromChatCompletion } from '../../../domain/messages/from-chat.ts';
import { messagesStream } from '../../../domain/messages/messages-stream.ts';
import { andThen, seal } from '../../../domain/shared/stream-machine.ts';
import { outputsOf } from '../../support/machine-laws.ts';
import { eventsOf, machine, sanitise } from './chat-stream-told.ts';

const marked = '"extra_content":{"google":{"thought":true}}';
const about = { id: 'msg_1', model: 'gemma' };

const delta = (fields: string, more = ''): string => `{"choices":[{"index":0,"delta":{${fields}}${more}}]}`;
const finish = delta('"content":null', ',"finish_reason":"stop"');
const reasoning = (text: string): string =>
  `"provider_metadata":{"compat":{"reasoning":[{"type":"thinking","thinking":"${text}"}]}}`;

/** What the caller gets for each of these chunks: `as it came` for one that no rule changed. */
const sent = (data: readonly string[]): readonly string[] =>
  eventsOf([...data, finish])
    .filter((event): event is ChatEvent & { kind: 'chunk' } => event.kind === 'chunk')
    .slice(0, -1)
    .map(({ wire, chunk }) => (wire === undefined ? JSON.stringify(chunk) : 'as it came'));

describe('thoughts that Google’s chat API marks in the content of a stream', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    [
      'are reasoning up to the first delta of the answer, which has the closing tag',
      [
        delta(`"role":"assistant","content":"<thought>Step 1.",${marked}`),
        delta(`"content":"Step 2.",${marked}`),
        delta('"content":"</thought>The answer","extra_content":null'),
        delta('"content":" is <thought> 4."'),
      ],
      [
        delta(`"role":"assistant","content":"",${marked},${reasoning('Step 1.')}`),
        delta(`"content":"",${marked},${reasoning('Step 2.')}`),
        delta('"content":"The answer","extra_content":null'),
        'as it came',
      ],
    ],
    [
      'may end in a delta of their own',
      [delta(`"content":"<thought>A</thought>B",${marked}`), delta('"content":"</thought>"')],
      [delta(`"content":"B",${marked},${reasoning('A')}`), 'as it came'],
    ],
    [
      'end with the answer if it does not begin with the closing tag',
      [delta(`"content":"<thought>A",${marked}`), delta('"content":"B</thought>"'), delta('"content":"C"')],
      [delta(`"content":"",${marked},${reasoning('A')}`), delta('"content":"B</thought>"'), 'as it came'],
    ],
    [
      'go on behind a call',
      [
        delta(`"content":"<thought>A",${marked}`),
        delta('"content":null,"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]'),
        delta(`"content":"B",${marked}`),
      ],
      [
        delta(`"content":"",${marked},${reasoning('A')}`),
        'as it came',
        delta(`"content":"",${marked},${reasoning('B')}`),
      ],
    ],
    [
      'are those of their own choice',
      [
        delta(`"content":"<thought>A",${marked}`),
        '{"choices":[{"index":1,"delta":{"content":"</thought>B"}}]}',
      ],
      [delta(`"content":"",${marked},${reasoning('A')}`), 'as it came'],
    ],
  ])('%s', (_, data, out) => {
    expect(sent(data)).toEqual(out);
  });

  it.each([
    ['tags without a mark', delta('"content":"<thought>A</thought>B"')],
    ['a mark without tags', delta(`"content":"A",${marked}`)],
    ['a mark that is not true', delta('"content":"<thought>A","extra_content":{"google":{"thought":"yes"}}')],
    ['a mark without content', delta(`"content":null,${marked}`)],
  ])('are not %s, which are content', (_, data) => {
    expect(sent([data])).toEqual(['as it came']);
  });

  it('reach messages callers as thinking', () => {
    const events = outputsOf(andThen(machine, seal(messagesStream(about))), [
      Buffer.from(
        [
          delta(`"content":"<thought>A",${marked}`),
          delta(`"content":"B",${marked}`),
          delta('"content":"</thought>C"'),
          finish,
        ]
          .map((data) => `data: ${data}\n\n`)
          .join(''),
      ),
    ]);
    const deltas = events.flatMap((event) =>
      event.kind === 'chunk' && event.chunk['type'] === 'content_block_delta' ? [event.chunk['delta']] : [],
    );
    expect(deltas).toEqual([
      { type: 'thinking_delta', thinking: 'A' },
      { type: 'thinking_delta', thinking: 'B' },
      { type: 'text_delta', text: 'C' },
    ]);
  });
});

describe('thoughts that Google’s chat API marks in a whole answer', () => {
  const answer = (fields: string): string =>
    `{"id":"c1","choices":[{"index":0,"message":{${fields}},"finish_reason":"stop"}],"n":0.10}`;
  const read = (text: string) => {
    const completion = readChatCompletion(text, 'compat', sanitise);
    if (E.isLeft(completion)) throw new Error(JSON.stringify(completion.left));
    return completion.right;
  };

  it.each([
    ['with an answer behind them', `"content":"<thought>A\\n</thought>B",${marked}`, 'A\\n', 'B'],
    ['alone, because a limit has truncated them', `"content":"<thought>A",${marked}`, 'A', ''],
  ])('are reasoning, in place of content: %s', (_, fields, thought, content) => {
    expect(read(answer(fields)).rewritten).toBe(
      answer(`"content":"${content}",${marked},${reasoning(thought)}`),
    );
  });

  it.each([
    ['tags without a mark', '"content":"<thought>A</thought>B"'],
    ['a mark without tags', `"content":"It is noon.",${marked}`],
  ])('are not %s, which are content', (_, fields) => {
    expect(read(answer(fields)).rewritten).toBeUndefined();
  });

  it('reach messages callers as thinking', () => {
    const { value } = read(answer(`"content":"<thought>A</thought>B",${marked}`));
    expect(fromChatCompletion(value, about)).toMatchObject({
      right: {
        content: [
          { type: 'thinking', thinking: 'A' },
          { type: 'text', text: 'B' },
        ],
      },
    });
  });
});
