import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type ChatEvent, chatStream } from '../../../domain/chat/chat-stream.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { maxJsonDepth, maxParsedDepth } from '../../../domain/shared/limits.ts';
import { andThen, seal } from '../../../domain/shared/stream-machine.ts';
import { sseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { aChatScript, anEditedChunkText } from '../../support/arbitraries/chat-streams.ts';
import { outputsOf } from '../../support/machine-laws.ts';
import { eventsOf, failure, machine, sanitise, text, usage } from './chat-stream-told.ts';

/** The one chunk that this data is parsed to. */
const chunkOf = (data: string): ChatEvent & { kind: 'chunk' } => {
  const [event] = eventsOf([data]);
  if (event?.kind !== 'chunk') throw new Error(`no chunk: ${JSON.stringify(event)}`);
  return event;
};

/** What the caller gets for this data: `as it came` for the unchanged frame, or the JSON that a rule rewrote. */
const sent = (data: string): string => {
  const { wire, chunk } = chunkOf(data);
  return wire === undefined ? JSON.stringify(chunk) : 'as it came';
};

describe('choices[*].usage is promoted to top-level usage when top-level is absent', () => {
  it.each([
    [
      'it is moved, not copied',
      '{"choices":[{"index":0,"usage":{"a":1}}]}',
      '{"choices":[{"index":0}],"usage":{"a":1}}',
    ],
    [
      'a top-level null counts as absent',
      '{"usage":null,"choices":[{"usage":{"a":1}}]}',
      '{"usage":{"a":1},"choices":[{}]}',
    ],
    [
      'of several choices the first non-null usage counts',
      '{"choices":[{"index":0,"usage":null},{"index":1,"usage":{"a":1}},{"index":2,"usage":{"a":2}}]}',
      '{"choices":[{"index":0},{"index":1},{"index":2}],"usage":{"a":1}}',
    ],
    ['a usage of any type is moved', '{"choices":[{"usage":7}]}', '{"choices":[{}],"usage":7}'],
    [
      'with the finish reason',
      '{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":1}}]}',
      '{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}',
    ],
    [
      'an element that is not a choice stays in its position',
      '{"choices":[null,{"index":1,"usage":{"a":1}},7]}',
      '{"choices":[null,{"index":1},7],"usage":{"a":1}}',
    ],
  ])('%s', (_, data, out) => {
    expect(sent(data)).toBe(out);
  });

  it.each([
    ['top-level usage exists', '{"choices":[{"usage":{"a":1}}],"usage":{"a":2}}'],
    ['no choice has usage', '{"choices":[{"index":0,"delta":{"content":"a"}}]}'],
    ['every choice has a usage of null', '{"choices":[{"usage":null},{"usage":null}],"usage":null}'],
    ['the final chunk has only usage', usage],
    ['there are no choices', '{"usage":{"a":1}}'],
  ])('a chunk is unchanged when %s', (_, data) => {
    expect(sent(data)).toBe('as it came');
  });
});

describe('delta.reasoning_content and delta.reasoning_text map to delta.reasoning when no canonical field exists', () => {
  const delta = (fields: string): string => `{"choices":[{"index":0,"delta":{${fields}}}]}`;

  it.each([
    [
      'reasoning_content',
      '"role":"assistant","reasoning_content":"hm"',
      '"role":"assistant","reasoning":"hm"',
    ],
    ['reasoning_text', '"reasoning_text":"hm"', '"reasoning":"hm"'],
    ['an empty text', '"reasoning_content":""', '"reasoning":""'],
    [
      'a null canonical field counts as absent',
      '"reasoning":null,"reasoning_content":"hm"',
      '"reasoning":"hm"',
    ],
    [
      'of two fields the first is moved',
      '"reasoning_text":"b","reasoning_content":"a"',
      '"reasoning_text":"b","reasoning":"a"',
    ],
    [
      'of a null and a text the text is moved',
      '"reasoning_content":null,"reasoning_text":"b"',
      '"reasoning_content":null,"reasoning":"b"',
    ],
    [
      'of an empty and a non-empty text the non-empty one is moved',
      '"reasoning_content":"","reasoning_text":"b"',
      '"reasoning_content":"","reasoning":"b"',
    ],
  ])('%s', (_, fields, out) => {
    expect(sent(delta(fields))).toBe(delta(out));
  });

  it.each([
    ['the canonical field exists', '"reasoning":"a","reasoning_content":"b","reasoning_text":"c"'],
    ['the canonical field is an empty text', '"reasoning":"","reasoning_content":"b"'],
    ['both fields are null', '"reasoning_content":null,"reasoning_text":null'],
    ['the field is not a string', '"reasoning_content":{"a":1}'],
    ['there is only content', '"content":"reasoning_content"'],
  ])('a chunk is unchanged when %s', (_, fields) => {
    expect(sent(delta(fields))).toBe('as it came');
  });

  it('applies to every choice', () => {
    const data =
      '{"choices":[{"delta":{"reasoning_content":"a"}},{"delta":{"content":"b"}},{"delta":{"reasoning_text":"c"}},{}]}';
    expect(sent(data)).toBe(
      '{"choices":[{"delta":{"reasoning":"a"}},{"delta":{"content":"b"}},{"delta":{"reasoning":"c"}},{}]}',
    );
  });

  it('does not move usage that exists at both levels', () => {
    expect(sent('{"usage":{"a":2},"choices":[{"delta":{"reasoning_text":"c"},"usage":{"a":1}}]}')).toBe(
      '{"usage":{"a":2},"choices":[{"delta":{"reasoning":"c"},"usage":{"a":1}}]}',
    );
  });

  it('applies together with the promotion of usage', () => {
    expect(sent('{"choices":[{"delta":{"reasoning_text":"c"},"usage":{"a":1}}]}')).toBe(
      '{"choices":[{"delta":{"reasoning":"c"}}],"usage":{"a":1}}',
    );
  });
});

describe('native reasoning is never placed in delta.content', () => {
  const delta = (fields: string): string => `{"choices":[{"delta":{${fields}}}]}`;
  const thinking = '{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}';
  const redacted = '{"type":"redacted_thinking","data":"x"}';

  it.each([
    [
      'a thinking part is kept under provider_metadata.compat.reasoning, the rest becomes text',
      `"content":[${thinking},{"type":"text","text":"a"},{"type":"text","text":"b"}]`,
      `"content":"ab","provider_metadata":{"compat":{"reasoning":[${thinking}]}}`,
    ],
    [
      'a thinking part alone',
      `"role":"assistant","content":[${thinking}]`,
      `"role":"assistant","content":"","provider_metadata":{"compat":{"reasoning":[${thinking}]}}`,
    ],
    [
      'a summary of reasoning',
      '"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}]',
      '"content":"","provider_metadata":{"compat":{"reasoning":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}]}}',
    ],
    [
      'several parts, in order',
      `"content":[${redacted},{"type":"text","text":"a"},${thinking}]`,
      `"content":"a","provider_metadata":{"compat":{"reasoning":[${redacted},${thinking}]}}`,
    ],
    [
      'a part that is not text keeps the array',
      `"content":[${thinking},{"type":"image_url","image_url":{"url":"u"}},"x",null]`,
      `"content":[{"type":"image_url","image_url":{"url":"u"}},"x",null],"provider_metadata":{"compat":{"reasoning":[${thinking}]}}`,
    ],
    [
      'a part of another type that has a text too',
      `"content":[${thinking},{"type":"refusal","text":"a"}]`,
      `"content":[{"type":"refusal","text":"a"}],"provider_metadata":{"compat":{"reasoning":[${thinking}]}}`,
    ],
    [
      'existing metadata is kept',
      `"provider_metadata":{"compat":{"a":1},"other":{"b":2}},"content":[${thinking}]`,
      `"provider_metadata":{"compat":{"a":1,"reasoning":[${thinking}]},"other":{"b":2}},"content":""`,
    ],
  ])('%s', (_, fields, out) => {
    expect(sent(delta(fields))).toBe(delta(out));
  });

  it('is kept under the namespace of the upstream', () => {
    const other = andThen(sseFrames, seal(chatStream({ namespace: 'cloud_b_platform', sanitise })));
    const [event] = outputsOf(other, [Buffer.from(`data: ${delta(`"content":[${thinking}]`)}\n\n`)]);
    expect(event).toMatchObject({
      chunk: {
        choices: [
          { delta: { provider_metadata: { cloud_b_platform: { reasoning: [{ type: 'thinking' }] } } } },
        ],
      },
    });
  });

  it('nor in the content of a message that is sent whole in a stream', () => {
    const message = (fields: string): string => `{"choices":[{"index":0,"message":{${fields}}}]}`;
    expect(sent(message(`"content":[${thinking},{"type":"text","text":"a"}]`))).toBe(
      message(`"content":"a","provider_metadata":{"compat":{"reasoning":[${thinking}]}}`),
    );
  });

  it.each([
    ['"content":"thinking"'],
    ['"content":[{"type":"text","text":"a"}]'],
    ['"content":null'],
    ['"content":[]'],
  ])('content without reasoning is unchanged: %s', (fields) => {
    expect(sent(delta(fields))).toBe('as it came');
  });
});

describe('a frame that no rule changed is forwarded byte for byte', () => {
  it.each([
    ['CRLF', `data: ${text}\r\n\r\n`],
    ['no space', `data:${text}\n\n`],
    ['a name, an id and a comment', `: c\nevent: message\nid: 4\ndata: ${text}\n\n`],
    ['several lines of data', 'data: {"choices":\ndata: []}\n\n'],
    ['blanks and digits', 'data: { "choices" : [ ] , "n" : 9007199254740993 , "m":0.10,"o":1e400}\n\n'],
  ])('%s', (_, bytes) => {
    const [event] = outputsOf(machine, [Buffer.from(bytes)]);
    expect(event).toMatchObject({ kind: 'chunk', wire: Buffer.from(bytes) });
  });

  it('and any other frame is a rewritten chunk without reasoning_content and reasoning_text', () => {
    fc.assert(
      fc.property(aChatScript, ({ bytes }) => {
        for (const event of outputsOf(machine, [bytes])) {
          if (event.kind !== 'chunk') continue;
          if (event.wire === undefined)
            expect(JSON.stringify(event.chunk)).not.toMatch(/reasoning_(content|text)/);
          else expect(bytes.includes(Buffer.from(event.wire))).toBe(true);
        }
      }),
    );
  });
});

describe('a frame that a rule edits', () => {
  it('keeps every digit of every number', () => {
    expect(
      sent(
        '{"choices":[{"delta":{"reasoning_content":"x"}}],"a":9007199254740993,"b":[0.10,{"c":1e400}],"d":-0}',
      ),
    ).toBe('{"choices":[{"delta":{"reasoning":"x"}}],"a":9007199254740993,"b":[0.10,{"c":1e400}],"d":-0}');
    expect(sent('{"choices":[{"usage":{"cost":0.0010,"prompt_tokens":12.0}}]}')).toBe(
      '{"choices":[{}],"usage":{"cost":0.0010,"prompt_tokens":12.0}}',
    );
  });

  it('is changed only as the rule says', () => {
    fc.assert(
      fc.property(anEditedChunkText, (data) => {
        const moved = data.replace('"reasoning_content":"hm",', '').replace(/(\}\}\],"y":)/, '$1');
        const out = JSON.parse(sent(data)) as JsonObject;
        const [choice] = out['choices'] as readonly JsonObject[];
        const { reasoning, ...rest } = choice!['delta'] as JsonObject;
        expect(reasoning).toBe('hm');
        expect({ ...out, choices: [{ ...choice, delta: rest }] }).toEqual(JSON.parse(moved));
      }),
    );
  });

  it('keeps every number in its original notation', () => {
    fc.assert(
      fc.property(anEditedChunkText, (data) => {
        const expected = data
          .replace('"reasoning_content":"hm",', '')
          .replace('}}],"y":', ',"reasoning":"hm"}}],"y":');
        const numbers = (json: string): readonly string[] =>
          json.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g) ?? [];
        expect(numbers(sent(data))).toEqual(numbers(expected));
      }),
    );
  });

  it.each([[maxJsonDepth - 1], [maxJsonDepth]])(
    'is a failure when it nests too deeply to be rewritten: %d levels inside',
    (levels) => {
      const data = `{"choices":[{"delta":{"reasoning_content":"x"}}],"n":0.10,"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
      expect(eventsOf([data])[0]).toEqual(
        levels < maxJsonDepth
          ? expect.objectContaining({ kind: 'chunk' })
          : failure('The upstream sent an event that is nested too deeply.'),
      );
    },
  );

  it('is a failure, not an exception, at any depth of nesting', () => {
    const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    for (const [levels, message] of [
      [maxParsedDepth - 10, 'The upstream sent an event that is nested too deeply.'],
      [200_000, 'The upstream sent a malformed event.'],
    ] as const)
      for (const data of [
        `{"choices":[{"delta":{"reasoning_content":"x"}}],"n":0.10,"a":${deep(levels)}}`,
        `{"choices":[{"delta":{"content":[{"type":"thinking","a":${deep(levels)}}]}}]}`,
        `{"choices":[{"usage":${deep(levels)}}]}`,
      ])
        expect(eventsOf([data])).toEqual([failure(message)]);
    expect(sent(`{"choices":[],"a":${deep(maxParsedDepth - 1)}}`)).toBe('as it came');
  });
});
