import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { expectStreamFailure, expectStreamSuccess } from '../recordings/expectations.ts';
import type { UsageFacts } from '../recordings/library.ts';
import { isLoose, listOf, type Loose, readStream, type ReceivedStream } from '../recordings/received.ts';
import { type Answer, rehearsal, replayConfig } from '../recordings/rehearsal.ts';
import type { Cuts } from '../support/replay-upstream.ts';

// Kinds of streams that upstreams document, but for which there is no recording.

const { ask } = rehearsal((url, key) => replayConfig(url, key, ['generated']));

type Field = 'content' | 'reasoning' | 'reasoning_content' | 'reasoning_text' | 'refusal';
type Delta = Readonly<Record<string, unknown>>;

const chunkOf = (choices: readonly object[], more: object = {}): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'generated-1',
    choices,
    ...more,
  });
const deltaOf = (delta: Delta, finish: string | null = null, more: object = {}): string =>
  chunkOf([{ index: 0, delta, finish_reason: finish, ...more }]);

/** How events are serialized. */
interface Framing {
  readonly newline: string;
  /** The white space after the colon. */
  readonly space: string;
  /** The lines before each event. */
  readonly before: readonly string[];
}

const plain: Framing = { newline: '\n', space: ' ', before: [] };

const framed = (payloads: readonly string[], { newline, space, before }: Framing = plain): string =>
  payloads
    .map((payload) => {
      const data = payload.split('\n').map((line) => `data:${space}${line}`);
      return [...before, ...data, '', ''].join(newline);
    })
    .join('');

const sse = { 'content-type': 'text/event-stream' };

async function stream(
  payloads: readonly string[],
  framing?: Framing,
  cuts: Cuts = { kind: 'whole' },
): Promise<readonly [Answer, ReceivedStream]> {
  const body = framed(payloads, framing);
  const answer = await ask({ headers: sse, body, cuts }, { model: 'generated', stream: true });
  return [answer, readStream(answer.bytes)];
}

/** The text of one field of all deltas of a choice, in order. */
const textOf = (received: ReceivedStream, field: Field | 'function_call', index = 0): string =>
  received.chunks
    .flatMap((chunk) => listOf(chunk['choices']))
    .filter((choice) => choice['index'] === index)
    .map(({ delta }) => (isLoose(delta) ? delta[field] : undefined))
    .map((value) => (isLoose(value) ? value['arguments'] : value))
    .filter((value) => typeof value === 'string')
    .join('');

const firstDelta = (received: ReceivedStream): Loose => {
  const delta = listOf(received.chunks[0]?.['choices'])[0]?.['delta'];
  return isLoose(delta) ? delta : {};
};

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

describe('a refusal', () => {
  it('reaches the caller in its own field, with its finish reason', async () => {
    const [answer, received] = await stream([
      deltaOf({ role: 'assistant', content: '', refusal: null }),
      deltaOf({ refusal: 'I cannot ' }),
      deltaOf({ refusal: 'help with that.' }),
      deltaOf({}, 'stop'),
      chunkOf([], { usage }),
      '[DONE]',
    ]);
    expectStreamSuccess(answer, received, usage);
    expect(textOf(received, 'refusal')).toBe('I cannot help with that.');
    expect(received.choices['0']).toMatchObject({ text: '', finishReason: 'stop' });
  });
});

