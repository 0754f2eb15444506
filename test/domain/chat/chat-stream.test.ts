import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type ChatEvent, chatStream } from '../../../domain/chat/chat-stream.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { maxJsonDepth, maxStreamEventBytes } from '../../../domain/shared/limits.ts';
import { andThen, type Ending, seal } from '../../../domain/shared/stream-machine.ts';
import { sseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { aChatScript, anEditedChunkText } from '../../support/arbitraries/chat-streams.ts';
import { eventStreamSoup } from '../../support/arbitraries/event-streams.ts';
import { describeMachineLaws, outputsOf } from '../../support/machine-laws.ts';

const sanitise = (message: string): string => message.replaceAll('hunter2', '[REDACTED]');
const machine = andThen(sseFrames, seal(chatStream({ namespace: 'compat', sanitise })));

const failure = (message: string, status = 502): ChatEvent & { kind: 'failed' } => ({
  kind: 'failed',
  error: { code: 'upstream_error', message, upstream: { status } },
});
/** A failure that the upstream itself told, with the chunk that told it. */
const told = (message: string, data: string): ChatEvent => ({
  ...failure(message),
  chunk: JSON.parse(data) as JsonObject,
});
const done: ChatEvent = { kind: 'done' };
const malformed = failure('The upstream sent a malformed event.');
const cutShort = failure('The upstream ended its stream before the answer was complete.');
const reset: Ending = { kind: 'fault', reason: 'The connection to the upstream broke.' };
const broken = failure('The connection to the upstream broke.');

describeMachineLaws('sseFrames, then chatStream', {
  machine,
  streams: fc.oneof(
    aChatScript.map(({ bytes }) => bytes),
    eventStreamSoup,
  ),
  isTerminal: ({ kind }) => kind !== 'chunk',
  endless: {
    piece: Buffer.alloc(1024 * 1024, 'data: {"choices":'),
    pushes: 2 * (maxStreamEventBytes / (1024 * 1024)),
    outputs: [failure('The upstream sent an event that is too large.')],
  },
});

/** The events of a stream whose data are these texts. */
const eventsOf = (data: readonly string[], ending?: Ending): readonly ChatEvent[] =>
  outputsOf(machine, [Buffer.from(data.map((each) => `data: ${each}\n\n`).join(''))], ending);

const text = '{"id":"c1","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}';
const finish = '{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
const usage = '{"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}';
const error = '{"error":{"message":"Provider returned error","code":502}}';

/** The last event of a stream, and how many chunks came before it. */
const endOf = (data: readonly string[], ending?: Ending) => {
  const events = eventsOf(data, ending);
  expect(events.slice(0, -1).every(({ kind }) => kind === 'chunk')).toBe(true);
  return [events.length - 1, events.at(-1)];
};

describe('one final [DONE] is appended only after an upstream [DONE] or a chunk with non-empty finish_reason', () => {
  it.each<[string, readonly string[], number]>([
    ['a finish reason, usage and [DONE]', [text, finish, usage, '[DONE]'], 3],
    ['a finish reason and [DONE]', [text, finish, '[DONE]'], 2],
    ['a finish reason and the end', [text, finish], 2],
    ['a finish reason, usage and the end', [text, finish, usage], 3],
    ['[DONE] without a finish reason', [text, '[DONE]'], 1],
    ['[DONE] alone', ['[DONE]'], 0],
    ['[DONE] with blanks around it', [text, ' [DONE] '], 1],
    ['[DONE] twice', [text, finish, '[DONE]', '[DONE]'], 2],
    ['data after [DONE]', [text, finish, '[DONE]', text, error], 2],
    ['two finish reasons and the end', [text, finish, finish], 3],
    [
      'a finish reason of one of several choices',
      ['{"choices":[{"index":0},{"index":1,"finish_reason":"length"}]}'],
      1,
    ],
    ['a finish reason that nobody knows', ['{"choices":[{"finish_reason":"eos"}]}'], 1],
  ])('%s', (_, data, chunks) => {
    expect(endOf(data)).toEqual([chunks, done]);
  });

  it.each<[string, readonly string[], number]>([
    ['nothing at all', [], 0],
    ['text', [text], 1],
    ['text and usage', [text, usage], 2],
    ['an empty finish reason', ['{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}'], 1],
    ['a finish reason of null', ['{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}'], 1],
    [
      'a finish reason that is no string',
      ['{"choices":[{"finish_reason":true}]}', '{"choices":[{"finish_reason":1}]}'],
      2,
    ],
    ['a finish reason outside of the choices', ['{"choices":[],"finish_reason":"stop"}'], 1],
    ['a finish reason in a delta', ['{"choices":[{"delta":{"finish_reason":"stop"}}]}'], 1],
    ['choices that are no array', ['{"choices":{"finish_reason":"stop"}}'], 1],
    ['a word like [DONE] in a text', ['{"choices":[{"delta":{"content":"[DONE]"}}]}'], 1],
  ])('EOF before terminal semantics is a failure without [DONE]: %s', (_, data, chunks) => {
    expect(endOf(data)).toEqual([chunks, cutShort]);
  });

  it('says which chunks are terminal', () => {
    const events = eventsOf([text, finish, usage]);
    expect(events.map((event) => event.kind === 'chunk' && event.terminal)).toEqual([
      false,
      true,
      false,
      false,
    ]);
  });
});

describe('malformed streams and top-level errors are one failure, with no [DONE] afterward', () => {
  it.each([
    ['cut JSON', '{"choices":['],
    ['HTML', '<html><body>Bad Gateway</body></html>'],
    ['a word', 'ok'],
    ['an array', '[{"choices":[]}]'],
    ['a number', '1'],
    ['null', 'null'],
    ['a string', '"text"'],
    ['two objects', '{} {}'],
    ['a lower-case [done]', '[done]'],
  ])('%s', (_, data) => {
    expect(eventsOf([data, text, finish, '[DONE]'])).toEqual([malformed]);
  });

  it.each([
    ['an object', error, 'Provider returned error'],
    ['a string', '{"error":"overloaded"}', 'overloaded'],
    ['a message beside it', '{"error":{"code":1},"message":"quota"}', 'quota'],
    ['an object without a message', '{"error":{"code":500}}', 'The upstream reported an error.'],
    [
      'an error beside choices',
      '{"choices":[{"delta":{},"finish_reason":"error"}],"error":{"message":"m"}}',
      'm',
    ],
    ['a secret', '{"error":{"message":"bad key hunter2"}}', 'bad key [REDACTED]'],
  ])('a top-level error keeps the sanitised message of the upstream: %s', (_, data, message) => {
    expect(eventsOf([text, data, finish, '[DONE]']).slice(1)).toEqual([told(message, data)]);
  });

  it('an `error` of null is none', () => {
    expect(endOf(['{"choices":[],"error":null}', finish])).toEqual([2, done]);
  });

  it.each([
    ['event: error\ndata: {"message":"gone"}\n\n', 'gone'],
    ['data: {"message":"gone"}\nevent: error\n\n', 'gone'],
    ['event: error\ndata: {}\n\n', 'The upstream reported an error.'],
  ])('an event named `error` is one: %j', (bytes, message) => {
    const data = /data: (.*)/.exec(bytes)?.[1] ?? '';
    expect(outputsOf(machine, [Buffer.from(bytes)])).toEqual([told(message, data)]);
  });

  it('an event over the bound is a failure', () => {
    const big = Buffer.concat([
      Buffer.from(`data: ${text}\n\ndata: `),
      Buffer.alloc(maxStreamEventBytes, 'a'),
    ]);
    expect(outputsOf(machine, [big, Buffer.from(`\n\ndata: ${finish}\n\n`)]).slice(1)).toEqual([
      failure('The upstream sent an event that is too large.'),
    ]);
  });
});

describe('after a finish_reason', () => {
  it.each<[string, readonly string[], Ending, number]>([
    ['the end', [text, finish], { kind: 'eof' }, 2],
    ['a reset', [text, finish], reset, 2],
    ['a reset after usage', [text, finish, usage], reset, 3],
  ])('%s is a success with the usage seen so far', (_, data, ending, chunks) => {
    expect(endOf(data, ending)).toEqual([chunks, done]);
  });

  it.each([
    ['data: {"choices":[],"usage":{"prompt_tok'],
    [`data: ${usage}`],
    [`data: ${usage}\n`],
    ['data: {"error":{"message":"cut"}}\n'],
    ['data: {"cho\n'],
    [': comm'],
  ])('a cut last frame is a success: %j', (cut) => {
    const bytes = Buffer.from(`data: ${text}\n\ndata: ${finish}\n\n${cut}`);
    for (const ending of [{ kind: 'eof' } as const, reset]) {
      const events = outputsOf(machine, [bytes], ending);
      expect(events.map(({ kind }) => kind)).toEqual(['chunk', 'chunk', 'done']);
    }
  });

  it('a complete malformed frame is a failure', () => {
    expect(endOf([text, finish, '{"choices":[', '[DONE]'])).toEqual([2, malformed]);
  });

  it('an `error` is a failure', () => {
    expect(endOf([text, finish, error, '[DONE]'])).toEqual([2, told('Provider returned error', error)]);
  });

  it('a finish reason twice, an `error` and then [DONE] are one failure', () => {
    expect(eventsOf([text, finish, finish, error, '[DONE]']).map(({ kind }) => kind)).toEqual([
      'chunk',
      'chunk',
      'chunk',
      'failed',
    ]);
  });
});

describe('before a finish_reason', () => {
  it('a reset is a failure that says what broke', () => {
    expect(endOf([text], reset)).toEqual([1, broken]);
  });

  it('a time-out is a failure with the status that it has in logs', () => {
    const late: Ending = { kind: 'fault', reason: 'The upstream went silent for too long.', status: 504 };
    expect(endOf([text], late)).toEqual([1, failure('The upstream went silent for too long.', 504)]);
  });

  it.each([[`data: ${finish}`], [`data: ${finish}\n`], ['data: [DONE]'], ['data: [DONE]\n']])(
    'a last frame that is cut counts for nothing: %j',
    (cut) => {
      expect(outputsOf(machine, [Buffer.from(`data: ${text}\n\n${cut}`)]).slice(1)).toEqual([cutShort]);
    },
  );
});

describe('the end at every byte of a stream', () => {
  const stream = Buffer.from(
    [
      ': hi',
      `data: ${text}`,
      `data: ${text.replace('Hello', 'Grüße 😀')}`,
      `data: ${finish}`,
      `data: ${usage}`,
      'data: [DONE]',
    ]
      .map((block) => `${block}\n\n`)
      .join(''),
  );
  const finishedAt = stream.indexOf(finish) + Buffer.byteLength(finish) + 2;

  it.each<[string, Ending, ChatEvent]>([
    ['EOF', { kind: 'eof' }, cutShort],
    ['a reset', reset, broken],
  ])('%s gives exactly one failure and no [DONE] unless a terminal was seen', (_, ending, failed) => {
    for (let size = 0; size <= stream.length; size += 1) {
      const events = outputsOf(machine, [stream.subarray(0, size)], ending);
      expect(events.filter(({ kind }) => kind !== 'chunk')).toEqual([size < finishedAt ? failed : done]);
    }
  });
});

describe('frames without meaning', () => {
  it.each([
    ['a comment', ': ping\n\n'],
    ['an empty event', 'data:\n\n'],
    ['a name without data', 'event: ping\n\n'],
    ['an id', 'id: 1\n\n'],
    ['blank lines', '\n\n\n\n'],
  ])('are passed over: %s', (_, block) => {
    const bytes = Buffer.from(`${block}data: ${text}\n\n${block}data: ${finish}\n\n${block}`);
    expect(outputsOf(machine, [bytes]).map(({ kind }) => kind)).toEqual(['chunk', 'chunk', 'done']);
  });
});

/** The one chunk that this data makes. */
const chunkOf = (data: string): ChatEvent & { kind: 'chunk' } => {
  const [event] = eventsOf([data]);
  if (event?.kind !== 'chunk') throw new Error(`no chunk: ${JSON.stringify(event)}`);
  return event;
};

/** What goes out for this data: `as it came`, or the JSON that a rule made of it. */
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
    ['whatever it is', '{"choices":[{"usage":7}]}', '{"choices":[{}],"usage":7}'],
    [
      'with the finish reason',
      '{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":1}}]}',
      '{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}',
    ],
    [
      'what is no choice stays where it was',
      '{"choices":[null,{"index":1,"usage":{"a":1}},7]}',
      '{"choices":[null,{"index":1},7],"usage":{"a":1}}',
    ],
  ])('%s', (_, data, out) => {
    expect(sent(data)).toBe(out);
  });

  it.each([
    ['top-level usage is there', '{"choices":[{"usage":{"a":1}}],"usage":{"a":2}}'],
    ['no choice has any', '{"choices":[{"index":0,"delta":{"content":"a"}}]}'],
    ['every choice has null', '{"choices":[{"usage":null},{"usage":null}],"usage":null}'],
    ['a final usage-only chunk', usage],
    ['there are no choices', '{"usage":{"a":1}}'],
  ])('a chunk stays as it came when %s', (_, data) => {
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
      'of both the first moves',
      '"reasoning_text":"b","reasoning_content":"a"',
      '"reasoning_text":"b","reasoning":"a"',
    ],
    [
      'of a null and a text the text moves',
      '"reasoning_content":null,"reasoning_text":"b"',
      '"reasoning_content":null,"reasoning":"b"',
    ],
  ])('%s', (_, fields, out) => {
    expect(sent(delta(fields))).toBe(delta(out));
  });

  it.each([
    ['the canonical field is there', '"reasoning":"a","reasoning_content":"b","reasoning_text":"c"'],
    ['the canonical field is an empty text', '"reasoning":"","reasoning_content":"b"'],
    ['there is no text', '"reasoning_content":null,"reasoning_text":null'],
    ['it is no text', '"reasoning_content":{"a":1}'],
    ['there is only content', '"content":"reasoning_content"'],
  ])('a chunk stays as it came when %s', (_, fields) => {
    expect(sent(delta(fields))).toBe('as it came');
  });

  it('in every choice', () => {
    const data =
      '{"choices":[{"delta":{"reasoning_content":"a"}},{"delta":{"content":"b"}},{"delta":{"reasoning_text":"c"}},{}]}';
    expect(sent(data)).toBe(
      '{"choices":[{"delta":{"reasoning":"a"}},{"delta":{"content":"b"}},{"delta":{"reasoning":"c"}},{}]}',
    );
  });

  it('and usage at both places stays where it is', () => {
    expect(sent('{"usage":{"a":2},"choices":[{"delta":{"reasoning_text":"c"},"usage":{"a":1}}]}')).toBe(
      '{"usage":{"a":2},"choices":[{"delta":{"reasoning":"c"},"usage":{"a":1}}]}',
    );
  });

  it('together with usage that is promoted', () => {
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
      'several parts, in order',
      `"content":[${redacted},{"type":"text","text":"a"},${thinking}]`,
      `"content":"a","provider_metadata":{"compat":{"reasoning":[${redacted},${thinking}]}}`,
    ],
    [
      'a part that is no text keeps the array',
      `"content":[${thinking},{"type":"image_url","image_url":{"url":"u"}},"x"]`,
      `"content":[{"type":"image_url","image_url":{"url":"u"}},"x"],"provider_metadata":{"compat":{"reasoning":[${thinking}]}}`,
    ],
    [
      'a part of another type that has a text too',
      `"content":[${thinking},{"type":"refusal","text":"a"}]`,
      `"content":[{"type":"refusal","text":"a"}],"provider_metadata":{"compat":{"reasoning":[${thinking}]}}`,
    ],
    [
      'metadata that is there already stays',
      `"provider_metadata":{"compat":{"a":1},"other":{"b":2}},"content":[${thinking}]`,
      `"provider_metadata":{"compat":{"a":1,"reasoning":[${thinking}]},"other":{"b":2}},"content":""`,
    ],
  ])('%s', (_, fields, out) => {
    expect(sent(delta(fields))).toBe(delta(out));
  });

  it('under the namespace of the upstream that speaks', () => {
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

  it.each([
    ['"content":"thinking"'],
    ['"content":[{"type":"text","text":"a"}]'],
    ['"content":null'],
    ['"content":[]'],
  ])('content without any stays as it came: %s', (fields) => {
    expect(sent(delta(fields))).toBe('as it came');
  });
});

