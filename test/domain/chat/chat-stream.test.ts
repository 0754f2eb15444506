import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ChatEvent } from '../../../domain/chat/chat-stream.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { maxStreamEventBytes } from '../../../domain/shared/limits.ts';
import { andThen, type Ending } from '../../../domain/shared/stream-machine.ts';
import { reportingSseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { aChatScript } from '../../support/arbitraries/chat-streams.ts';
import { eventStreamSoup } from '../../support/arbitraries/event-streams.ts';
import { describeMachineLaws, outputsOf } from '../../support/machine-laws.ts';
import { chatMachine, eventsOf, failure, machine, sanitise, text, usage } from './chat-stream-told.ts';

/** A failure that the upstream reported, with the chunk that reported it. */
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
const finish = '{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
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
    ['a finish reason and EOF', [text, finish], 2],
    ['a finish reason, usage and EOF', [text, finish, usage], 3],
    ['[DONE] without a finish reason', [text, '[DONE]'], 1],
    ['[DONE] alone', ['[DONE]'], 0],
    ['[DONE] with blanks around it', [text, ' [DONE] '], 1],
    ['[DONE] twice', [text, finish, '[DONE]', '[DONE]'], 2],
    ['data after [DONE]', [text, finish, '[DONE]', text, error], 2],
    ['two finish reasons and EOF', [text, finish, finish], 3],
    [
      'a finish reason of one of several choices',
      ['{"choices":[{"index":0},{"index":1,"finish_reason":"length"}]}'],
      1,
    ],
    ['an unknown finish reason', ['{"choices":[{"finish_reason":"eos"}]}'], 1],
  ])('%s', (_, data, chunks) => {
    expect(endOf(data)).toEqual([chunks, done]);
  });

  it.each<[string, readonly string[], number]>([
    ['an empty stream', [], 0],
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
    ['[DONE] in a content text', ['{"choices":[{"delta":{"content":"[DONE]"}}]}'], 1],
  ])('EOF before terminal semantics is a failure without [DONE]: %s', (_, data, chunks) => {
    expect(endOf(data)).toEqual([chunks, cutShort]);
  });

  it('marks the chunk with the finish reason as terminal', () => {
    const events = eventsOf([text, finish, usage]);
    expect(events.map((event) => event.kind === 'chunk' && event.terminal)).toEqual([
      false,
      true,
      false,
      false,
    ]);
  });
});

describe('an answer with several choices', () => {
  const choice = (index: number, finish: string | null = null, delta: object | undefined = {}): object => ({
    index,
    delta,
    finish_reason: finish,
  });
  const chunk = (...choices: readonly object[]): string => JSON.stringify({ id: 'c1', choices });
  const signsOf = (...data: readonly string[]): readonly string[] =>
    eventsOf(data).map((event) => {
      if (event.kind !== 'chunk') return event.kind;
      return event.terminal ? 'complete' : event.reopens === true ? 'goes on' : 'under way';
    });

  it.each<[string, readonly string[], readonly string[]]>([
    [
      'that are interleaved',
      [
        chunk(choice(0)),
        chunk(choice(1)),
        chunk(choice(0, 'stop')),
        chunk(choice(1)),
        chunk(choice(1, 'length')),
      ],
      ['under way', 'under way', 'under way', 'under way', 'complete'],
    ],
    [
      'that start in one chunk',
      [chunk(choice(0), choice(1)), chunk(choice(1, 'stop')), chunk(choice(0, 'stop'))],
      ['under way', 'under way', 'complete'],
    ],
    [
      'that finish in one chunk',
      [chunk(choice(0), choice(1)), chunk(choice(0, 'stop'), choice(1, 'stop')), usage],
      ['under way', 'complete', 'under way'],
    ],
    [
      'that come one after another',
      [chunk(choice(0, 'stop')), chunk(choice(1)), chunk(choice(1)), chunk(choice(1, 'stop'))],
      ['complete', 'goes on', 'under way', 'complete'],
    ],
    [
      'of which the second is one whole chunk',
      [chunk(choice(0, 'stop')), chunk(choice(1, 'stop'))],
      ['complete', 'complete'],
    ],
    [
      'of which one has an empty delta after its finish reason',
      [chunk(choice(0, 'stop')), chunk(choice(0)), chunk(choice(0, 'stop'))],
      ['complete', 'under way', 'complete'],
    ],
    [
      'of which one has only empty fields after its finish reason',
      [
        chunk(choice(0, 'stop', { content: 'a' })),
        chunk(choice(0, null, { role: 'assistant', content: '', reasoning: null, tool_calls: [] })),
      ],
      ['complete', 'under way'],
    ],
    [
      'of which one continues after each finish reason',
      [
        chunk(choice(0, 'stop')),
        chunk(choice(0, null, { reasoning_content: 'a' })),
        chunk(choice(0, 'stop')),
        chunk(choice(0, null, { tool_calls: [{ index: 0 }] })),
        chunk(choice(0, 'tool_calls')),
        chunk(choice(0, null, { refusal: 'a' })),
        chunk(choice(0, 'stop')),
      ],
      ['complete', 'goes on', 'complete', 'goes on', 'complete', 'goes on', 'complete'],
    ],
    [
      'of which the first has no index in one chunk',
      [chunk({ delta: {} }), chunk(choice(1, 'stop')), chunk(choice(0, 'stop'))],
      ['under way', 'under way', 'complete'],
    ],
  ])('is complete when every choice seen so far has finished: %s', (_, data, signs) => {
    expect(signsOf(...data)).toEqual([...signs, 'done']);
  });

  it('reopens with each chunk that has content, even if each has a finish reason', () => {
    const piece = chunk(choice(0, 'stop', { content: 'a' }));
    const signs = eventsOf([piece, piece, piece]).map(
      (event) => event.kind === 'chunk' && [event.terminal, event.reopens === true],
    );
    expect(signs).toEqual([[true, false], [true, true], [true, true], false]);
  });

  it('tracks at most 128 choices, and does not wait for the others', () => {
    const many = Array.from({ length: 200 }, (_, index) => choice(index));
    const ends = Array.from({ length: 128 }, (_, index) => choice(index, 'stop'));
    expect(signsOf(chunk(...many), chunk(...ends))).toEqual(['under way', 'complete', 'done']);
    expect(signsOf(chunk(...ends), chunk(choice(128)))).toEqual(['complete', 'under way', 'done']);
  });
});

