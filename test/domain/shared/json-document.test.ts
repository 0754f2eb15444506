import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { isObject, type Json } from '../../../domain/shared/json.ts';
import { parseText } from '../../../domain/shared/parse-text.ts';
import {
  exactMember,
  type JsonDocument,
  parseDocument,
  withMembers,
} from '../../../domain/shared/json-document.ts';
import type { Watched } from '../../../domain/shared/json-scan.ts';
import { maxEscapedKeys, maxJsonDepth } from '../../../domain/shared/limits.ts';
import {
  aFieldName,
  aJson,
  aJsonObject,
  exactJsonText,
  literalOf,
  writtenOf,
} from '../../support/arbitraries/json-text.ts';

const watched: Watched = { a: { b: {} }, list: { '*': { c: {}, '*': {} } } };

const documentOf = (text: string): JsonDocument => {
  const parsed = parseDocument(text, watched);
  if (E.isLeft(parsed)) throw new Error(`${parsed.left.path}: ${parsed.left.message}`);
  return parsed.right;
};

const faultOf = (text: string) => {
  const parsed = parseDocument(text, watched);
  return E.isLeft(parsed) ? parsed.left : undefined;
};

const isJson = (text: string): boolean =>
  E.isRight(
    E.tryCatch(
      () => parseText(text) as Json,
      () => undefined,
    ),
  );

describe('a repeated key', () => {
  it.each([
    ['{"x":1,"x":1}', 'x'],
    ['{"x":1,"y":{},"x":2}', 'x'],
    ['{"x":1,"\\u0078":2}', 'x'],
    ['{"\\u0078":1,"x":2}', 'x'],
    ['{"\\u00e9":1,"\\u00E9":2}', 'é'],
    ['{"é":1,"\\u00e9":2}', 'é'],
    ['{"a/b":1,"a\\/b":2}', 'a/b'],
    ['{"":1,"":2}', ''],
    ['{"\\ud83d\\ude00":1,"😀":2}', '😀'],
    ['{"\\"":1,"\\u0022":2}', '"'],
    ['{"toString":1,"toString":2}', 'toString'],
  ])('at the top level is rejected, also if it is written with escapes: %s', (text, path) => {
    expect(faultOf(text)).toEqual({ path, message: `The key \`${path}\` is repeated.` });
  });

  it.each([
    ['{"a":{"x":1,"x":2}}', 'a.x'],
    ['{"a":{"b":{"x":1,"\\u0078":2}}}', 'a.b.x'],
    ['{"list":[{"x":1},{"x":1,"x":2}]}', 'list[1].x'],
    ['{"list":[[{"x":1,"x":2}]]}', 'list[0][0].x'],
    ['{"list":[1,"two",{"c":{"x":1,"x":2}}]}', 'list[2].c.x'],
    ['{"\\u0061":{"x":1,"x":2}}', 'a.x'],
  ])('at a level that the gateway reads is rejected by its path: %s', (text, path) => {
    expect(faultOf(text)?.path).toBe(path);
  });

  it('is searched among at most `maxEscapedKeys` keys with escapes; a body with more is rejected', () => {
    const text = (count: number): string =>
      `{${Array.from({ length: count }, (_, index) => `"\\u006b${index}" :"\\"\\""`).join(',')}}`;
    expect(faultOf(text(maxEscapedKeys))).toBeUndefined();
    expect(faultOf(text(maxEscapedKeys + 1))).toEqual({
      path: 'body',
      message: `The request body has more than ${maxEscapedKeys} keys that are spelled with an escape.`,
    });
  });

  it.each([
    ['{"z":{"x":1,"x":2}}'],
    ['{"a":{"z":{"x":1,"x":2}}}'],
    ['{"a":[{"x":1,"x":2}]}'],
    ['{"list":{"x":{"y":1,"y":2}}}'],
    ['{"list":[{"z":[{"x":1,"x":2}]}]}'],
    ['{"z":[{"x":1,"x":2}]}'],
    ['{"b":{"x":1,"x":2}}'],
  ])('at a level that the gateway does not read passes: %s', (text) => {
    expect(faultOf(text)).toBeUndefined();
    expect(documentOf(text).text).toBe(text);
  });

  it.each([
    ['{"x":1,"X":2}'],
    ['{"é":1,"e\u0301":2}'],
    ['{"a":1,"b":{"a":1}}'],
    ['{"list":[{"c":1},{"c":1}]}'],
  ])('is neither a similar key nor the same key in two objects: %s', (text) => {
    expect(faultOf(text)).toBeUndefined();
  });

  it('is truncated in the error if it is long', () => {
    const key = (length: number): string => 'k'.repeat(length);
    expect(faultOf(`{"${key(128)}":1,"${key(128)}":2}`)?.path).toBe(key(128));
    expect(faultOf(`{"${key(129)}":1,"${key(129)}":2}`)).toEqual({
      path: `${key(128)}…`,
      message: `The key \`${key(128)}…\` is repeated.`,
    });
  });

  it('is always found at the top level, wherever it is and however it is written', () => {
    const repeated = fc
      .tuple(fc.dictionary(aFieldName, fc.constant(null), { minKeys: 1, maxKeys: 5 }), fc.nat())
      .chain(([object, pick]) => {
        const keys = Object.keys(object);
        const key = keys[pick % keys.length]!;
        const members = [...keys, key].map((name) => literalOf(name).map((literal) => `${literal}:null`));
        return fc.tuple(fc.constant(key), fc.tuple(...members), fc.nat({ max: keys.length }));
      });
    fc.assert(
      fc.property(repeated, ([key, members, place]) => {
        const extra = members.at(-1)!;
        const all = members.slice(0, -1).toSpliced(place, 0, extra);
        expect(faultOf(`{${all.join(',')}}`)).toMatchObject({ path: key });
      }),
      { numRuns: 300 },
    );
  });
});

