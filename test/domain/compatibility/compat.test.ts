import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { chatWatched, readChatRequest } from '../../../domain/chat/chat-request.ts';
import { prepareChat, prepareTranslatedChat } from '../../../domain/chat/prepare-chat.ts';
import { type Compat, compatOf } from '../../../domain/compatibility/compat.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { type JsonDocument, parseDocument } from '../../../domain/shared/json-document.ts';
import { outboundText } from '../../../domain/shared/outbound-text.ts';
import { exactJsonText } from '../../support/arbitraries/json-text.ts';
import { aRoute } from '../../support/arbitraries/routing.ts';

const documentOf = (text: string): JsonDocument => {
  const document = parseDocument(text, chatWatched);
  if (E.isLeft(document)) throw new Error(document.left.message);
  return document.right;
};

const routeWith = (compat: JsonObject) => aRoute({ upstreamModel: 'fast', compatibility: { compat } });

const prepared = (text: string, compat: JsonObject): E.Either<GatewayError, string> => {
  const request = readChatRequest(documentOf(text));
  if (E.isLeft(request)) throw new Error(request.left.message);
  return E.map(outboundText)(prepareChat(request.right, routeWith(compat)));
};

const messages = '"messages":[{"role":"user","content":"Hi"}]';
const withFields = (fields: string): string => `{"model":"fast",${fields}}`;

/** The fields that are sent upstream for these fields, or the error that rejects them. */
const outcome = (fields: string, compat: JsonObject): string | GatewayError => {
  const body = prepared(withFields(fields), compat);
  return E.isLeft(body) ? body.left : body.right.slice(withFields('').length - 1, -1);
};

type Row = readonly [title: string, compat: JsonObject, sent: string, upstream: string];

const rewrites = (rows: readonly Row[]): void => {
  it.each(rows)('%s: %j', (_, compat, sent, upstream) => {
    const rest = sent.includes('"messages"') ? '' : `,${messages}`;
    expect(outcome(`${sent}${rest}`, compat)).toBe(upstream.replace('…', rest.slice(1)));
  });
};

describe('the defaults apply without a block, and to each field that a block omits', () => {
  const defaults: Compat = {
    supportsStore: true,
    maxTokensField: 'max_completion_tokens',
    developerRole: 'developer',
    systemMessages: 'preserve',
    userAfterResults: 'preserve',
    assistantReasoning: 'preserve',
    callIds: 'preserve',
    reasoningEffort: 'passthrough',
    supportsStreamUsage: false,
    streamOptions: 'preserve',
    emptyTools: 'preserve',
    cacheControl: false,
  };

  it.each<[string, Parameters<typeof compatOf>[0]]>([
    ['no block', {}],
    ['an empty block', { compat: {} }],
    ['another block', { router: { provider: { zdr: true } } }],
    [
      'the defaults, written out',
      {
        compat: {
          supports_store: true,
          max_tokens_field: 'max_completion_tokens',
          developer_role: 'developer',
          system_messages: 'preserve',
          user_after_results: 'preserve',
          assistant_reasoning: 'preserve',
          call_ids: 'preserve',
          reasoning_effort: 'passthrough',
          supports_stream_usage: false,
          stream_options: 'preserve',
          empty_tools: 'preserve',
        },
      },
    ],
  ])('%s', (_, compatibility) => {
    expect(compatOf(compatibility)).toEqual(defaults);
  });

  it('and every field of a block is parsed', () => {
    const compat = {
      supports_store: false,
      max_tokens_field: 'max_tokens',
      developer_role: 'system',
      system_messages: 'leading',
      user_after_results: 'bridge',
      assistant_reasoning: 'reasoning_content',
      call_ids: 'nine_characters',
      reasoning_effort: 'omit',
      supports_stream_usage: true,
      stream_options: 'omit',
      empty_tools: 'omit',
      cache_control: true,
    };
    expect(compatOf({ compat })).toEqual({
      supportsStore: false,
      maxTokensField: 'max_tokens',
      developerRole: 'system',
      systemMessages: 'leading',
      userAfterResults: 'bridge',
      assistantReasoning: 'reasoning_content',
      callIds: 'nine_characters',
      reasoningEffort: 'omit',
      supportsStreamUsage: true,
      streamOptions: 'omit',
      emptyTools: 'omit',
      cacheControl: true,
    });
  });
});

