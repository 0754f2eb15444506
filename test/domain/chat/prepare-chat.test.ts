import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { chatWatched, readChatRequest } from '../../../domain/chat/chat-request.ts';
import { prepareChat, prepareTranslatedChat } from '../../../domain/chat/prepare-chat.ts';
import type { Compatibility } from '../../../domain/routing/model.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { deepMerge, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import { outboundText } from '../../../domain/shared/outbound-text.ts';
import { aJsonObject, writtenOf } from '../../support/arbitraries/json-text.ts';
import { aRoute } from '../../support/arbitraries/routing.ts';

const prepared = (
  text: string,
  upstreamModel: string,
  extraBody: JsonObject = {},
  compatibility: Compatibility = {},
): E.Either<GatewayError, string> => {
  const document = parseDocument(text, chatWatched);
  if (E.isLeft(document)) throw new Error(document.left.message);
  const request = readChatRequest(document.right);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return E.map(outboundText)(prepareChat(request.right, aRoute({ upstreamModel, extraBody, compatibility })));
};

const outbound = (
  text: string,
  upstreamModel: string,
  extraBody?: JsonObject,
  compatibility?: Compatibility,
): string => {
  const body = prepared(text, upstreamModel, extraBody, compatibility);
  if (E.isLeft(body)) throw new Error(body.left.message);
  return body.right;
};

const messages = '"messages":[{"role":"user","content":"Hi"}]';

describe('the outbound chat body', () => {
  it('is the caller’s own text when the model has the same name upstream', () => {
    const text = `{ "model":"fast",\n ${messages}, "n": 9007199254740993, "t": 0.10, "unknown": {"x":1,"x":2} }`;
    expect(outbound(text, 'fast')).toBe(text);
  });

  it('has the upstream’s model name, and is otherwise the caller’s text', () => {
    const text = `{ "n": 9007199254740993,\t"model" : "fast", ${messages}, "t": 0.10 }`;
    expect(outbound(text, 'upstream "fast"')).toBe(text.replace('"fast"', '"upstream \\"fast\\""'));
  });
});