describe('malformed streams and top-level errors are one failure, with no [DONE] afterward', () => {
  it.each([
    ['cut JSON', '{"choices":['],
    ['HTML', '<html><body>Bad Gateway</body></html>'],
    ['plain text', 'ok'],
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
    [
      'an object `error` without an envelope',
      '{"object":"error","message":"m","type":"BadRequestError","code":400}',
      'm',
    ],
    ['a type `error` and a message', '{"type":"error","message":"m"}', 'm'],
    ['a type `error` beside choices', '{"type":"error","message":"m","choices":[{"delta":{}}]}', 'm'],
    ['a code and a message', '{"code":50505,"message":"overloaded","data":null}', 'overloaded'],
    ['a `detail`', '{"detail":"gone"}', 'gone'],
    [
      'a list of errors',
      '{"errors":[{"message":"boom hunter2","code":7003}],"success":false,"result":null}',
      'boom [REDACTED]',
    ],
    [
      'a numeric `error_code` and a text',
      '{"text":"CUDA out of memory","error_code":50002}',
      'CUDA out of memory',
    ],
    ['an `error_code` and a message', '{"error_code":"INTERNAL ERROR","message":"boom"}', 'boom'],
    ['a message alone', '{"message":"Internal Server Error"}', 'Internal Server Error'],
    [
      'a message and the type of an error',
      '{"message":"m","type":"server_error","param":null,"code":null}',
      'm',
    ],
    [
      'a failed status in `base_resp`',
      '{"choices":[],"base_resp":{"status_code":1008,"status_msg":"no balance"}}',
      'no balance',
    ],
  ])('a top-level error keeps the sanitised message of the upstream: %s', (_, data, message) => {
    expect(eventsOf([text, data, finish, '[DONE]']).slice(1)).toEqual([told(message, data)]);
  });

  it('an error in a list keeps it too, as Google’s chat API writes its errors', () => {
    const data = '[{"error":{"code":503,"message":"overloaded hunter2","status":"UNAVAILABLE"}}]';
    expect(eventsOf([text, data, finish, '[DONE]']).slice(1)).toMatchObject([
      failure('overloaded [REDACTED]'),
    ]);
  });

  it.each([
    [
      'in a choice',
      '{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"m hunter2"}}]}',
      'm [REDACTED]',
    ],
    [
      'in a choice, without a message',
      '{"choices":[{"delta":{},"error":{"code":1}}]}',
      'The upstream reported an error.',
    ],
    [
      'in a choice with finish reason `error`, empty',
      '{"choices":[{"delta":{},"finish_reason":"error","error":{}}]}',
      'The upstream reported an error.',
    ],
    [
      'in a choice with finish reason `error`, as a string',
      '{"choices":[{"delta":{},"finish_reason":"error","error":"boom hunter2"}]}',
      'boom [REDACTED]',
    ],
    ['in another choice', '{"choices":[null,{"delta":{}},{"index":1,"error":{"message":"m"}}]}', 'm'],
    [
      'as the reason in x_groq',
      '{"choices":[],"x_groq":{"id":"r","error":"over_capacity"}}',
      'over_capacity',
    ],
  ])('an error below the top level is a failure too: %s', (_, data, message) => {
    expect(eventsOf([text, data, finish, '[DONE]']).slice(1)).toEqual([told(message, data)]);
  });

  it.each([
    ['{"choices":[],"error":null}'],
    ['{"choices":[{"index":0,"error":null},{"index":0,"error":""}],"x_groq":{"id":"r","error":null}}'],
    ...['""', '{}', 'false', '[]', '{"code":null,"message":""}'].flatMap((empty) => [
      [`{"choices":[{"index":0,"delta":{}}],"error":${empty}}`],
      [`{"choices":[{"index":0,"delta":{},"error":${empty}}]}`],
      [`{"choices":[],"usage":{"prompt_tokens":1},"error":${empty}}`],
    ]),
    ['{"choices":[{"index":0,"error":"deprecated"}]}'],
    ['{"choices":[],"x_groq":{"error":""}}'],
    ['{"choices":[],"x_groq":"error"}'],
    ['{"choices":[],"base_resp":{"status_code":0,"status_msg":"success"}}'],
    ['{"choices":[],"base_resp":{"status_msg":"success"}}'],
    ['{"choices":[{"index":0,"delta":{}}],"base_resp":{"status_code":7,"status_msg":"m"}}'],
    ['{"choices":[],"code":7,"message":"m"}'],
    ['{"code":7}'],
    ['{"id":"c","object":"chat.completion.chunk","message":"queued"}'],
    ['{"type":"status","message":"queued"}'],
    ['{"message":"m","usage":{"prompt_tokens":1,"completion_tokens":1}}'],
    ['{"base_resp":{"status_code":0,"status_msg":"success"}}'],
    ['{"errors":[],"success":true}'],
  ])('an empty `error`, or a chunk that only resembles an error, is no failure: %s', (data) => {
    expect(endOf([data, finish])).toEqual([2, done]);
  });

  it.each([
    ['event: error\ndata: {"message":"gone"}\n\n', 'gone'],
    ['data: {"message":"gone"}\nevent: error\n\n', 'gone'],
    ['event: error\ndata: {}\n\n', 'The upstream reported an error.'],
  ])('an event named `error` is a failure: %j', (bytes, message) => {
    const data = /data: (.*)/.exec(bytes)?.[1] ?? '';
    expect(outputsOf(machine, [Buffer.from(bytes)])).toEqual([told(message, data)]);
  });

  it('an event over the size limit is a failure', () => {
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
    ['EOF', [text, finish], { kind: 'eof' }, 2],
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
  ])('a truncated last frame is ignored, and the stream is a success: %j', (cut) => {
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

  it('an `error` outside of SSE events is a failure, also before [DONE], but a plain message is not', () => {
    const told = andThen(reportingSseFrames(sanitise), chatMachine);
    const endOf = (beside: string, ending: Ending) =>
      outputsOf(told, [Buffer.from(`data: ${text}\n\ndata: ${finish}\n\n${beside}`)], ending).slice(2);
    for (const ending of [{ kind: 'eof' } as const, reset]) {
      for (const beside of [error, `${error}\n\n`, `error: ${error}\n\ndata: [DONE]\n\n`])
        expect(endOf(beside, ending)).toMatchObject([failure('Provider returned error')]);
      expect(endOf('{"message":"Good bye."}\n\n', ending)).toEqual([done]);
    }
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
  it('a reset is a failure with its reason', () => {
    expect(endOf([text], reset)).toEqual([1, broken]);
  });

  it('a timeout is a failure with status 504', () => {
    const late: Ending = { kind: 'fault', reason: 'The upstream went silent for too long.', status: 504 };
    expect(endOf([text], late)).toEqual([1, failure('The upstream went silent for too long.', 504)]);
  });

  it.each([[`data: ${finish}`], [`data: ${finish}\n`], ['data: [DONE]'], ['data: [DONE]\n']])(
    'a truncated last frame is ignored, and the stream is a failure: %j',
    (cut) => {
      expect(outputsOf(machine, [Buffer.from(`data: ${text}\n\n${cut}`)]).slice(1)).toEqual([cutShort]);
    },
  );
});

describe('a stream that ends at any byte', () => {
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
  ])(
    'by %s is exactly one failure without [DONE], or one [DONE] after a finish reason',
    (_, ending, failed) => {
      for (let size = 0; size <= stream.length; size += 1) {
        const events = outputsOf(machine, [stream.subarray(0, size)], ending);
        expect(events.filter(({ kind }) => kind !== 'chunk')).toEqual([size < finishedAt ? failed : done]);
      }
    },
  );
});

describe('frames without data', () => {
  it.each([
    ['a comment', ': ping\n\n'],
    ['an empty event', 'data:\n\n'],
    ['a name without data', 'event: ping\n\n'],
    ['an id', 'id: 1\n\n'],
    ['blank lines', '\n\n\n\n'],
  ])('are ignored: %s', (_, block) => {
    const bytes = Buffer.from(`${block}data: ${text}\n\n${block}data: ${finish}\n\n${block}`);
    expect(outputsOf(machine, [bytes]).map(({ kind }) => kind)).toEqual(['chunk', 'chunk', 'done']);
  });
});

describe('for any upstream stream', () => {
  /** The specification's rules, as a plain loop over the frames sent. */
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

  it('the events are its chunks, then exactly one [DONE] or failure', () => {
    fc.assert(
      fc.property(aChatScript, fc.boolean(), ({ items, bytes }, faulty) => {
        const kinds = outputsOf(machine, [bytes], faulty ? reset : { kind: 'eof' }).map(({ kind }) => kind);
        expect(kinds).toEqual(expected(items.map(({ means }) => means)));
      }),
      { numRuns: 500 },
    );
  });

  it('an error message of the upstream is always sanitised', () => {
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
