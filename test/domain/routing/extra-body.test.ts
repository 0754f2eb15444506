import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { overridden } from '../../../domain/routing/extra-body.ts';
import { deepMerge, type Json, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { type MemberChanges, parseDocument, withMembers } from '../../../domain/shared/json-document.ts';
import { aJsonObject, writtenOf } from '../../support/arbitraries/json-text.ts';

const documentOf = (text: string) => {
  const document = parseDocument(text, {});
  if (E.isLeft(document)) throw new Error(document.left.message);
  return document.right;
};

/** The outbound body. */
const outbound = (
  text: string,
  extraBody: JsonObject,
  changes: readonly (readonly [string, Json | undefined])[] = [],
) => {
  const document = documentOf(text);
  return E.map((all: MemberChanges) => withMembers(document, all))(
    overridden(document, new Map(changes), extraBody),
  );
};

describe('objects merge deeply; arrays, scalars and null replace', () => {
  it.each<[string, string, JsonObject, string]>([
    ['a new key', '{"a":1}', { b: { c: [1] } }, '{"a":1,"b":{"c":[1]}}'],
    ['a scalar', '{"a":1,"b":2}', { a: 2 }, '{"a":2,"b":2}'],
    ['null', '{"a":{"b":1}}', { a: null }, '{"a":null}'],
    ['an array over an array', '{"a":[1,2,3]}', { a: [4] }, '{"a":[4]}'],
    ['an array over an object', '{"a":{"b":1}}', { a: [4] }, '{"a":[4]}'],
    ['an object over a scalar', '{"a":1}', { a: { b: 1 } }, '{"a":{"b":1}}'],
    ['an object over a number with digits to keep', '{"a":1.0}', { a: { b: 1 } }, '{"a":{"b":1}}'],
    ['an object over null', '{"a":null}', { a: { b: 1 } }, '{"a":{"b":1}}'],
    ['an object over an array', '{"a":[1]}', { a: { b: 1 } }, '{"a":{"b":1}}'],
    [
      'objects',
      '{"a":{"b":{"c":1,"d":2},"e":3}}',
      { a: { b: { c: 9 }, f: 4 } },
      '{"a":{"b":{"c":9,"d":2},"e":3,"f":4}}',
    ],
    ['an empty object', '{"a":{"b":1.0}}', { a: {} }, '{"a":{"b":1.0}}'],
    ['an empty extra_body', '{ "a" : 1.0 }', {}, '{ "a" : 1.0 }'],
  ])('%s', (_, text, extraBody, out) => {
    expect(outbound(text, extraBody)).toEqual(E.right(out));
  });

  it('every digit of the body is kept', () => {
    expect(outbound('{"a":{"n":9007199254740993,"m":[0.10],"o":1e400,"p":-0.0}}', { a: { b: 1 } })).toEqual(
      E.right('{"a":{"n":9007199254740993,"m":[0.10],"o":1e400,"p":-0.0,"b":1}}'),
    );
  });
});

describe('extra_body is applied last, over the changes of the rules', () => {
  it.each<[string, string, readonly (readonly [string, Json | undefined])[], JsonObject, string]>([
    ['over a member that a rule set', '{"a":1}', [['a', 2]], { a: 3 }, '{"a":3}'],
    [
      'into a member that a rule set',
      '{"a":{"x":1}}',
      [['a', { y: 2 }]],
      { a: { z: 3 } },
      '{"a":{"y":2,"z":3}}',
    ],
    [
      'not merged with a member that a rule removed',
      '{"a":{"x":1}}',
      [['a', undefined]],
      { a: { z: 3 } },
      '{"a":{"z":3}}',
    ],
    ['beside a member that a rule removed', '{"a":1,"b":2}', [['a', undefined]], { b: 3 }, '{"b":3}'],
    [
      'over a number that a rule kept',
      '{"a":1.0}',
      [['b', parseExact('1.0')]],
      { b: { c: 1 } },
      '{"a":1.0,"b":{"c":1}}',
    ],
    [
      'beside a number that a rule kept',
      '{"a":1.0}',
      [['b', parseExact('1.0')]],
      { c: 1 },
      '{"a":1.0,"b":1.0,"c":1}',
    ],
  ])('%s', (_, text, changes, extraBody, out) => {
    expect(outbound(text, extraBody, changes)).toEqual(E.right(out));
  });

  it('the given changes are not modified', () => {
    const changes = new Map<string, Json>([['a', { y: 2 }]]);
    overridden(documentOf('{}'), changes, { a: { z: 3 }, b: 1 });
    expect([...changes]).toEqual([['a', { y: 2 }]]);
  });
});

describe('a repeated key is rejected at a level of the caller’s body that extra_body edits', () => {
  it.each<[string, JsonObject, string]>([
    ['{"a":{"x":1,"x":2}}', { a: { y: 1 } }, 'a.x'],
    ['{"a":{"x":1,"\\u0078":2}}', { a: {} }, 'a.x'],
    ['{"a":{"b":{"x":1,"x":2}}}', { a: { b: { y: 1 } } }, 'a.b.x'],
    ['{"a":{"__proto__":1}}', { a: { y: 1 } }, 'a.__proto__'],
  ])('%s', (text, extraBody, param) => {
    expect(outbound(text, extraBody)).toEqual(
      E.left(expect.objectContaining({ code: 'invalid_request', param })),
    );
  });

  it.each<[string, JsonObject]>([
    ['{"a":{"x":1,"x":2}}', { a: null }],
    ['{"a":{"x":1,"x":2}}', { a: [1] }],
    ['{"a":{"x":1,"x":2}}', { b: { x: 1 } }],
    ['{"a":{"b":{"x":1,"x":2}}}', { a: { y: 1 } }],
    ['{"a":{"b":{"x":1,"x":2}}}', { a: { b: 1 } }],
  ])(
    'a repeated key passes at a level that extra_body replaces or does not change: %s',
    (text, extraBody) => {
      expect(E.isRight(outbound(text, extraBody))).toBe(true);
    },
  );
});

it('the outbound body is always the deep merge of the body, the changes and extra_body', () => {
  const written = aJsonObject.chain((body) => fc.tuple(fc.constant(body), writtenOf(body)));
  fc.assert(
    fc.property(written, aJsonObject, aJsonObject, aJsonObject, ([body, text], over, own, put) => {
      // Most overrides concern existing keys.
      const [first, second] = Object.keys(body);
      const extraBody = {
        ...over,
        ...(first === undefined ? {} : { [first]: own }),
        ...(second === undefined ? {} : { [second]: own }),
      };
      const changes = second === undefined ? [] : [[second, put] as const];
      const expected = deepMerge({ ...body, ...Object.fromEntries(changes) }, extraBody);
      const out = outbound(text, extraBody, changes);
      expect(E.isRight(out) && JSON.parse(out.right)).toEqual(JSON.parse(JSON.stringify(expected)));
    }),
    { numRuns: 300 },
  );
});