describe('usage inside a choice', () => {
  const inside = deltaOf({}, 'stop', { usage });

  it('is moved to the top of the chunk, and accounted', async () => {
    const [answer, received] = await stream([deltaOf({ content: 'Hi' }), inside, '[DONE]']);
    expectStreamSuccess(answer, received, usage);
    expect(received.usage).toEqual(usage);
    expect(answer.bytes.toString().match(/"usage"/g)).toHaveLength(1);
  });

  it('is moved if the top of the chunk has null', async () => {
    const choice = { index: 0, delta: {}, finish_reason: 'stop', usage };
    const [answer, received] = await stream([chunkOf([choice], { usage: null }), '[DONE]']);
    expectStreamSuccess(answer, received, usage);
    expect(received.usage).toEqual(usage);
  });

  it('is not moved if the top of the chunk has its own usage, which is the one accounted', async () => {
    const other = { ...usage, completion_tokens: 1000, total_tokens: 1011 };
    const choice = { index: 0, delta: {}, finish_reason: 'stop', usage: other };
    const [answer, received] = await stream([chunkOf([choice], { usage }), '[DONE]']);
    expectStreamSuccess(answer, received, usage);
    expect(listOf(received.chunks[0]?.['choices'])[0]?.['usage']).toEqual(other);
  });

  it('of several choices is the first one that is not null', async () => {
    const choice = (index: number, reported: object | null) => ({
      index,
      delta: {},
      finish_reason: 'stop',
      usage: reported,
    });
    const choices = [
      choice(0, null),
      choice(1, usage),
      choice(2, { prompt_tokens: 1, completion_tokens: 1 }),
    ];
    const [answer, received] = await stream([chunkOf(choices), '[DONE]']);
    expectStreamSuccess(answer, received, usage);
    expect(received.usage).toEqual(usage);
  });
});

describe('reasoning', () => {
  it.each(['reasoning_content', 'reasoning_text'] as const)(
    'in `%s` is moved to the canonical field, and nothing else of the chunk changes',
    async (field) => {
      const first = `{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":null,"${field}":"Let me "},"finish_reason":null}],"seed":9007199254740993,"t":0.10,"e":1E5}`;
      const [answer, received] = await stream([
        first,
        deltaOf({ [field]: 'think.' }),
        deltaOf({ content: '4', [field]: null }),
        deltaOf({}, 'stop'),
        '[DONE]',
      ]);
      expectStreamSuccess(answer, received, undefined);
      expect(received.choices['0']).toEqual({ finishReason: 'stop', text: '4', reasoning: 'Let me think.' });
      expect(textOf(received, field)).toBe('');
      expect(firstDelta(received)).toEqual({ role: 'assistant', content: null, reasoning: 'Let me ' });
      for (const digits of ['"seed":9007199254740993', '"t":0.10', '"e":1E5'])
        expect(received.payloads[0]).toContain(digits);
    },
  );

  it('is moved if the canonical field is null', async () => {
    const [, received] = await stream([
      deltaOf({ reasoning: null, reasoning_text: 'Hm.' }),
      deltaOf({}, 'stop'),
      '[DONE]',
    ]);
    expect(firstDelta(received)).toEqual({ reasoning: 'Hm.' });
  });

  it('in the canonical field is sent byte for byte, even if another reasoning field is present', async () => {
    const payload = deltaOf({ reasoning: 'Hm.', reasoning_content: 'Hm.' });
    const [, received] = await stream([payload, deltaOf({}, 'stop'), '[DONE]']);
    expect(received.payloads[0]).toBe(payload);
  });

  it('in parts of the content is moved to the canonical field', async () => {
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }], signature: 's' },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'text', text: 'Four' },
    ];
    const [answer, received] = await stream([
      deltaOf({ content: parts }),
      deltaOf({ content: '.' }, 'stop'),
      '[DONE]',
    ]);
    expectStreamSuccess(answer, received, undefined);
    expect(received.choices['0']).toEqual({ finishReason: 'stop', text: 'Four.', reasoning: 'Hm.' });
    expect(firstDelta(received)).toEqual({
      content: 'Four',
      provider_metadata: { compat: { reasoning: parts.slice(0, 2) } },
    });
  });
});

