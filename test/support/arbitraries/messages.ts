import * as fc from 'fast-check';
import { type Json, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { aKey, exactJsonText } from './json-text.ts';
import { aWebUrl } from './text.ts';

/** Non-empty text that does not begin like a failed call. */
const words = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `t${text}`);

/** The text of a JSON object, with numbers that only text can represent. */
export const anObjectText: fc.Arbitrary<string> = fc
  .uniqueArray(
    fc
      .tuple(aKey, exactJsonText)
      .filter(([key, text]) => key !== '__proto__' && !text.includes('"__proto__"')),
    { selector: ([key]) => key, maxLength: 3 },
  )
  .map((pairs) => `{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`);

/** Ids from upstreams: long ones, and ones with characters that platforms refuse. */
export const anId: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom('call_', 'toolu_', 'functions.f:', 'a|b', 'x'.repeat(70), 'ü', '0'), fc.nat(99))
  .map(([prefix, number]) => `${prefix}${number}`);

const text = words.map((text) => ({ type: 'text', text }));
const image = fc.oneof(
  fc.base64String({ minLength: 1, maxLength: 12 }).map((data) => ({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data },
  })),
  aWebUrl.map((url) => ({
    type: 'image',
    source: { type: 'url', url: url.replace('http://', 'https://') },
  })),
);
const toolUse = fc
  .tuple(anId, words, anObjectText)
  .map(([id, name, input]) => ({ type: 'tool_use', id, name, input: parseExact(input) }));
const toolResult = fc.tuple(anId, words, fc.boolean()).map(([id, content, failed]) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...(failed ? { is_error: true } : {}),
}));
const thinking = words.map((thinking) => ({ type: 'thinking', thinking, signature: 'c2ln' }));

/** A user's blocks: tool results first, as in the messages API, or in any order. */
const userBlocks = fc.array(fc.oneof(text, image, toolResult), { minLength: 1, maxLength: 5 });
const assistantBlocks = fc.array(fc.oneof(text, toolUse, thinking), { minLength: 1, maxLength: 5 });

/** Messages of blocks that chat completions can express, and of thinking. */
export const aConversation: fc.Arbitrary<readonly JsonObject[]> = fc.array(
  fc.oneof(
    fc.oneof(userBlocks, words).map((content): JsonObject => ({ role: 'user', content })),
    fc.oneof(assistantBlocks, words).map((content): JsonObject => ({ role: 'assistant', content })),
    words.map((content): JsonObject => ({ role: 'system', content })),
  ),
  { minLength: 1, maxLength: 6 },
);

/** A call as the model means it. */
export interface MeantCall {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

/** A chat answer, and its chunks. */
export interface StreamedAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  /** In the order in which the stream begins them. */
  readonly calls: readonly MeantCall[];
  readonly finish: string | undefined;
  readonly usage: JsonObject | undefined;
  readonly chunks: readonly JsonObject[];
}

/** A delta, and the call that it begins or continues. */
interface Step {
  readonly delta: JsonObject;
  readonly call?: number;
}

/** The pieces of a text, split anywhere; sometimes with empty pieces. */
const piecesOf = (text: string): fc.Arbitrary<readonly string[]> =>
  fc
    .array(fc.nat(text.length), { maxLength: 4 })
    .map((cuts) => [0, ...cuts.sort((a, b) => a - b), text.length])
    .map((edges) => edges.slice(1).map((edge, index) => text.slice(edges[index], edge)));

const prose: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.string({ maxLength: 6 }).map((content): Step => ({ delta: { content } })),
    fc.string({ maxLength: 6 }).map((content): Step => ({ delta: { content, tool_calls: [] } })),
    fc.string({ maxLength: 6 }).map((reasoning): Step => ({ delta: { reasoning } })),
    fc.string({ maxLength: 6 }).map(
      (thinking): Step => ({
        delta: {
          provider_metadata: {
            compat: { reasoning: [{ type: 'thinking', thinking: [{ text: thinking }] }] },
          },
        },
      }),
    ),
    fc.constantFrom<Step>(
      { delta: { role: 'assistant', content: '' } },
      { delta: { content: null, reasoning: null, tool_calls: null, function_call: null } },
      { delta: {} },
      { delta: { function_call: { name: '', arguments: '' } } },
    ),
  ),
  { maxLength: 8 },
);