describe('supports_store: when false, outbound chat-completions requests drop `store`', () => {
  const off = { supports_store: false };
  rewrites([
    ['a true one', off, '"store":true', '…'],
    ['a false one', off, '"store":false', '…'],
    ['a null', off, '"store":null', '…'],
    ['none', off, '"n":1', '"n":1,…'],
    [
      'not fields with similar names',
      off,
      '"stored":true,"metadata":{"store":1}',
      '"stored":true,"metadata":{"store":1},…',
    ],
    ['kept when true', { supports_store: true }, '"store":true', '"store":true,…'],
    ['kept by default', {}, '"store":true', '"store":true,…'],
  ]);
});

describe('max_tokens_field: `max_tokens` rewrites `max_completion_tokens` to `max_tokens`', () => {
  const old = { max_tokens_field: 'max_tokens' };
  rewrites([
    ['alone', old, '"max_completion_tokens":100', '…,"max_tokens":100'],
    ['with its digits', old, '"max_completion_tokens":100.0', '…,"max_tokens":100.0'],
    ['a null alone', old, '"max_completion_tokens":null', '…,"max_tokens":null'],
    ['max_tokens alone is unchanged', old, '"max_tokens":50.0', '"max_tokens":50.0,…'],
    [
      'with both, the value of max_completion_tokens under one key',
      old,
      '"max_tokens":50,"max_completion_tokens":100',
      '"max_tokens":100,…',
    ],
    [
      'max_completion_tokens replaces a null max_tokens',
      old,
      '"max_completion_tokens":100,"max_tokens":null',
      '"max_tokens":100,…',
    ],
    [
      'a null max_completion_tokens does not replace max_tokens',
      old,
      '"max_tokens":5e1,"max_completion_tokens":null',
      '"max_tokens":5e1,…',
    ],
    [
      'both are unchanged by default',
      {},
      '"max_tokens":50,"max_completion_tokens":100',
      '"max_tokens":50,"max_completion_tokens":100,…',
    ],
    [
      'max_tokens is never rewritten to max_completion_tokens',
      { max_tokens_field: 'max_completion_tokens' },
      '"max_tokens":50',
      '"max_tokens":50,…',
    ],
  ]);
});

describe('developer_role: `system` rewrites outbound developer messages to role `system`', () => {
  const system = { developer_role: 'system' };
  rewrites([
    [
      'at any position, and changes only their role',
      system,
      '"messages":[{"role":"developer","content":"a"},{"role":"user","content":"b"},{"x":9007199254740993,"role":"developer","content":[{"n":0.10}]}]',
      '"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"},{"x":9007199254740993,"role":"system","content":[{"n":0.10}]}]',
    ],
    [
      'no message of another role',
      system,
      '"messages": [ {"role":"user","content":"developer", "x": 1.0} ]',
      '"messages": [ {"role":"user","content":"developer", "x": 1.0} ]',
    ],
    [
      'not by default',
      {},
      '"messages":[{"role":"developer","content":"a"}]',
      '"messages":[{"role":"developer","content":"a"}]',
    ],
  ]);
});

describe('reasoning_effort: `omit` removes `reasoning_effort`', () => {
  const omit = { reasoning_effort: 'omit' };
  rewrites([
    ['a word', omit, '"reasoning_effort":"high"', '…'],
    ['a null', omit, '"reasoning_effort":null', '…'],
    ['not `reasoning`', omit, '"reasoning":{"effort":"low"}', '"reasoning":{"effort":"low"},…'],
    [
      'kept by passthrough',
      { reasoning_effort: 'passthrough' },
      '"reasoning_effort":"x"',
      '"reasoning_effort":"x",…',
    ],
  ]);
});