describe('a legacy function call', () => {
  const pieces = [
    deltaOf({ role: 'assistant', content: null, function_call: { name: 'add', arguments: '' } }),
    deltaOf({ function_call: { arguments: '{"a":' } }),
    deltaOf({ function_call: { arguments: '1}' } }),
    deltaOf({}, 'function_call'),
  ];

  it('is sent to the caller unchanged and counts as one call', async () => {
    const [answer, received] = await stream([...pieces, '[DONE]']);
    expectStreamSuccess(answer, received, undefined);
    expect(received.payloads).toEqual([...pieces, '[DONE]']);
    expect(textOf(received, 'function_call')).toBe('{"a":1}');
    expect(received.choices['0']?.finishReason).toBe('function_call');
    expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: 1 });
  });

  it('that is empty in every chunk counts as no call', async () => {
    const empty = { function_call: { name: '', arguments: '' } };
    const [answer, received] = await stream([
      deltaOf({ content: 'Hi', ...empty }),
      deltaOf(empty, 'stop'),
      '[DONE]',
    ]);
    expectStreamSuccess(answer, received, undefined);
    expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: 0 });
  });
});

describe('framing', () => {
  const payloads = [deltaOf({ content: 'Grüße, 🦊' }), deltaOf({}, 'stop'), chunkOf([], { usage }), '[DONE]'];
  const framings: [string, Framing][] = [
    ['CRLF', { ...plain, newline: '\r\n' }],
    ['CR', { ...plain, newline: '\r' }],
    ['no space after the colon', { ...plain, space: '' }],
    ['comments before each event', { ...plain, before: [': keep-alive', ':', ''] }],
    [
      'ids, retry times and unknown fields',
      { ...plain, before: ['id: 7', 'retry: 10', 'data2: x', 'field'] },
    ],
    ['an event name', { ...plain, before: ['event: message'] }],
  ];
  it.each(framings)('with %s is parsed, whole or split into single bytes', async (_name, framing) => {
    for (const cuts of [{ kind: 'whole' }, { kind: 'bytes' }] as const) {
      const [answer, received] = await stream(payloads, framing, cuts);
      expectStreamSuccess(answer, received, usage);
      expect(received.choices['0']).toMatchObject({ text: 'Grüße, 🦊', finishReason: 'stop' });
    }
  });

  it('with a payload in several data lines is parsed', async () => {
    const wide = JSON.stringify(JSON.parse(payloads[0]!), null, 2);
    const [answer, received] = await stream([wide, ...payloads.slice(1)]);
    expectStreamSuccess(answer, received, usage);
    expect(received.choices['0']?.text).toBe('Grüße, 🦊');
  });

  it('with a byte order mark is parsed', async () => {
    const body = `\u{FEFF}${framed(payloads)}`;
    const answer = await ask({ headers: sse, body }, { model: 'generated', stream: true });
    expectStreamSuccess(answer, readStream(answer.bytes), usage);
  });
});

describe('the end of a stream', () => {
  it.each(['content_filter', 'length', 'tool_calls', 'eos', 'something_new'])(
    'with the finish reason `%s` is a success',
    async (finish) => {
      const [answer, received] = await stream([deltaOf({ content: 'Hi' }), deltaOf({}, finish), '[DONE]']);
      expectStreamSuccess(answer, received, undefined);
      expect(received.choices['0']?.finishReason).toBe(finish);
    },
  );

  it('without `[DONE]` after the finish reason is a success, and the gateway appends `[DONE]`', async () => {
    const [answer, received] = await stream([
      deltaOf({ content: 'Hi' }),
      deltaOf({}, 'stop'),
      chunkOf([], { usage }),
    ]);
    expectStreamSuccess(answer, received, usage);
  });

  it('without a finish reason and `[DONE]` is a failure', async () => {
    const [answer, received] = await stream([deltaOf({ content: 'Hi' }), chunkOf([], { usage })]);
    expectStreamFailure(answer, received, 'The upstream ended its stream before the answer was complete.');
    expect(received.choices['0']?.text).toBe('Hi');
  });

  it.each([null, '', 0, false, {}])(
    'with the finish reason %j and no `[DONE]` is a failure',
    async (finish) => {
      const payload = chunkOf([{ index: 0, delta: { content: 'Hi' }, finish_reason: finish }]);
      const [answer, received] = await stream([payload]);
      expectStreamFailure(answer, received, /before the answer was complete/);
    },
  );

  it('by an error in the middle is a failure with that error, after the content before it', async () => {
    const error = {
      error: { message: 'The server had an error.', type: 'server_error', param: null, code: null },
    };
    const [answer, received] = await stream([
      deltaOf({ content: 'Half an' }),
      JSON.stringify(error),
      deltaOf({ content: ' answer' }, 'stop'),
      '[DONE]',
    ]);
    expectStreamFailure(answer, received, 'The server had an error.');
    expect(received.choices['0']?.text).toBe('Half an');
  });

  it('by an error after the finish reasons is a failure with that error, even if `[DONE]` follows', async () => {
    const last = { error: { code: 502, message: 'Provider disconnected.' }, usage };
    const [answer, received] = await stream([
      deltaOf({ content: 'Hi' }),
      deltaOf({}, 'length'),
      deltaOf({}, 'length'),
      chunkOf([{ index: 0, delta: { content: '' }, finish_reason: null }], last),
      '[DONE]',
    ]);
    expectStreamFailure(answer, received, 'Provider disconnected.');
  });
});