/** How a call is streamed: by index, with id and name in any order, or whole. */
const anIndexedCall = (call: number, { id, name, text }: MeantCall): fc.Arbitrary<readonly Step[]> =>
  fc
    .tuple(piecesOf(text), fc.nat(3), fc.nat(3), fc.boolean(), fc.boolean())
    .map(([pieces, idAt, nameAt, repeated, nulls]) =>
      pieces.map((piece, at): Step => {
        const last = pieces.length - 1;
        const tells = (from: number): boolean => (repeated ? at >= from : at === Math.min(from, last));
        const from = (place: number): number => Math.min(place, last);
        const called = {
          ...(tells(from(nameAt)) ? { name } : {}),
          arguments: nulls && piece === '' ? null : piece,
        };
        const identity = id !== '' && tells(from(idAt)) ? { id } : {};
        return {
          call,
          delta: { tool_calls: [{ index: call, ...identity, type: 'function', function: called }] },
        };
      }),
    );

const aWholeCall = (call: number, { id, name, text }: MeantCall): fc.Arbitrary<readonly Step[]> =>
  fc.constant([
    { call, delta: { tool_calls: [{ ...(id === '' ? {} : { id }), function: { name, arguments: text } }] } },
  ]);

const someCalls = fc
  .array(
    fc.record({
      id: fc.oneof(anId, fc.constant('')),
      name: words,
      text: fc.oneof(anObjectText, fc.constant('')),
    }),
    {
      maxLength: 4,
    },
  )
  .map((calls) => calls.map((call, index) => ({ ...call, id: call.id === '' ? '' : `${call.id}_${index}` })));

/** An order of all steps that keeps the order within each lane. */
const interleaved = (lanes: readonly (readonly Step[])[]): fc.Arbitrary<readonly Step[]> =>
  fc
    .shuffledSubarray(
      lanes.flatMap((lane, index) => lane.map(() => index)),
      { minLength: lanes.flat().length },
    )
    .map((order) => {
      const taken = lanes.map(() => 0);
      return order.map((lane) => {
        const step = lanes[lane]![taken[lane]!]!;
        taken[lane]! += 1;
        return step;
      });
    });

const aUsage: fc.Arbitrary<JsonObject> = fc
  .record({
    prompt_tokens: fc.nat(500),
    completion_tokens: fc.nat(500),
    cached: fc.option(fc.nat(500), { nil: undefined }),
  })
  .map(({ cached, ...usage }) =>
    cached === undefined ? usage : { ...usage, prompt_tokens_details: { cached_tokens: cached } },
  );

/** Position of a finish reason or usage: with a delta, or in a separate chunk after it. */
const places = fc.array(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), alone: fc.boolean() }), {
  maxLength: 2,
});

const textIn = (steps: readonly Step[], read: (delta: JsonObject) => unknown): string =>
  steps
    .map(({ delta }) => read(delta))
    .filter((value) => typeof value === 'string')
    .join('');

const metadataIn = (delta: JsonObject): unknown =>
  (delta as { provider_metadata?: { compat: { reasoning: [{ thinking: [{ text: string }] }] } } })
    .provider_metadata?.compat.reasoning[0].thinking[0].text;

