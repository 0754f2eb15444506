import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as E from 'fp-ts/lib/Either.js';
import {
  type Input,
  integerInput,
  nullableInput,
  optionalInput,
  otherwise,
  readInputs,
  textInput,
} from '../../interfaces/http/admin/inputs.ts';
import {
  displayNameInput,
  emailInput,
  modelsInput,
  ownerIdInput,
} from '../../interfaces/http/admin/object-inputs.ts';

const long = (chars: number): string => 'x'.repeat(chars);
const models = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `m${at}`);
const read = (codec: Input<unknown>, given: unknown) => readInputs({ it: given }, { it: codec }, () => '');

const inputs: readonly (readonly [string, Input<unknown>, readonly unknown[], readonly unknown[]])[] = [
  [
    'text of 1 to 3 characters',
    textInput(3),
    ['a', 'abc', '😀😀😀'],
    ['', 'abcd', '😀😀😀😀', 5, null, ['a'], 'a\0', '\ud800'],
  ],
  ['a whole number from 2 to 4', integerInput(2, 4), [2, 4], [1, 5, 2.5, '2', true, null]],
  [
    'a display name',
    displayNameInput,
    ['Ann', long(128), '😀'.repeat(128)],
    ['', ' ', long(129), '😀'.repeat(129), 'a\nb', 5],
  ],
  ['an owner id', ownerIdInput, ['a', '9', long(128)], ['', '-a', 'a b', long(129), 5]],
  ['models', modelsInput, [[], ['a', long(256)], models(10_000)], [models(10_001), [''], 'a', null]],
  [
    'ids of models',
    modelsInput,
    [['ü'], ['😀'.repeat(256)]],
    [[long(257)], ['😀'.repeat(257)], ['a', 5], [null], ['a\0'], ['\ud800']],
  ],
  ['something or null', nullableInput(textInput(3)), ['a', null], ['', 'abcd', undefined]],
  ['something optional', optionalInput(nullableInput(textInput(3))), ['a', null, undefined], ['', 5]],
];

describe('an input of an admin call', () => {
  it.each(inputs)('that is %s takes exactly that', (_name, codec, taken, refused) => {
    for (const given of taken) expect([given, E.isRight(read(codec, given))]).toEqual([given, true]);
    for (const given of refused)
      expect([given, read(codec, given)]).toEqual([
        given,
        E.left(expect.objectContaining({ code: 'invalid_request', param: 'it' })),
      ]);
  });

  it.each(inputs)('that is %s has a schema that allows every value that it takes', (_name, codec, taken) => {
    const allows = addFormats.default(new Ajv2020({ strict: false })).compile(codec.schema);
    for (const given of taken) expect([given, allows(given ?? null)]).toEqual([given, true]);
  });

  it('is the value as given, and an address in the form that identifies accounts', () => {
    expect(read(textInput(3), 'abc')).toEqual(E.right({ it: 'abc' }));
    expect(read(modelsInput, ['b', 'a'])).toEqual(E.right({ it: ['b', 'a'] }));
    expect(read(nullableInput(textInput(3)), null)).toEqual(E.right({ it: null }));
    expect(read(emailInput, 'Ann@Example.com')).toEqual(E.right({ it: 'ann@example.com' }));
    expect(E.isLeft(read(emailInput, 'ann'))).toBe(true);
  });

  it('has its default only if it is omitted', () => {
    const codec = otherwise(nullableInput(textInput(3)), 'd');
    expect(readInputs({}, { it: codec }, () => '')).toEqual(E.right({ it: 'd' }));
    expect(read(codec, null)).toEqual(E.right({ it: null }));
  });

  it('that is refused is explained by what it must be', () => {
    expect(read(textInput(3), '')).toMatchObject({
      left: { message: expect.stringContaining('`it` must be text of 1 to 3 characters.') },
    });
  });
});