describe('the key `__proto__`', () => {
  it.each([
    ['{"__proto__":{}}', '__proto__'],
    ['{"x":1,"__proto__":null}', '__proto__'],
    ['{"\\u005f_proto__":{}}', '__proto__'],
    ['{"a":{"__proto__":1}}', 'a.__proto__'],
    ['{"list":[{"__proto__":1}]}', 'list[0].__proto__'],
  ])('is rejected at a level that the gateway reads: %s', (text, path) => {
    expect(faultOf(text)).toEqual({ path, message: '`__proto__` is not a field.' });
  });

  it('passes at a level that the gateway does not read', () => {
    expect(documentOf('{"z":{"__proto__":{"x":1}}}').text).toContain('__proto__');
  });
});

describe('nesting', () => {
  const inArrays = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  const inObjects = (levels: number): string => '{"k":'.repeat(levels) + '1' + '}'.repeat(levels);
  /** Bodies of exactly that many levels, including the body itself. */
  const bodies: readonly (readonly [string, (levels: number) => string])[] = [
    ['arrays at a level that is not read', (levels) => `{"z":${inArrays(levels - 1)}}`],
    ['objects at a level that is not read', (levels) => `{"z":${inObjects(levels - 1)}}`],
    ['arrays below a level that is read', (levels) => `{"a":{"b":{"z":${inArrays(levels - 3)}}}}`],
    ['items of a list that is read', (levels) => `{"list":[{"c":{"z":${inArrays(levels - 4)}}}]}`],
    ['brackets in strings beside it', (levels) => `{"s":"${'['.repeat(500)}","z":${inArrays(levels - 1)}}`],
    [
      'many shallow values before it',
      (levels) => `{"s":[${'[],{},'.repeat(500)}1],"z":${inArrays(levels - 1)}}`,
    ],
  ];

  it.each(bodies)(`of ${maxJsonDepth} levels is allowed, one more is not: %s`, (_, body) => {
    expect(faultOf(body(maxJsonDepth))).toBeUndefined();
    expect(faultOf(body(maxJsonDepth + 1))).toEqual({
      path: 'body',
      message: `The request body is nested deeper than ${maxJsonDepth} levels.`,
    });
  });

  it.each([
    ['objects', '{"k":'.repeat(1_000_000)],
    ['arrays', `{"z":${'['.repeat(1_000_000)}`],
    ['only arrays', '['.repeat(1_000_000)],
    ['only closed arrays', '['.repeat(1_000_000) + ']'.repeat(1_000_000)],
  ])('of a million levels is rejected: %s', (_, text) => {
    expect(faultOf(text)?.message).toMatch(/nested deeper/);
  });
});