/** Any order of text, reasoning and pieces of calls; finish reasons and usage at any place. */
export const aStreamedAnswer: fc.Arbitrary<StreamedAnswer> = fc
  .tuple(prose, someCalls, fc.oneof({ arbitrary: fc.constant(''), weight: 3 }, fc.string({ maxLength: 3 })))
  .chain(([said, calls, refusal]) =>
    fc
      .tuple(...calls.map((call, index) => fc.oneof(anIndexedCall(index, call), aWholeCall(index, call))))
      .chain((lanes) => interleaved([[...said, { delta: { refusal } }], ...lanes]))
      .chain((steps) =>
        fc.record({
          steps: fc.constant(steps),
          calls: fc.constant(calls),
          refusal: fc.constant(refusal),
          finish: fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter', 'eos', undefined),
          usage: fc.option(aUsage, { nil: undefined }),
          finishAt: places,
          usageAt: places,
          noise: fc.boolean(),
        }),
      ),
  )
  .map(({ steps, calls, refusal, finish, usage, finishAt, usageAt, noise }) => {
    const chunks: JsonObject[] = steps.map(({ delta }) => ({ id: 'c1', choices: [{ index: 0, delta }] }));
    const put = (
      value: Json | undefined,
      spots: typeof finishAt,
      edit: (chunk: JsonObject) => JsonObject,
    ): void => {
      if (value === undefined) return;
      // The last one counts; earlier ones are the same here.
      for (const { at, alone } of [...spots, { at: 1, alone: spots.length > 1 }]) {
        const index = Math.floor(at * (chunks.length - 1));
        if (alone || chunks.length === 0) chunks.splice(index + 1, 0, edit({ choices: [] }));
        else chunks[index] = edit(chunks[index]!);
      }
    };
    put(finish, finishAt, (chunk) => {
      const [choice] = chunk['choices'] as readonly JsonObject[];
      return { ...chunk, choices: [{ index: 0, delta: {}, ...choice, finish_reason: finish as Json }] };
    });
    put(usage, usageAt, (chunk) => ({ ...chunk, usage }));
    if (noise) {
      const other = {
        index: 1,
        delta: { content: 'other', tool_calls: [{ index: 0, id: 'o', function: { name: 'o' } }] },
      };
      chunks.splice(
        chunks.length >> 1,
        0,
        { choices: [other, { index: 0, delta: {} }] },
        { choices: [] },
        {},
      );
    }
    const began = [...new Set(steps.flatMap(({ call }) => (call === undefined ? [] : [call])))];
    return {
      text: textIn(steps, ({ content }) => content),
      reasoning: textIn(steps, (delta) => delta['reasoning'] ?? metadataIn(delta)),
      refusal,
      calls: began.map((call) => calls[call]!),
      finish,
      usage,
      chunks,
    };
  });

/** Chunks with the right field names and no meaning. */
export const aChunkSoup: fc.Arbitrary<readonly JsonObject[]> = fc.array(
  fc.record({
    choices: fc.oneof(
      { weight: 9, arbitrary: fc.array(soupChoice(), { minLength: 1, maxLength: 2 }) },
      { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
    ),
    usage: fc.constantFrom<Json>(
      null,
      7,
      {},
      { prompt_tokens: -1 },
      { prompt_tokens: 3, completion_tokens: 5 },
    ),
  }),
  { maxLength: 10 },
);

function soupChoice(): fc.Arbitrary<JsonObject> {
  const call = fc.record(
    {
      index: fc.constantFrom<Json>(0, 1, -1, null, 'x'),
      id: fc.constantFrom<Json>('', 'a', 'b', null, 7),
      function: fc.oneof(
        fc.record(
          {
            name: fc.constantFrom<Json>('f', 'g', '', null, 7),
            arguments: fc.constantFrom<Json>('{', '}', '{}', '"x"', '[', ']', '\\', '"', ' ', '', null, 7),
          },
          { requiredKeys: [] },
        ),
        fc.constantFrom<Json>(null, 'f', []),
      ),
    },
    { requiredKeys: [] },
  );
  return fc.record(
    {
      index: fc.constantFrom<Json>(0, 0, 0, 1, null),
      finish_reason: fc.constantFrom<Json>(null, '', 'stop', 'tool_calls', 'eos', 7),
      delta: fc.oneof(
        fc.record(
          {
            content: fc.constantFrom<Json>('a', 'b', '', null, 7, [{ type: 'text', text: 'c' }, 7, null, {}]),
            reasoning: fc.constantFrom<Json>('r', '', null, 7),
            refusal: fc.constantFrom<Json>(null, '', 'no'),
            tool_calls: fc.oneof(fc.array(call, { maxLength: 3 }), fc.constantFrom<Json>(null, 'x', [7])),
            function_call: fc.constantFrom<Json>(null, 'x', {}, { name: 'l' }, { arguments: '{}' }),
            provider_metadata: fc.constantFrom<Json>(
              null,
              'x',
              { a: null },
              { a: { reasoning: [7, { text: 's' }] } },
            ),
          },
          { requiredKeys: [] },
        ),
        fc.constantFrom<Json>(null, 'x', []),
      ),
    },
    { requiredKeys: [] },
  );
}
