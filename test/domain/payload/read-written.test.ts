import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { redactedRequest, redactedResponse } from '../../../domain/payload/payload.ts';
import { readWritten } from '../../../domain/payload/read-written.ts';
import { redactionRules } from '../../../domain/payload/redact.ts';
import { printed } from '../../../domain/text/written.ts';
import { parseJson } from '../../../domain/shared/json.ts';
import { maxPayloadValues } from '../../../domain/shared/limits.ts';
import { aNumberText, exactJsonText, literalOf } from '../../support/arbitraries/json-text.ts';
import { anyText } from '../../support/arbitraries/text.ts';
import { writtenText } from '../../support/written.ts';
import { costWithin } from '../../support/cost.ts';

const blank = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 2 });

/** Keys that an engine moves to the front, that are repeated, or that are names of built-in members. */
const aKeyText: fc.Arbitrary<string> = fc.oneof(
  fc
    .constantFrom('0', '1', '2', '10', '4294967294', 'b', 'a', '', '__proto__', 'constructor')
    .map((key) => JSON.stringify(key)),
  anyText.chain(literalOf),
);

/** Any JSON text: with any digits, blanks and escapes, any order of keys, and repeated keys. */
const anyJsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => {
  const around = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.tuple(blank, text, blank).map((parts) => parts.join(''));
  return {
    value: around(
      fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        aNumberText,
        anyText.chain(literalOf),
        fc.constantFrom('null', 'true', 'false', '[]', '{ }', '"1.50"', '"\\ud83d\\ude00\\/"'),
        fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
        fc
          .array(fc.tuple(around(aKeyText), tie('value')), { maxLength: 4 })
          .map((pairs) => `{${pairs.map(([key, value]) => `${key}:${value}`).join(',')}}`),
      ),
    ),
  };
}).value;

const none = redactionRules([], []);

describe('JSON as it was written', () => {
  it('is printed as it came, character for character', () => {
    fc.assert(
      fc.property(anyJsonText, fc.boolean(), (text, isParsed) => {
        const read = readWritten(text, 300, isParsed);
        expect(read?.truncated).toBe(false);
        expect(printed(read?.value ?? null, 'as it came')).toBe(printed(writtenText(text), 'as it came'));
        expect(text).toContain(printed(read?.value ?? null, 'as it came'));
      }),
      { numRuns: 500 },
    );
  });

  it('is printed compactly without blanks, with every digit and the order of its keys', () => {
    fc.assert(
      fc.property(exactJsonText, (text) => {
        expect(printed(writtenText(text), 'tight')).toBe(text);
      }),
    );
    expect(printed(writtenText(' { "b" : 1.0 , "1" : [ -0 , 1e400 ] , "b" : "\\u00e9\\/" } '), 'tight')).toBe(
      '{"b":1.0,"1":[-0,1e400],"b":"é/"}',
    );
  });

  it('that was not parsed before is accepted exactly if `JSON.parse` accepts it', () => {
    const scrap = fc.constantFrom(
      ...'{}[],:"\\ \n\t\0\u001f0123456789.-+eEtrufalsn'.split(''),
      'true',
      '\\u00',
      'é',
    );
    const broken = fc.tuple(anyJsonText, fc.nat(), fc.nat(3), scrap).map(([text, at, cut, more]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + more + text.slice(place + cut);
    });
    const scraps = fc.array(scrap, { maxLength: 6 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(broken, scraps), (text) => {
        expect(readWritten(text, 300, false) !== undefined).toBe(parseJson(text) !== undefined);
      }),
      { numRuns: 5000 },
    );
  });

  it('of too many values ends with a marker', () => {
    const values = maxPayloadValues + 10;
    const read = readWritten(`{"a":[${'{},'.repeat(values)}1],"b":2}`, 300, true);
    expect(read?.truncated).toBe(true);
    const print = printed(read?.value ?? null, 'as it came');
    expect(print).toMatch(/\{\},"\[TRUNCATED: too many values\]"\],"\[TRUNCATED: too many values\]":true\}$/);
    expect(parseJson(print)).toBeDefined();
  });
});