describe('reasoning_effort: `reasoning_object` rewrites `reasoning_effort: X` to `reasoning: {effort: X}`', () => {
  const wrapped = { reasoning_effort: 'reasoning_object' };
  rewrites([
    ['alone', wrapped, '"reasoning_effort":"high"', '…,"reasoning":{"effort":"high"}'],
    ['a null is dropped', wrapped, '"reasoning_effort":null', '…'],
    ['beside a null', wrapped, '"reasoning":null,"reasoning_effort":"low"', '"reasoning":{"effort":"low"},…'],
    [
      'merged into the caller’s own object',
      wrapped,
      '"reasoning":{"max_tokens":2000.0},"reasoning_effort":"low"',
      '"reasoning":{"max_tokens":2000.0,"effort":"low"},…',
    ],
    [
      'replacing an effort of null',
      wrapped,
      '"reasoning":{"effort":null},"reasoning_effort":"low"',
      '"reasoning":{"effort":"low"},…',
    ],
    [
      'with the same effort in the object, whose text is unchanged',
      wrapped,
      '"reasoning": { "effort": "low" },"reasoning_effort":"low"',
      '"reasoning": { "effort": "low" },…',
    ],
    ['no effort, no change', wrapped, '"reasoning": {"enabled": true}', '"reasoning": {"enabled": true},…'],
  ]);

  it('rejects a different effort in the caller’s own object, and names both fields', () => {
    expect(outcome(`"reasoning":{"effort":"low"},"reasoning_effort":"high",${messages}`, wrapped)).toEqual({
      code: 'invalid_request',
      param: 'reasoning_effort',
      message: expect.stringMatching(/`reasoning_effort`.*`reasoning\.effort`/),
    });
  });

  it.each(['"low"', '[]', '1', 'true'])('rejects a `reasoning` that is not an object: %s', (reasoning) => {
    expect(outcome(`"reasoning":${reasoning},"reasoning_effort":"high",${messages}`, wrapped)).toMatchObject({
      code: 'invalid_request',
      param: 'reasoning',
    });
  });

  it('keeps a `reasoning` that is not an object if there is no `reasoning_effort`', () => {
    expect(outcome(`"reasoning":"low",${messages}`, wrapped)).toBe(`"reasoning":"low",${messages}`);
  });
});

describe('supports_stream_usage: when true, streaming requests carry stream_options.include_usage = true', () => {
  const usage = { supports_stream_usage: true };
  rewrites([
    ['added if absent', usage, '"stream":true', '"stream":true,…,"stream_options":{"include_usage":true}'],
    [
      'replacing a null',
      usage,
      '"stream":true,"stream_options":null',
      '"stream":true,"stream_options":{"include_usage":true},…',
    ],
    [
      'replacing the caller’s own false',
      usage,
      '"stream":true,"stream_options":{"include_usage":false}',
      '"stream":true,"stream_options":{"include_usage":true},…',
    ],
    [
      'added to the caller’s other options, whose digits are kept',
      usage,
      '"stream":true,"stream_options":{"x":1.0,"y":[9007199254740993]}',
      '"stream":true,"stream_options":{"x":1.0,"y":[9007199254740993],"include_usage":true},…',
    ],
    [
      'the text is unchanged if the caller set it',
      usage,
      '"stream":true,"stream_options": { "include_usage": true, "x": 1.0 }',
      '"stream":true,"stream_options": { "include_usage": true, "x": 1.0 },…',
    ],
    ['not without a stream', usage, '"stream":false', '"stream":false,…'],
    ['not without a `stream` field', usage, '"n":1', '"n":1,…'],
    [
      'the caller’s own stream_options are unchanged when the setting is absent',
      {},
      '"stream":true,"stream_options":{"include_usage":false}',
      '"stream":true,"stream_options":{"include_usage":false},…',
    ],
    [
      'the caller’s own stream_options are unchanged without a stream',
      usage,
      '"stream_options":{"include_usage":false}',
      '"stream_options":{"include_usage":false},…',
    ],
  ]);
});