describe('a random stream, in any framing, split anywhere', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 12 });
  const field = fc.constantFrom<Field>(
    'content',
    'reasoning',
    'reasoning_content',
    'reasoning_text',
    'refusal',
  );
  const delta = fc.record({ index: fc.constantFrom(0, 1), field, text });
  const framing = fc.record<Framing>({
    newline: fc.constantFrom('\n', '\r\n', '\r'),
    space: fc.constantFrom('', ' '),
    before: fc.constantFrom([], [': comment'], [': comment', ''], ['id: 1', 'event: chunk']),
  });
  const end = fc.constantFrom('done', 'finish', 'finish and done', 'nothing', 'error');
  const place = fc.constantFrom('nowhere', 'alone', 'finish', 'choice', 'x_groq');

  /** The field in which the caller receives a text: one field for all reasoning, else the same field. */
  const canonical = (name: Field): Field => (name.startsWith('reasoning') ? 'reasoning' : name);

  const finishChunks = (where: string): readonly string[] => {
    const choice = { index: 0, delta: {}, finish_reason: 'stop' };
    switch (where) {
      case 'alone':
        return [chunkOf([choice]), chunkOf([], { usage })];
      case 'finish':
        return [chunkOf([choice], { usage })];
      case 'choice':
        return [chunkOf([{ ...choice, usage }])];
      case 'x_groq':
        return [chunkOf([choice], { x_groq: { usage } })];
      default:
        return [chunkOf([choice])];
    }
  };

  const lastPayloads: Readonly<Record<string, (where: string) => readonly string[]>> = {
    done: () => ['[DONE]'],
    finish: finishChunks,
    'finish and done': (where) => [...finishChunks(where), '[DONE]'],
    nothing: () => [],
    error: () => ['{"error":{"message":"Gone wrong."}}', '[DONE]'],
  };

  it('reaches the caller with the same text in each field, and with exactly one end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(delta, { maxLength: 8 }),
        framing,
        end,
        place,
        fc.nat(),
        async (deltas, frame, ends, where, seed) => {
          const payloads = [
            ...deltas.map(({ index, field, text }) =>
              chunkOf([{ index, delta: { [field]: text }, finish_reason: null }]),
            ),
            ...lastPayloads[ends]!(where),
          ];
          const [answer, received] = await stream(payloads, frame, { kind: 'random', seed });
          if (ends === 'nothing') expectStreamFailure(answer, received, /before the answer was complete/);
          else if (ends === 'error') expectStreamFailure(answer, received, 'Gone wrong.');
          else expectStreamSuccess(answer, received, expectedUsage(ends, where));
          for (const index of [0, 1])
            for (const name of ['content', 'reasoning', 'refusal'] as const) {
              const said = deltas.filter((each) => each.index === index && canonical(each.field) === name);
              expect(textOf(received, name, index)).toBe(said.map((each) => each.text).join(''));
            }
        },
      ),
      { numRuns: 150 },
    );
  });

  const expectedUsage = (ends: string, where: string): UsageFacts | undefined =>
    ends.startsWith('finish') && where !== 'nowhere' ? usage : undefined;
});
