import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  redactedRequest as redactedRequestText,
  redactedResponse as redactedResponseText,
  redactedStream,
  stored,
  type StoredPayload,
} from '../../../domain/payload/payload.ts';
import { forCaller, redacted, type RedactionRules, redactionRules } from '../../../domain/payload/redact.ts';
import { StreamPayload } from '../../../domain/payload/stream-payload.ts';
import { withoutBulk } from '../../../domain/payload/truncate.ts';
import type { PayloadHeaders } from '../../../domain/payload/wrap.ts';
import { printed } from '../../../domain/text/written.ts';
import { type Json, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { bufferedCharsPerStoredByte, maxJsonDepth, maxPayloadDepth } from '../../../domain/shared/limits.ts';
import { aJsonObject, exactJsonText } from '../../support/arbitraries/json-text.ts';
import {
  aCanaryUrl,
  aPlainKey,
  aPlantedText,
  aPlantedTree,
  aRedactedKey,
  canaryLetter,
} from '../../support/arbitraries/payloads.ts';
import { anyText } from '../../support/arbitraries/text.ts';
import { plainlyCapped } from '../../support/plain-cap.ts';
import { membersOf } from '../../support/written.ts';
import { costWithin } from '../../support/cost.ts';

const redactedRequest = (
  headers: PayloadHeaders,
  body: Json | undefined,
  policy: RedactionRules,
  maxBytes: number,
): StoredPayload => {
  const text = body === undefined ? undefined : { text: JSON.stringify(body), isParsed: true };
  return redactedRequestText(headers, text, policy, maxBytes);
};
const redactedResponse = (body: Json | undefined, policy: RedactionRules, maxBytes: number): StoredPayload =>
  redactedResponseText(body === undefined ? undefined : JSON.stringify(body), policy, maxBytes);

const rules = redactionRules([], []);
const cap = 65_536;
const bytesOf = ({ text }: StoredPayload): number => Buffer.byteLength(text);
const jsonOf = ({ text }: StoredPayload): Json => JSON.parse(text) as Json;
const read = (payload: StoredPayload) => ({ json: jsonOf(payload), truncated: payload.truncated });

const streamOf = (
  events: readonly JsonObject[],
  limits = { streamMaxEvents: 128, responseMaxBytes: cap },
  end: { readonly usage?: Json; readonly error?: Json } = {},
): StoredPayload => {
  const payload = new StreamPayload(limits);
  for (const event of events) payload.see({ chunk: event });
  const outcome = { usage: end.usage, error: end.error };
  return redactedStream(payload.held(), outcome, rules, limits.responseMaxBytes);
};

describe('(1) the payload is wrapped', () => {
  it('requests: {headers, body}', () => {
    const payload = redactedRequest({ accept: '*/*', 'x-a': ['1', '2'] }, { model: 'm' }, rules, cap);
    expect(jsonOf(payload)).toEqual({ headers: { accept: '*/*', 'x-a': ['1', '2'] }, body: { model: 'm' } });
  });

  it('responses: {body}', () => {
    expect(jsonOf(redactedResponse({ id: 'r' }, rules, cap))).toEqual({ body: { id: 'r' } });
  });

  it('streams: {stream: true, events, usage, error}', () => {
    const payload = streamOf([{ a: 1 }, { b: 2 }], undefined, {
      usage: { total_tokens: 3 },
      error: { code: 'c' },
    });
    expect(jsonOf(payload)).toEqual({
      stream: true,
      events: [{ a: 1 }, { b: 2 }],
      usage: { total_tokens: 3 },
      error: { code: 'c' },
    });
  });

  it('an absent body, usage or error is null, and an undefined header is left out', () => {
    expect(jsonOf(redactedRequest({ a: undefined }, undefined, rules, cap))).toEqual({
      headers: {},
      body: null,
    });
    expect(jsonOf(redactedResponse(undefined, rules, cap))).toEqual({ body: null });
    expect(jsonOf(streamOf([]))).toEqual({ stream: true, events: [], usage: null, error: null });
  });
});

describe('payload processing order', () => {
  const secret = 'sk-configured-0123456789';
  const known = redactionRules([], [secret]);

  it('(2) redaction comes before (3) truncation: a redacted payload does not reveal its length', () => {
    const body = {
      secret: `data:image/png;base64,${'A'.repeat(1000)}`,
      image_url: { url: `data:image/png;base64,${'A'.repeat(1000)}` },
    };
    expect(read(redactedResponse(body, rules, cap))).toEqual({
      json: {
        body: {
          secret: '[REDACTED]',
          image_url: { url: 'data:image/png;base64,[TRUNCATED 1000 characters]' },
        },
      },
      truncated: true,
    });
  });

  it('(2) redaction comes before (4) the cap: no part of a secret remains where a text is cut', () => {
    for (let length = 0; length < 120; length += 1) {
      const { text } = redactedResponse({ text: 'x'.repeat(length) + secret + 'y'.repeat(500) }, known, 200);
      expect(text).not.toContain('sk-');
    }
  });

  it('(3) truncation comes before (4) the cap: bulky data takes no room from other text', () => {
    const body = {
      image_url: { url: `data:image/png;base64,${'A'.repeat(1_000_000)}` },
      text: 'x'.repeat(60_000),
    };
    expect(read(redactedResponse(body, rules, cap))).toMatchObject({
      json: { body: { text: body.text } },
      truncated: true,
    });
  });
});

describe('truncation flags', () => {
  it.each<[string, Json, boolean]>([
    ['nothing', { a: 1, text: 'x'.repeat(60_000) }, false],
    ['a redacted key', { secret: 's', text: 't' }, false],
    ['a bulky field', { b64_json: 'A'.repeat(1000) }, true],
    ['bytes over the cap', { text: 'x'.repeat(70_000) }, true],
    ['UTF-8 bytes over the cap', { text: 'é'.repeat(33_000) }, true],
    ['bytes over the cap in a redacted value', { secret: 'x'.repeat(70_000) }, false],
  ])('are set exactly if something was cut: a body with %s', (_, body, truncated) => {
    expect(redactedRequest({}, body, rules, cap).truncated).toBe(truncated);
    expect(redactedResponse(body, rules, cap).truncated).toBe(truncated);
    expect(streamOf([{ body }]).truncated).toBe(truncated);
  });
});

describe('`stream_max_events`', () => {
  const events = Array.from({ length: 200 }, (_, index) => ({ index: `event ${index}` }));

  it.each([
    [200, 200, false],
    [199, 199, true],
    [128, 128, true],
    [1, 1, true],
  ])('of %d stores the first %d of 200 events', (streamMaxEvents, stored, truncated) => {
    const payload = streamOf(events, { streamMaxEvents, responseMaxBytes: cap });
    expect((jsonOf(payload) as { events: Json[] }).events).toEqual(events.slice(0, stored));
    expect(payload.truncated).toBe(truncated);
  });

  it('holds beside a limit on buffered bytes, and the events themselves are never changed', () => {
    const large = (index: number): JsonObject => ({ index, text: 'x'.repeat(10_000) });
    const all = Array.from({ length: 1000 }, (_, index) => large(index));
    const payload = new StreamPayload({ streamMaxEvents: 128, responseMaxBytes: cap });
    for (const chunk of all) payload.see({ chunk });
    const { events: held, truncated, isCut } = payload.held();
    expect({ truncated, isCut }).toEqual({ truncated: true, isCut: true });
    expect(held).toEqual(all.slice(0, held.length).map((event) => JSON.stringify(event)));
    expect(held.length).toBe(Math.floor((cap * bufferedCharsPerStoredByte) / 10_022));
    expect(all[999]).toEqual(large(999));
  });

  it('an event over the byte limit is left out, and sets the flag even if it is the last one', () => {
    const limits = { streamMaxEvents: 128, responseMaxBytes: 1000 };
    const last = streamOf([{ a: 1 }, { text: 'x'.repeat(3000) }], limits);
    expect(read(last)).toMatchObject({ json: { events: [{ a: 1 }] }, truncated: true });
  });

  it('events that fill the limit on buffered bytes exactly are all kept, as they came', () => {
    const texts = ['{"a": 1.50}', `{"a": 1.50, "b": "${'x'.repeat(300)}"}`];
    const chars = texts.join('').length;
    const held = [0, 1].map((missing) => {
      const responseMaxBytes = (chars - missing) / bufferedCharsPerStoredByte;
      const payload = new StreamPayload({ streamMaxEvents: 128, responseMaxBytes });
      for (const text of texts) payload.see({ chunk: { a: 1.5 }, text });
      return payload.held();
    });
    expect(held).toEqual([
      { events: texts, truncated: false, isCut: false },
      { events: texts.slice(0, 1), truncated: true, isCut: true },
    ]);
  });

  it('a text that spans several events is redacted as one', () => {
    const event = (content: string): JsonObject => ({ choices: [{ index: 0, delta: { content } }] });
    const payload = streamOf(['{"pass', 'word":"hun', 'ter2"}'].map(event));
    expect(jsonOf(payload)).toMatchObject({ events: ['{"pass', 'word":"[REDACTED]', '"}'].map(event) });
  });

  it('the image data of a stream is truncated before it is buffered', () => {
    const image = (index: number): JsonObject => ({
      type: 'response.image_generation_call.partial_image',
      partial_image_index: index,
      partial_image_b64: 'A'.repeat(3_000_000),
    });
    const payload = new StreamPayload({ streamMaxEvents: 128, responseMaxBytes: cap });
    for (let index = 0; index < 3; index += 1) payload.see({ chunk: image(index) });
    const completed = { type: 'response.completed', text: 'x'.repeat(300) };
    payload.see({ chunk: completed });
    expect(payload.held()).toEqual({
      events: [
        ...[0, 1, 2].map((index) => ({
          ...image(index),
          partial_image_b64: '[TRUNCATED 3000000 characters]',
        })),
        completed,
      ].map((event) => JSON.stringify(event)),
      truncated: true,
      isCut: false,
    });
  });
});

const deepText = (levels: number): string => {
  const half = Math.floor(levels / 2);
  const odd = levels % 2 === 1;
  return `${odd ? '[' : ''}${'{"a":['.repeat(half)}"x"${']}'.repeat(half)}${odd ? ']' : ''}`;
};
const deep = (levels: number): Json => JSON.parse(deepText(levels)) as Json;

describe('values that databases may reject', () => {
  it(`${maxJsonDepth} levels of nesting, the maximum of a body, are kept`, () => {
    const body = deep(maxJsonDepth);
    expect(read(redactedRequest({}, body, rules, cap))).toEqual({
      json: { headers: {}, body },
      truncated: false,
    });
    const event = { a: deep(maxJsonDepth - 1) };
    expect(read(streamOf([event]))).toMatchObject({ json: { events: [event] }, truncated: false });
  });

  it(`${maxPayloadDepth} levels of a whole payload are kept, and one more is cut off`, () => {
    const whole = deepText(maxPayloadDepth - 1);
    expect(redactedResponseText(whole, rules, cap)).toEqual({ text: `{"body":${whole}}`, truncated: false });
    const { text, truncated } = redactedResponseText(`[${whole}]`, rules, cap);
    expect(truncated).toBe(true);
    expect(text).toContain('[TRUNCATED: nested too deeply]');
  });

  it.each([300, 10_000, 1_000_000])('%d levels of nesting are cut off', (levels) => {
    const text = `{"password":"hunter2","deep":${deepText(levels)}}`;
    const events = { events: [text, text], truncated: false, isCut: false };
    const seen = new StreamPayload({ streamMaxEvents: 1, responseMaxBytes: 1e9 });
    seen.see({ chunk: {}, text });
    for (const payload of [
      redactedRequestText({}, { text, isParsed: true }, rules, cap),
      redactedRequestText({}, { text, isParsed: false }, rules, cap),
      redactedResponseText(text, rules, cap),
      redactedStream(events, { usage: undefined, error: undefined }, rules, cap),
      redactedStream(seen.held(), { usage: undefined, error: undefined }, rules, cap),
    ]) {
      expect(payload.truncated).toBe(true);
      expect(payload.text).toContain('[TRUNCATED: nested too deeply]');
      expect(payload.text).not.toContain('hunter2');
    }
  });

  it('an array of 100,000 items is cut to the cap', () => {
    const body = { input: Array.from({ length: 100_000 }, (_, index) => `item ${index}`) };
    const payload = redactedRequest({}, body, rules, cap);
    expect(payload.truncated).toBe(true);
    expect(bytesOf(payload)).toBeLessThanOrEqual(cap);
  });

  it('numbers keep every digit, even 1e400', () => {
    const text = '{"body":{"a":1e400,"b":9007199254740993,"c":1.50,"d":-0.0,"e":[1E+2]}}';
    expect(redactedResponseText(text.slice('{"body":'.length, -1), rules, cap).text).toBe(text);
  });

  it('a number that no database can hold is kept as text', () => {
    const body = parseExact(`{"a":1e99999,"b":1e-99999,"c":${'1'.repeat(9000)},"d":1E+400}`);
    expect(redactedResponse(body, rules, cap)).toEqual({
      text: `{"body":{"a":"1e99999","b":"1e-99999","c":"${'1'.repeat(9000)}","d":1E+400}}`,
      truncated: false,
    });
  });

  it.each<[string, boolean]>([
    ['1'.repeat(8000), true],
    ['1'.repeat(8001), false],
    ['1E8000', true],
    ['1E8001', false],
    ['1E-8001', false],
  ])('a number is kept as a number if every database can hold it: %#', (digits, holds) => {
    const { text } = redactedResponse(parseExact(`{"a":${digits}}`), rules, cap);
    expect(text).toBe(`{"body":{"a":${holds ? digits : `"${digits}"`}}}`);
  });

  it('U+0000 and lone surrogates are kept, since the store replaces them', () => {
    const text = 'a\0b\ud800c\udc00';
    expect(jsonOf(redactedResponse({ text, [text]: 1 }, rules, cap))).toEqual({ body: { text, [text]: 1 } });
  });

  const eightMegabytes = (unit: string): string => unit.repeat(Math.ceil(8_000_000 / unit.length));

  it.each([
    ['plain text', { text: eightMegabytes('lorem ipsum dolor sit amet, ') }],
    ['text in Japanese', { text: eightMegabytes('日本語のテキスト') }],
    ['code', { text: eightMegabytes('const a = { "b": "c", d: `e` }; // "f": g\n') }],
    ['base64 in an image', { image_url: { url: `data:image/png;base64,${eightMegabytes('iVBORw0KGgo')}` } }],
    ['base64 in a text', { text: eightMegabytes('iVBORw0KGgo') }],
    ['JSON in a text', { text: eightMegabytes('{"role": "user", "content": "hello", "n": 1.5},') }],
    ['U+0000', { text: eightMegabytes('\0') }],
    ['lone surrogates', { text: eightMegabytes('\ud800') }],
    ['quotes', { text: eightMegabytes('"') }],
    ['URL queries', { url: eightMegabytes('://a@b?') }],
    ['URLs in an error', { error: { message: eightMegabytes("'https://u:p@h/a?b' ") } }],
    ['a caller’s key', { text: eightMegabytes('f0f0') }],
    [
      'small members',
      Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key_${index}`, `value ${index}`])),
    ],
    ['small items', { input: Array.from({ length: 500_000 }, (_, index) => `${index}`) }],
  ])('8 MB of %s: the cap holds, in time proportional to the size', (_, body) => {
    const busy = forCaller(
      redactionRules(
        ['body.metadata.*', 'body.messages.*.name'],
        Array.from({ length: 20 }, (_, index) => `sk-${index}-0123456789abcdef`),
      ),
      [`gwk_0123456789abcdef.${'f0'.repeat(32)}`, 'f0'.repeat(32)],
    );
    const work = (): void => {
      const payload = redactedRequest({ accept: '*/*' }, body, busy, cap);
      expect(bytesOf(payload)).toBeLessThanOrEqual(cap);
    };
    expect(costWithin(15_000, work)).toBeLessThan(15_000);
  });
});

describe('a stored payload of any JSON', () => {
  const anyJson: fc.Arbitrary<Json> = fc.oneof(
    aPlantedTree,
    aPlantedText,
    aJsonObject,
    exactJsonText.map((text) => parseExact(text)),
    fc.dictionary(anyText, anyText, { noNullPrototype: true }),
  );

  it('is within the cap and contains no secret', () => {
    fc.assert(
      fc.property(anyJson, anyJson, fc.integer({ min: 1, max: 3000 }), (body, other, maxBytes) => {
        for (const payload of [
          redactedRequest({ a: 'b' }, body, rules, maxBytes),
          redactedResponse(body, rules, maxBytes),
          streamOf(
            [{ body }, { body: other }],
            { streamMaxEvents: 2, responseMaxBytes: maxBytes },
            { usage: body, error: other },
          ),
        ])
          expect(bytesOf(payload)).toBeLessThanOrEqual(maxBytes);
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(
        fc.oneof(aPlantedTree, aPlantedText),
        fc.integer({ min: 1, max: 3000 }),
        (body, maxBytes) => {
          for (const payload of [
            redactedRequest({ a: 'b' }, body, rules, maxBytes),
            redactedResponse(body, rules, maxBytes),
            streamOf(
              [{ body }],
              { streamMaxEvents: 2, responseMaxBytes: maxBytes },
              { usage: body, error: body },
            ),
          ])
            expect(payload.text).not.toContain(canaryLetter);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is identical to the input if no rule applies and it is within the cap', () => {
    fc.assert(
      fc.property(aJsonObject, (body) => {
        const payload = redactedRequest({ 'user-agent': 'a' }, body, rules, 1e6);
        expect(payload).toEqual({
          text: JSON.stringify({ headers: { 'user-agent': 'a' }, body }),
          truncated: false,
        });
      }),
    );
  });

  it('is the same as if each of its texts had been searched for secrets separately', () => {
    const paths = [[], ['body.a'], ['body.messages.*.content', '*.k_'], ['events.*.x', 'usage']];
    const aSecret = fc.constantFrom('sk-configured-0123456789', '31415926535', 'päss/wörd "1" \\ secret');
    const aKey = fc.oneof(
      aRedactedKey,
      aPlainKey,
      fc.constantFrom(
        ...'bytes b64_json partial_image_b64 file_data fileData data url imageURL image_urls input_audio'.split(
          ' ',
        ),
        ...'result delta type is_error isError content message detail lastError exception source a x'.split(
          ' ',
        ),
        ...'to\u212aen last_error_details referer DATA \u{1F600} __proto__'.split(' '),
      ),
    );
    const long = 'QUJD'.repeat(100);
    const aText = fc.oneof(
      aPlantedText,
      aCanaryUrl,
      aSecret.map((secret) => `before ${secret} after`),
      // Near the position at which a text of this length is cut.
      fc
        .tuple(fc.constantFrom('x', '\n', '–', '"', '/'), fc.integer({ min: 20, max: 120 }), aSecret)
        .map(([unit, times, secret]) => unit.repeat(times) + secret + unit.repeat(900)),
      fc.constantFrom(
        long,
        `data:image/png;base64,${long}`,
        ` \n\u000bDATA:;x,${long}`,
        `https://h/p?q=1&${long}`,
        'image_generation_call',
        'response.audio.delta',
        '{"to\u212aen":"hunter2"}',
        'say "data:" and "url" : twice',
      ),
    );
    const aTree = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        aText as fc.Arbitrary<Json>,
        exactJsonText.map((text) => parseExact(text)),
        fc.constantFrom<Json>(true, false, null, 31_415_926_535, 'text'),
        fc.dictionary(aKey, tie('tree'), { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<Json>,
        fc.array(tie('tree'), { maxLength: 3 }),
      ),
    })).tree;
    const aWrapped: fc.Arbitrary<JsonObject> = fc.oneof(
      aTree.map((body) => ({ headers: { 'x-a': 'b', Cookie: 'c' }, body })),
      aTree.map((body) => ({ body })),
      fc
        .tuple(fc.array(aTree, { maxLength: 3 }), aTree, aTree)
        .map(([events, usage, error]) => ({ stream: true, events, usage, error })),
      aTree.map((result) => ({ result })),
    );
    let untouched = 0;
    fc.assert(
      fc.property(
        aWrapped,
        fc.constantFrom(...paths),
        fc.array(aSecret, { maxLength: 2 }),
        fc.constantFrom(100, 1000, cap),
        (wrap, redactionPaths, secrets, maxBytes) => {
          const policy = redactionRules(redactionPaths, secrets);
          const wrapped = membersOf(wrap);
          const clean = redacted(wrapped, policy);
          const slim = withoutBulk(clean);
          const whole = printed(slim, 'as it came');
          const fits = Buffer.byteLength(whole) <= maxBytes;
          const expected = fits ? whole : printed(plainlyCapped(slim, maxBytes), 'tight');
          expect(stored(wrapped, false, policy, maxBytes).text).toBe(expected);
          if (clean === wrapped) untouched += 1;
        },
      ),
      { numRuns: 2000 },
    );
    expect(untouched).toBeGreaterThan(100);
  });
});