describe('stream_options: `omit` removes them', () => {
  const omit = { stream_options: 'omit' };
  rewrites([
    ['a request for usage', omit, '"stream":true,"stream_options":{"include_usage":true}', '"stream":true,…'],
    ['other options', omit, '"stream_options":{"include_obfuscation":false}', '…'],
    ['a null', omit, '"stream_options":null', '…'],
    ['none', omit, '"stream":true', '"stream":true,…'],
    [
      'also where usage would be requested',
      { ...omit, supports_stream_usage: true },
      '"stream":true',
      '"stream":true,…',
    ],
  ]);
});

describe('empty_tools in a chat-completions request', () => {
  const omit = { empty_tools: 'omit' };
  const withHistory = { empty_tools: 'preserve_with_tool_history' };
  const calls =
    '"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}]';
  rewrites([
    ['omit removes it', omit, '"tools":[]', '…'],
    ['omit removes it with a history too', omit, `"tools":[],${calls}`, calls],
    ['a neutral tool_choice is removed with it', omit, '"tools":[],"tool_choice":"auto"', '…'],
    ['parallel_tool_calls is removed with it', omit, '"tools":[],"parallel_tool_calls":true', '…'],
    ['removed without a history', withHistory, '"tools":[],"tool_choice":null', '…'],
    [
      'kept with a history, together with tool_choice',
      withHistory,
      `"tools":[],"tool_choice":"required",${calls}`,
      `"tools":[],"tool_choice":"required",${calls}`,
    ],
    ['kept by default', {}, '"tools":[],"tool_choice":"auto"', '"tools":[],"tool_choice":"auto",…'],
  ]);

  it('rejects a required tool_choice', () => {
    expect(outcome(`"tools":[],"tool_choice":"required",${messages}`, omit)).toMatchObject({
      code: 'invalid_request',
      param: 'tool_choice',
    });
  });
});

// The following tests combine all settings.

const settings = {
  supports_store: fc.boolean(),
  max_tokens_field: fc.constantFrom('max_completion_tokens', 'max_tokens'),
  developer_role: fc.constantFrom('developer', 'system'),
  system_messages: fc.constantFrom('preserve', 'leading'),
  user_after_results: fc.constantFrom('preserve', 'bridge'),
  assistant_reasoning: fc.constantFrom('preserve', 'reasoning_content', 'reasoning', 'omit'),
  call_ids: fc.constantFrom('preserve', 'nine_characters'),
  reasoning_effort: fc.constantFrom('passthrough', 'omit', 'reasoning_object'),
  supports_stream_usage: fc.boolean(),
  stream_options: fc.constantFrom('preserve', 'omit'),
  empty_tools: fc.constantFrom('preserve', 'omit', 'preserve_with_tool_history'),
};
const someCompat: fc.Arbitrary<JsonObject> = fc.record(settings, { requiredKeys: [] });

/** Values of the fields that the block concerns, as JSON text. */
const known: Readonly<Record<string, readonly string[]>> = {
  store: ['true', 'false', 'null'],
  max_tokens: ['1', '1e2', 'null'],
  max_completion_tokens: ['9007199254740993', '2.0', 'null'],
  reasoning_effort: ['"high"', '"low"', 'null'],
  reasoning: ['{"effort":"high","n":1.0}', '{"n":0.10}', '{}', 'null'],
  stream: ['true', 'false', 'null'],
  stream_options: ['{"include_usage":true}', '{"include_usage":false,"n":1.50}', '{}', 'null'],
  tools: ['[]', '[{"type":"function","function":{"name":"f"}}]', 'null'],
  tool_choice: ['"auto"', '"none"', 'null', '"required"', '{"type":"function","function":{"name":"f"}}'],
};