describe('a body that is not a JSON object', () => {
  it.each([['[]'], ['[{"a":1}]'], ['1'], ['"text"'], ['null'], ['true'], [' \n "x" ']])(
    'is rejected if it is another JSON value: %s',
    (text) => {
      expect(faultOf(text)).toEqual({ path: 'body', message: 'The request body must be a JSON object.' });
    },
  );

  it.each([
    [''],
    [' '],
    ['{'],
    ['}'],
    ['{"a"'],
    ['{"a":'],
    ['{"a":1'],
    ['{"a":1,'],
    ['{"a":1,}'],
    ['{,}'],
    ['{"a" 1}'],
    ['{"a":}'],
    ['{"a":1 "b":2}'],
    ['{a:1}'],
    ["{'a':1}"],
    ['{"a":1}}'],
    ['{"a":1}{"a":1}'],
    ['{"a":1} x'],
    ['{"a":01}'],
    ['{"a":.5}'],
    ['{"a":1.}'],
    ['{"a":+1}'],
    ['{"a":NaN}'],
    ['{"a":undefined}'],
    ['{"a":tru}'],
    ['{"a":"\\x"}'],
    ['{"a":"\\u12"}'],
    ['{"\\u12":1}'],
    ['{"a":"\n"}'],
    ['{"a":"b}'],
    ['{"a":[1,2}'],
    ['{"a":[1,2]'],
    ['{"a":[1 2]}'],
    ['{"a":[1,]}'],
    ['{"a":{]}'],
    ['{"list":[{}'],
    ['{"list":[1,]}'],
    ['{"list":[}'],
    ['{"a":1/*c*/}'],
    ['{"a":1}//c'],
    ['{\u00a0"a":1}'],
    ['{\u000b"a":1}'],
    ['\uFEFF{"a":1}'],
    ['{"a":1}\0'],
  ])('is rejected if it is not JSON: %j', (text) => {
    expect(isJson(text)).toBe(false);
    expect(faultOf(text)?.path).toBe('body');
  });
});

describe('invalid JSON', () => {
  it.each([
    ['', 1],
    [' ', 2],
    ['}', 1],
    ['{', 2],
    ['{"a"', 5],
    ['{"a":', 6],
    ['{"a":1', 7],
    ['{"a":1,', 8],
    ['{"a":1,}', 8],
    ['{,}', 2],
    ['{"a" 1}', 6],
    ['{"a":}', 6],
    ['{"a":1 "b":2}', 8],
    ['{a:1}', 2],
    ['[1', 3],
    ['[1,[2]', 7],
    ['"abc', 5],
    ['{"a":"b', 8],
    ['{"a":[1,2]', 11],
    ['{"list":[1 2]}', 12],
    ['{"list":[1,]}', 12],
    ['{"list":[}', 10],
    ['{"a":{"b":1 2}}', 13],
    ['{"list":[{"c" 1}]}', 15],
  ])('is reported with the position at which the scan found it: %s, character %d', (text, character) => {
    expect(faultOf(text)?.message).toBe(`The request body is not valid JSON (character ${character}).`);
  });

  it.each([['{"a":01}'], ['{"a":1} x'], ['{"a":tru}']])(
    'is reported without a position if the scan did not find it: %s',
    (text) => {
      expect(faultOf(text)?.message).toBe('The request body is not valid JSON.');
    },
  );
});