describe('a frame that no rule touched is forwarded as the bytes that came in', () => {
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

  it('and a frame that a rule touched is not', () => {
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

  it('is changed in nothing but what the rule says', () => {
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

  it('gives every number back as it came', () => {
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
    'is a failure when it nests too deeply to be rebuilt: %d levels inside',
    (levels) => {
      const data = `{"choices":[{"delta":{"reasoning_content":"x"}}],"n":0.10,"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
      expect(eventsOf([data])[0]).toEqual(
        levels < maxJsonDepth
          ? expect.objectContaining({ kind: 'chunk' })
          : failure('The upstream sent an event that is nested too deeply.'),
      );
    },
  );

  it('never throws, however deeply the frame nests', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    for (const data of [
      `{"choices":[{"delta":{"reasoning_content":"x"}}],"n":0.10,"a":${deep}}`,
      `{"choices":[{"delta":{"content":[{"type":"thinking","a":${deep}}]}}]}`,
      `{"choices":[{"usage":${deep}}]}`,
    ])
      expect(eventsOf([data])).toEqual([failure('The upstream sent an event that is nested too deeply.')]);
    expect(sent(`{"choices":[],"a":${deep}}`)).toBe('as it came');
  });
});

describe('whatever an upstream sends', () => {
  /** The specification's rules, as a plain loop over what was sent. */
  const expected = (means: readonly string[]): readonly string[] => {
    const kinds: string[] = [];
    let finished = false;
    for (const each of means) {
      if (each === 'nothing') continue;
      if (each === 'done' || each === 'failed') return [...kinds, each];
      finished ||= each === 'terminal';
      kinds.push('chunk');
    }
    return [...kinds, finished ? 'done' : 'failed'];
  };

  it('the stream is its chunks and then one of [DONE] and a failure, as the rules say', () => {
    fc.assert(
      fc.property(aChatScript, fc.boolean(), ({ items, bytes }, faulty) => {
        const kinds = outputsOf(machine, [bytes], faulty ? reset : { kind: 'eof' }).map(({ kind }) => kind);
        expect(kinds).toEqual(expected(items.map(({ means }) => means)));
      }),
      { numRuns: 500 },
    );
  });

  it('a message of the upstream never passes unsanitised', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const message: Json = `${before}hunter2${after}`;
        const [event] = eventsOf([JSON.stringify({ error: { message } })]);
        expect(event).toMatchObject({ kind: 'failed' });
        expect(JSON.stringify(event?.kind === 'failed' && event.error)).not.toContain('hunter2');
      }),
    );
  });
});