const someMessages = fc
  .array(
    fc.constantFrom(
      '{"role":"developer","content":"d","n":1.0}',
      '{"role": "user", "content": "u"}',
      '{"role":"tool","content":"t","tool_call_id":"1"}',
      '{"role":"assistant","content":"a","reasoning":"r","n":1.0}',
      '{"role":"assistant","tool_calls":[{"id":"1","n":1.0},{"id":"1"},{"id":"000000001"}]}',
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((items) => ['messages', `[${items.join(', ')}]`] as const);

const someFields = fc.tuple(
  ...Object.entries(known).map(([key, texts]) =>
    fc.option(fc.constantFrom(...texts).map((text) => [key, text] as const)),
  ),
);

const unknownFields = fc.uniqueArray(
  fc.tuple(fc.constantFrom('a', 'b', 'temperature', 'seed'), exactJsonText),
  {
    selector: ([key]) => key,
    maxLength: 3,
  },
);

const textOf = (fields: readonly (readonly [string, string])[]): string =>
  `{ ${fields.map(([key, text]) => `"${key}" : ${text}`).join(',\n ')} }`;

/** A chat body in any order of its fields. */
const someChatText: fc.Arbitrary<string> = fc
  .tuple(someMessages, someFields, unknownFields)
  .chain(([first, fields, others]) => {
    const all = [first, ...fields.filter((field) => field !== null), ...others, ['model', '"fast"'] as const];
    return fc.shuffledSubarray(all, { minLength: all.length }).map(textOf);
  });

/** The members that each field of the block may change when it does not have its default value. */
const reach: Readonly<
  Record<keyof typeof settings, { readonly unless: unknown; readonly members: readonly string[] }>
> = {
  supports_store: { unless: true, members: ['store'] },
  max_tokens_field: { unless: 'max_completion_tokens', members: ['max_tokens', 'max_completion_tokens'] },
  developer_role: { unless: 'developer', members: ['messages'] },
  system_messages: { unless: 'preserve', members: ['messages'] },
  user_after_results: { unless: 'preserve', members: ['messages'] },
  assistant_reasoning: { unless: 'preserve', members: ['messages'] },
  call_ids: { unless: 'preserve', members: ['messages'] },
  reasoning_effort: { unless: 'passthrough', members: ['reasoning', 'reasoning_effort'] },
  supports_stream_usage: { unless: false, members: ['stream_options'] },
  stream_options: { unless: 'preserve', members: ['stream_options'] },
  empty_tools: { unless: 'preserve', members: ['tools', 'tool_choice'] },
};

const reachOf = (compat: JsonObject): readonly string[] =>
  Object.entries(reach).flatMap(([key, { unless, members }]) =>
    compat[key] === undefined || compat[key] === unless ? [] : members,
  );

const membersIn = (text: string): ReadonlyMap<string, string> =>
  new Map(documentOf(text).members.map(({ key, start, end }) => [key, text.slice(start, end)]));

describe('the transforms', () => {
  it('never change a byte of a member that they do not concern', () => {
    fc.assert(
      fc.property(someChatText, someCompat, (text, compat) => {
        const out = prepared(text, compat);
        if (E.isLeft(out)) return;
        const upstream = membersIn(out.right);
        const untouched = [...membersIn(text)].filter(([key]) => !reachOf(compat).includes(key));
        expect(untouched.map(([key]) => [key, upstream.get(key)])).toEqual(untouched);
      }),
      { numRuns: 500 },
    );
  });

  it('keep a body byte for byte when it has none of their fields', () => {
    fc.assert(
      fc.property(unknownFields, someCompat, (others, compat) => {
        const text = textOf([
          ...others,
          ['model', '"fast"'],
          ['messages', '[ {"role":"user"} ]'],
          ['stream', 'false'],
        ]);
        expect(prepared(text, compat)).toEqual(E.right(text));
      }),
    );
  });

  it('are idempotent: a second pass changes nothing', () => {
    fc.assert(
      fc.property(someChatText, someCompat, (text, compat) => {
        const once = prepared(text, compat);
        if (E.isRight(once)) expect(prepared(once.right, compat)).toEqual(once);
      }),
      { numRuns: 500 },
    );
  });

  it('have the same result for a translated body as for a caller’s own', () => {
    fc.assert(
      fc.property(someChatText, someCompat, (text, compat) => {
        const translated = prepareTranslatedChat(parseExact(text) as JsonObject, routeWith(compat));
        const printed = E.map((out: string) => JSON.stringify(parseExact(out)))(prepared(text, compat));
        expect(translated).toEqual(printed);
      }),
      { numRuns: 500 },
    );
  });
});