describe('reading a document', () => {
  const mangled = fc
    .tuple(
      fc.oneof(exactJsonText, aJsonObject.chain(writtenOf)),
      fc.nat(),
      fc.nat({ max: 3 }),
      fc.string({ maxLength: 2 }),
    )
    .map(([text, at, cut, put]) => {
      const from = at % (text.length + 1);
      return text.slice(0, from) + put + text.slice(from + cut);
    });
  const tokens = fc
    .array(fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '"a"', '"list"', '1', 'null', ' '), {
      maxLength: 16,
      size: 'max',
    })
    .map((pieces) => pieces.join(''));

  it('never throws, and succeeds only if the text is a JSON object', () => {
    fc.assert(
      fc.property(fc.oneof(mangled, tokens, fc.string()), (text) => {
        const parsed = parseDocument(text, watched);
        if (E.isLeft(parsed)) return;
        const value = parseText(text) as Json;
        expect(isObject(value)).toBe(true);
        expect(parsed.right.value).toEqual(value);
      }),
      { numRuns: 3000 },
    );
  });

  it('always succeeds for an object with unique keys, however it is written', () => {
    const written = aJsonObject.chain((object) => fc.tuple(fc.constant(object), writtenOf(object)));
    fc.assert(
      fc.property(written, ([object, text]) => {
        const { value, text: kept } = documentOf(text);
        expect(value).toEqual(object);
        expect(kept).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it('finds the exact span of every top-level member', () => {
    const written = aJsonObject.chain((object) => fc.tuple(fc.constant(object), writtenOf(object)));
    fc.assert(
      fc.property(written, ([object, text]) => {
        const { members } = documentOf(text);
        expect(members.map(({ key }) => key)).toEqual(writtenKeys(text));
        for (const { key, start, valueStart, end } of members) {
          expect(parseText(`{${text.slice(start, end)}}`)).toEqual({ [key]: object[key] });
          expect(parseText(text.slice(valueStart, end))).toEqual(object[key]);
          expect(text.slice(start, end).trim()).toBe(text.slice(start, end));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('returns a member with every digit', () => {
    const document = documentOf('{"a" : {"n": 9007199254740993, "m": [0.10, 1e400]}, "b": 1}');
    expect(JSON.stringify(exactMember(document, 'a'))).toBe('{"n":9007199254740993,"m":[0.10,1e400]}');
    expect(exactMember(document, 'c')).toBeUndefined();
  });
});

/** The keys in the order in which they are written, integer-like ones too. */
const writtenKeys = (text: string): readonly string[] => {
  const keys: string[] = [];
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && token.endsWith(':')) keys.push(JSON.parse(token.slice(0, -1)) as string);
  }
  return keys;
};

describe('editing a document', () => {
  it.each<[string, string, readonly (readonly [string, Json | undefined])[], string]>([
    ['nothing', '{ "a" : 1 }', [], '{ "a" : 1 }'],
    ['a member replaced', '{"a":1,"b":2}', [['a', 3]], '{"a":3,"b":2}'],
    ['a member added', '{"a":1}', [['b', { c: [] }]], '{"a":1,"b":{"c":[]}}'],
    ['a member added to an empty object', '{}', [['b', null]], '{"b":null}'],
    ['a member removed', '{"a":1,"b":2}', [['a', undefined]], '{"b":2}'],
    ['the last member removed', '{"a":1,"b":2}', [['b', undefined]], '{"a":1}'],
    [
      'every member removed',
      '{"a":1,"b":2}',
      [
        ['a', undefined],
        ['b', undefined],
      ],
      '{}',
    ],
    ['a missing member removed', '{"a":1}', [['b', undefined]], '{"a":1}'],
    [
      'one replaced, one removed, one added',
      '{"a":1,"b":2,"c":3}',
      [
        ['b', 4],
        ['a', undefined],
        ['d', 5],
      ],
      '{"b":4,"c":3,"d":5}',
    ],
    ['a key that was written with escapes', '{"\\u0061":1,"b":2}', [['a', 3]], '{"\\u0061":3,"b":2}'],
  ])('%s', (_, text, changes, edited) => {
    expect(withMembers(documentOf(text), new Map(changes))).toBe(edited);
  });

  const someChanges = fc.array(fc.tuple(aFieldName, fc.option(aJson, { nil: undefined })), { maxLength: 4 });
  /** An object as text, and changes, most of which concern its own members. */
  const edits = fc
    .tuple(aJsonObject, someChanges, fc.array(fc.option(aJson, { nil: undefined }), { maxLength: 3 }))
    .chain(([object, free, values]) => {
      const own = Object.keys(object)
        .slice(0, values.length)
        .map((key, index) => [key, values[index]] as const);
      return fc.tuple(fc.constant(object), writtenOf(object), fc.constant(new Map([...free, ...own])));
    });

  it('returns the text of the object with the changes applied, whatever they are', () => {
    fc.assert(
      fc.property(edits, ([object, text, changes]) => {
        const expected = new Map<string, Json | undefined>(Object.entries(object));
        for (const [key, value] of changes) {
          if (value === undefined) expected.delete(key);
          else expected.set(key, JSON.parse(JSON.stringify(value)) as Json);
        }
        expect(parseText(withMembers(documentOf(text), changes))).toEqual(Object.fromEntries(expected));
      }),
      { numRuns: 500 },
    );
  });

  it('keeps the exact text and the order of every other member', () => {
    fc.assert(
      fc.property(edits, ([, text, changes]) => {
        const spans = (document: JsonDocument): readonly string[] =>
          document.members
            .filter(({ key }) => !changes.has(key))
            .map(({ start, end }) => document.text.slice(start, end));
        const document = documentOf(text);
        const edited = documentOf(withMembers(document, changes));
        expect(spans(edited)).toEqual(spans(document));
      }),
      { numRuns: 500 },
    );
  });

  it('keeps the digits of an unchanged member', () => {
    const text = '{"model":"a","n": 9007199254740993,"m":[0.10,1e400,-0]}';
    expect(withMembers(documentOf(text), new Map([['model', 'b']]))).toBe(text.replace('"a"', '"b"'));
  });
});

/** The number of objects, arrays, texts, numbers and literals in a value, at any depth. */
const countOf = (value: Json): number =>
  typeof value === 'object' && value !== null
    ? 1 + Object.values(value).reduce<number>((sum, inner) => sum + countOf(inner ?? null), 0)
    : 1;

describe('the values of a body are counted while it is scanned', () => {
  it.each([
    ['{}', 1],
    ['{ "a" : [ ] , "b" : { } }', 3],
    ['{"a":{"b":[1,2,{"c":null}]}}', 7],
    ['{"list":[{"c":[]},"x",{"y":":,"}],"z":[[],[[]],"[{,:"]}', 12],
  ])('%s', (text, count) => {
    expect(documentOf(text).valueCount).toBe(count);
  });

  it('exactly, however the body is written', () => {
    fc.assert(
      fc.property(
        aJsonObject.chain((object) => fc.tuple(fc.constant(object), writtenOf(object))),
        ([object, text]) => {
          expect(documentOf(text).valueCount).toBe(countOf(object));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('a body with more values than the limit is rejected with that limit before it is parsed', () => {
    fc.assert(
      fc.property(aJsonObject, (object) => {
        const text = JSON.stringify(object);
        const count = countOf(object);
        const never = (): Json => {
          throw new Error('It was parsed.');
        };
        expect(E.isRight(parseDocument(text, watched, undefined, count))).toBe(true);
        if (count === 1) return;
        expect(parseDocument(text, watched, never, count - 1)).toEqual(
          E.left({
            path: 'body',
            message: `The request body holds more than ${count - 1} JSON values.`,
            tooManyValues: true,
          }),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('a body far over the limit is not scanned to its end', () => {
    const text = `{"a":[${'{},'.repeat(1_000_000)}{}]}`;
    const scans = (maxValues: number): number => {
      const from = performance.now();
      parseDocument(text, watched, () => null, maxValues);
      return performance.now() - from;
    };
    scans(1_000_000);
    expect(Math.min(scans(1000), scans(1000), scans(1000))).toBeLessThan(
      scans(Number.POSITIVE_INFINITY) / 10,
    );
  });
});