describe('extra_body is the final raw override merged into the upstream body', () => {
  const text = (fields: string): string => `{"model":"fast",${messages},${fields}}`;

  it.each<[string, string, JsonObject, string]>([
    ['adds a key', '"a":1', { b: { c: [1] } }, '"a":1,"b":{"c":[1]}'],
    ['replaces a scalar', '"a":1', { a: 2 }, '"a":2'],
    ['null replaces an object', '"a":{"b":1}', { a: null }, '"a":null'],
    ['an array replaces an array', '"a":[1,2,3]', { a: [4] }, '"a":[4]'],
    ['an object replaces a scalar', '"a":1', { a: { b: 1 } }, '"a":{"b":1}'],
    ['an object replaces an array', '"a":[1]', { a: { b: 1 } }, '"a":{"b":1}'],
    [
      'objects merge deeply',
      '"a":{"b":{"c":1,"d":2},"e":3}',
      { a: { b: { c: 9 }, f: 4 } },
      '"a":{"b":{"c":9,"d":2},"e":3,"f":4}',
    ],
    [
      'keeps the digits of what it merges with',
      '"a":{"n":9007199254740993,"m":[0.10],"o":1e400}',
      { a: { b: 1 } },
      '"a":{"n":9007199254740993,"m":[0.10],"o":1e400,"b":1}',
    ],
    ['an empty object changes nothing in an object', '"a":{"b":1.0}', { a: {} }, '"a":{"b":1.0}'],
  ])('%s', (_, fields, extraBody, out) => {
    expect(outbound(text(fields), 'fast', extraBody)).toBe(text(out));
  });

  it('overrides the model name too', () => {
    expect(outbound(text('"a":1'), 'upstream', { model: 'raw' })).toBe(
      text('"a":1').replace('"fast"', '"raw"'),
    );
  });

  it.each([
    ['"a":{"x":1,"x":2}', { a: { y: 1 } }, 'a.x'],
    ['"a":{"x":1,"\\u0078":2}', { a: { y: 1 } }, 'a.x'],
    ['"a":{"b":{"x":1,"x":2}}', { a: { b: { y: 1 } } }, 'a.b.x'],
    ['"a":{"__proto__":1}', { a: { y: 1 } }, 'a.__proto__'],
  ])('is rejected when a level that it edits repeats a key: %s', (fields, extraBody, param) => {
    expect(prepared(text(fields), 'fast', extraBody)).toEqual(
      E.left(expect.objectContaining({ code: 'invalid_request', param })),
    );
  });

  it.each<[string, JsonObject]>([
    ['"a":{"x":1,"x":2}', { a: null }],
    ['"a":{"x":1,"x":2}', { b: {} }],
    ['"a":{"b":{"x":1,"x":2}}', { a: { y: 1 } }],
    ['"a":{"b":{"x":1,"x":2}}', { a: { b: 1 } }],
  ])('is accepted when a level that it replaces or does not edit repeats a key: %s', (fields, extraBody) => {
    expect(E.isRight(prepared(text(fields), 'fast', extraBody))).toBe(true);
  });

  it('is always the deep merge of the body, with the upstream’s model, and of extra_body', () => {
    const written = aJsonObject.chain((fields) => {
      const body = { ...fields, model: 'fast', messages: [{ role: 'user' }] };
      return fc.tuple(fc.constant(body), writtenOf(body));
    });
    fc.assert(
      fc.property(written, aJsonObject, aJsonObject, ([body, text], own, over) => {
        // Overrides one key of the body if it has one.
        const extraBody = deepMerge(
          over,
          Object.fromEntries(
            Object.entries(body)
              .slice(0, 1)
              .map(([key]) => [key, own]),
          ),
        );
        const expected = deepMerge({ ...body, model: 'upstream' }, extraBody);
        expect(JSON.parse(outbound(text, 'upstream', extraBody))).toEqual(
          JSON.parse(JSON.stringify(expected)),
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe('router: the policy is serialized into the upstream chat-completions body as `provider`', () => {
  const text = (fields: string): string => `{"model":"fast",${messages}${fields}}`;
  const provider = {
    zdr: true,
    only: ['a', 'b'],
    ignore: ['c'],
    order: ['b'],
    preferred_max_latency: { p50: 0.5, p90: 3 },
    max_price: { prompt: 1, completion: 2.5, request: 0.01, image: 0 },
  };
  const router: Compatibility = { router: { provider } };

  it('with every field as configured', () => {
    expect(outbound(text(''), 'fast', {}, router)).toBe(text(`,"provider":${JSON.stringify(provider)}`));
  });

  it.each(['null', '"groq"', '{"only":["c"],"sort":"price"}', '[1]'])(
    'and replaces the caller’s `provider`: %s',
    (own) => {
      const policy = { router: { provider: { zdr: true } } };
      expect(outbound(text(`,"provider":${own},"n":1.0`), 'fast', {}, policy)).toBe(
        text(',"provider":{"zdr":true},"n":1.0'),
      );
    },
  );

  it('without a policy the caller’s `provider` is unchanged', () => {
    const own = text(',"provider": { "sort": "price", "n": 1.0 }');
    expect(outbound(own, 'fast')).toBe(own);
  });
});

describe('the order: upstream model name, compat, router, extra_body', () => {
  const text = `{"model":"fast",${messages},"stream":true,"max_completion_tokens":100}`;
  const compatibility: Compatibility = {
    compat: { supports_stream_usage: true, max_tokens_field: 'max_tokens' },
    router: { provider: { zdr: true, max_price: { prompt: 1, completion: 2 } } },
  };
  const extraBody = {
    model: 'raw',
    stream_options: { include_obfuscation: false },
    provider: { max_price: { prompt: 9 } },
    max_tokens: 5,
    max_completion_tokens: 7,
  };

  it('extra_body is merged over the result of compat and router, which do not transform it', () => {
    expect(JSON.parse(outbound(text, 'upstream', extraBody, compatibility))).toEqual({
      model: 'raw',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
      max_tokens: 5,
      max_completion_tokens: 7,
      stream_options: { include_usage: true, include_obfuscation: false },
      provider: { zdr: true, max_price: { prompt: 9, completion: 2 } },
    });
  });

  it('extra_body overrides a field that compat set', () => {
    const body = outbound(text, 'fast', { stream_options: { include_usage: false } }, compatibility);
    expect(JSON.parse(body)).toMatchObject({ stream_options: { include_usage: false } });
  });

  it('compat, router and extra_body apply to a translated chat body too', () => {
    const made = parseExact(text) as JsonObject;
    const route = aRoute({ upstreamModel: 'upstream', extraBody, compatibility });
    expect(E.map((body: string) => JSON.parse(body))(prepareTranslatedChat(made, route))).toEqual(
      E.right(JSON.parse(outbound(text, 'upstream', extraBody, compatibility))),
    );
  });

  it('a translated body keeps its digits and the order of its members', () => {
    const body = '{"model":"fast","a":1.0,"messages":[],"b":{"n":9007199254740993}}';
    const route = aRoute({ upstreamModel: 'upstream', extraBody: { b: { c: 1 }, d: 2 } });
    expect(prepareTranslatedChat(parseExact(body) as JsonObject, route)).toEqual(
      E.right('{"model":"upstream","a":1.0,"messages":[],"b":{"n":9007199254740993,"c":1},"d":2}'),
    );
  });

  it('a translated body is rejected if compat rejects it', () => {
    const body = { model: 'm', messages: [], tools: [], tool_choice: 'required' };
    const route = aRoute({ compatibility: { compat: { empty_tools: 'omit' } } });
    expect(prepareTranslatedChat(body, route)).toEqual(
      E.left(expect.objectContaining({ code: 'invalid_request', param: 'tool_choice' })),
    );
  });
});