describe('a stored payload', () => {
  it('is the caller’s own text if no rule applies', () => {
    fc.assert(
      fc.property(anyJsonText, (text) => {
        fc.pre(!/secret|token|password|"\s*:\s*"/i.test(text));
        const body = text.trim();
        const request = redactedRequest({ accept: '*/*' }, { text, isParsed: true }, none, 1e6);
        expect(request).toEqual({ text: `{"headers":{"accept":"*/*"},"body":${body}}`, truncated: false });
        expect(redactedResponse(text, none, 1e6).text).toBe(`{"body":${body}}`);
      }),
      { numRuns: 500 },
    );
  });

  const secret = 'sk-configured-0123456789';
  const marked = '[REDACTED]';

  it('keeps every digit, escape and key in place beside a redacted value', () => {
    const known = redactionRules([], [secret]);
    fc.assert(
      fc.property(anyJsonText, anyJsonText, (before, after) => {
        const text = (hidden: string): string =>
          `{"9":${before},"text":"${hidden}","1":${after},"b":[ 0.10, -0 ]}`;
        const stored = redactedResponse(text(secret), known, 1e6).text;
        expect(stored).toContain(marked);
        for (const kept of [`"9":${before.trim()},"text"`, `"1":${after.trim()},"b":[ 0.10, -0 ]`])
          expect(stored).toContain(kept);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['digits', '{"a":9007199254740993,"b":0.10,"c":1e400,"d":-0,"e":1.0}'],
    [
      'the order of keys, also of those that look like numbers',
      '{"b":1,"1":2,"a":{"10":1,"9":[{"2":1,"1":0}]}}',
    ],
  ])('keeps %s: plain, redacted, truncated and capped', (_, members) => {
    const hidden = members.replace('{', '{"password":"hunter2",');
    const bulky = members.replace('{', `{"b64_json":"${'QUJD'.repeat(200)}",`);
    const large = members.replace('{', `{"text":"${'x'.repeat(5000)}",`);
    const known = redactionRules([], []);
    const kept = members.slice(1);
    expect(redactedResponse(members, known, 1e6).text).toBe(`{"body":${members}}`);
    for (const text of [hidden, bulky]) expect(redactedResponse(text, known, 1e6).text).toContain(kept);
    expect(redactedResponse(large, known, 1000).text).toContain(kept);
  });

  it('shows no secret under a repeated key', () => {
    const rules = redactionRules(['body.hidden'], [secret]);
    for (const text of [
      `{"a":{"password":"hunter2"},"a":1}`,
      `{"password":"hunter2","password":"hunter2"}`,
      `{"a":"${secret}","a":"b"}`,
      `{"hidden":"hunter2","hidden":1}`,
      `{"error":"https://h/p?hunter2","error":1}`,
      `{"is_error":true,"content":"https://h/p?hunter2","is_error":false,"content":1}`,
    ]) {
      const { text: stored } = redactedResponse(text, rules, 1e6);
      expect(stored).not.toMatch(/hunter2|sk-/);
      expect(stored).toContain(marked);
    }
  });

  it('shows no secret that is written with escapes, in a text or a key', () => {
    const known = redactionRules([], [secret]);
    fc.assert(
      fc.property(literalOf(secret), fc.boolean(), (literal, isParsed) => {
        const body = { text: `{"a":[${literal}],${literal}:1,"b":{${literal}:{}}}`, isParsed };
        const { text } = redactedRequest({}, body, known, 1e6);
        expect(text).toBe(`{"headers":{},"body":{"a":["${marked}"],"${marked}":1,"b":{"${marked}":{}}}}`);
      }),
    );
  });

  it('is within the byte limit, however it was written', () => {
    fc.assert(
      fc.property(anyJsonText, fc.integer({ min: 1, max: 400 }), (text, maxBytes) => {
        const { text: stored } = redactedResponse(text, none, maxBytes);
        expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(maxBytes);
        expect(parseJson(stored)).toBeDefined();
      }),
      { numRuns: 1000 },
    );
  });

  it('that exceeds the limit only with its blanks is kept whole without them', () => {
    const text = `{"a":[${Array.from({ length: 50 }, () => '   "x"   ').join(',')}],"b":1.0}`;
    const tight = text.replaceAll(' ', '');
    expect(redactedResponse(text, none, tight.length + 20)).toEqual({
      text: `{"body":${tight}}`,
      truncated: false,
    });
  });

  it.each(['data', 'result', 'delta', 'is_error', 'type', 'index', 'content'])(
    'of many members with the same key `%s` takes time proportional to their number',
    (key) => {
      const object = `{${Array.from({ length: 30_000 }, () => `"${key}":"${'x'.repeat(260)}"`).join(',')}}`;
      const work = (): void => {
        const { text } = redactedResponse(object, none, 1e7);
        expect(text).toContain(key === 'data' ? `"data":"xxx` : key);
      };
      expect(costWithin(1500, work)).toBeLessThan(1500);
    },
  );
});
