import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  deepMerge,
  isDeeperThan,
  isObject,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
  parseExact,
  without,
} from '../../../domain/shared/json.ts';
import { aJson, aJsonObject, aNumberText, exactJsonText } from '../../support/arbitraries/json-text.ts';

describe('exact parsing', () => {
  it.each([
    ['9007199254740993'],
    ['0.10'],
    ['1e400'],
    ['1E2'],
    ['1e-7'],
    ['-0'],
    ['-0.0'],
    ['0.1000000000000000055511151231257827'],
    ['123456789012345678901234567890'],
    ['1.0'],
    ['5e-324'],
    ['100000000000000000000000'],
  ])('keeps the number %s as it is written', (text) => {
    expect(JSON.stringify(parseExact(text))).toBe(text);
    expect(JSON.stringify(parseExact(`{"a":[${text},"${text}"]}`))).toBe(`{"a":[${text},"${text}"]}`);
  });

  it('keeps any number as it is written', () => {
    fc.assert(
      fc.property(aNumberText, (text) => {
        expect(JSON.stringify(parseExact(text))).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps any JSON text as it is written, with every digit', () => {
    fc.assert(
      fc.property(exactJsonText, (text) => {
        expect(JSON.stringify(parseExact(text))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it('returns the same value as `JSON.parse`', () => {
    fc.assert(
      fc.property(exactJsonText, (text) => {
        expect(JSON.parse(JSON.stringify(parseExact(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('returns ordinary numbers where these print as they were written', () => {
    expect(parseExact('[1,-2,0,123456789012345,9007199254740991,0.5,1.25]')).toEqual([
      1, -2, 0, 123456789012345, 9007199254740991, 0.5, 1.25,
    ]);
  });
});

describe('the value of a number', () => {
  it.each([
    ['12', 12],
    ['12.0', 12],
    ['1.2e1', 12],
    ['0.10', 0.1],
    ['9007199254740993', 9007199254740992],
    ['1e400', Number.POSITIVE_INFINITY],
  ])('is read from %s', (text, number) => {
    expect(numberOf(parseExact(text))).toBe(number);
  });

  it.each([['"12"'], ['null'], ['true'], ['[12]'], ['{"rawJSON":"12"}']])('is undefined for %s', (text) => {
    expect(numberOf(parseExact(text))).toBeUndefined();
  });
});

describe('nesting', () => {
  const nested = (levels: number): Json => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as Json;

  it.each([
    [0, false],
    [1, false],
    [255, false],
    [256, false],
    [257, true],
    [100_000, true],
  ])('of %d levels is deeper than 256: %p', (levels, deeper) => {
    expect(isDeeperThan(levels === 0 ? 1 : nested(levels), 256)).toBe(deeper);
  });

  it('counts objects and arrays alike, at any position', () => {
    expect(isDeeperThan({ a: 1, b: [0, { c: [] }] }, 4)).toBe(false);
    expect(isDeeperThan({ a: 1, b: [0, { c: [] }] }, 3)).toBe(true);
  });
});

describe('objects merge deeply; arrays, scalars and null replace', () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['objects merge', { a: { b: 1, c: 2 } }, { a: { c: 3, d: 4 } }, { a: { b: 1, c: 3, d: 4 } }],
    ['an array replaces an array', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['an array replaces an object', { a: { b: 1 } }, { a: [] }, { a: [] }],
    ['an object replaces an array', { a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
    ['a scalar replaces an object', { a: { b: 1 } }, { a: 1 }, { a: 1 }],
    ['null replaces an object', { a: { b: 1 } }, { a: null }, { a: null }],
    ['an object replaces null', { a: null }, { a: { b: 1 } }, { a: { b: 1 } }],
    ['a new key is added', { a: 1 }, { b: { c: 1 } }, { a: 1, b: { c: 1 } }],
  ])('%s', (_, base, over, merged) => {
    expect(deepMerge(base, over)).toEqual(merged);
  });

  it('merging with an empty object changes nothing, on either side', () => {
    fc.assert(
      fc.property(aJsonObject, (object) => {
        expect(deepMerge(object, {})).toEqual(object);
        expect(deepMerge({}, object)).toEqual(object);
      }),
    );
  });

  it('merging twice is the same as merging once', () => {
    fc.assert(
      fc.property(aJsonObject, aJsonObject, (base, over) => {
        const merged = deepMerge(base, over);
        expect(deepMerge(merged, over)).toEqual(merged);
      }),
    );
  });

  it('the result has every value of the object merged in, and no key that neither object has', () => {
    const holds = (merged: Json | undefined, over: Json | undefined): boolean =>
      isObject(over) && isObject(merged)
        ? Object.entries(over).every(([key, value]) => holds(merged[key], value))
        : JSON.stringify(merged) === JSON.stringify(over);
    fc.assert(
      fc.property(aJsonObject, aJsonObject, (base, over) => {
        const merged = deepMerge(base, over);
        expect(holds(merged, over)).toBe(true);
        expect(Object.keys(merged).every((key) => Object.hasOwn(base, key) || Object.hasOwn(over, key))).toBe(
          true,
        );
      }),
    );
  });

  it('merging never changes its arguments', () => {
    fc.assert(
      fc.property(aJsonObject, aJsonObject, (base, over) => {
        const before = JSON.stringify([base, over]);
        deepMerge(base, over);
        expect(JSON.stringify([base, over])).toBe(before);
      }),
    );
  });

  it('`__proto__` is merged like any other key, and no prototype is changed', () => {
    const over = JSON.parse('{"__proto__":{"polluted":true},"a":{"__proto__":1}}') as JsonObject;
    const merged = deepMerge({ a: { b: 1 } }, over);
    expect(JSON.stringify(merged)).toBe('{"a":{"b":1,"__proto__":1},"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
  });

  it('numbers that were parsed exactly are kept, and can be replaced by an object', () => {
    const base = parseExact('{"a":{"b":0.10},"n":1.50}') as JsonObject;
    expect(JSON.stringify(deepMerge(base, { a: { c: 1 } }))).toBe('{"a":{"b":0.10,"c":1},"n":1.50}');
    expect(JSON.stringify(deepMerge(base, { n: { c: 1 } }))).toBe('{"a":{"b":0.10},"n":{"c":1}}');
  });
});

describe('an object without a member', () => {
  it('has every other member, and is the same object if it has no such member', () => {
    const object = { a: 1, b: null };
    expect(without(object, 'a')).toEqual({ b: null });
    expect(without(object, 'c')).toBe(object);
    expect(without(object, 'toString')).toBe(object);
  });
});

describe('the objects of an array member', () => {
  it('are returned in order, and other items are ignored', () => {
    expect(objectsOf([1, { a: 1 }, null, [], 'x', { b: 2 }])).toEqual([{ a: 1 }, { b: 2 }]);
  });

  it('are empty for anything that is not an array', () => {
    fc.assert(
      fc.property(aJson, (value) => {
        fc.pre(!Array.isArray(value));
        expect(objectsOf(value)).toEqual([]);
      }),
    );
  });
});
