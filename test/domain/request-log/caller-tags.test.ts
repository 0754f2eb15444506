import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { type CallerTags, noTags, readCallerTags } from '../../../domain/request-log/caller-tags.ts';
import { aCharacterOf, textOf } from '../../support/arbitraries/text.ts';

type Headers = Readonly<Record<string, readonly string[]>>;

const read = (headers: Headers) => readCallerTags((name) => headers[name] ?? []);

const tagsOf = (headers: Headers): CallerTags => {
  const tags = read(headers);
  if (E.isLeft(tags)) throw new Error(tags.left.message);
  return tags.right;
};

/** The header that a violation names, in its message and as the parameter. */
const atFault = (headers: Headers): string | undefined => {
  const tags = read(headers);
  if (E.isRight(tags)) return undefined;
  expect(tags.left.code).toBe('invalid_request');
  expect(tags.left.message).toContain(`\`${tags.left.param}\``);
  return tags.left.param;
};

const bespoke = (text: string) =>
  tagsOf({ 'x-gateway-tags': [text] }).bespoke.map(({ key, value }) => [key, value]);
const universal = ['x-gateway-service', 'x-gateway-component', 'x-gateway-env'] as const;
const valueAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/:-';

describe('universal caller tags', () => {
  it('are absent without headers', () => {
    expect(tagsOf({})).toEqual(noTags);
  });

  it('are read from one header each', () => {
    expect(
      tagsOf({
        'x-gateway-service': ['billing'],
        'x-gateway-component': ['api/v2'],
        'x-gateway-env': ['prod:eu-1'],
      }),
    ).toEqual({ service: 'billing', component: 'api/v2', env: 'prod:eu-1', bespoke: [] });
    expect(tagsOf({ 'x-gateway-env': ['dev'] })).toEqual({ ...noTags, env: 'dev' });
  });

  const faulty = [
    ['an empty value', ['']],
    ['65 characters', ['a'.repeat(65)]],
    ['a blank', ['a b']],
    ['a blank in front', [' a']],
    ['an equals sign', ['a=b']],
    ['a semicolon', ['a;b']],
    ['a comma', ['a,b']],
    ['a letter that is not ASCII', ['é']],
    ['a line break at the end', ['a\n']],
    ['two headers', ['a', 'a']],
    ['two headers, the first one empty', ['', 'a']],
  ] as const;

  describe.each(universal)('%s', (header) => {
    it('has a value of 1 to 64 characters of A-Z a-z 0-9 . _ / : -', () => {
      for (const value of [
        'a',
        'a'.repeat(64),
        '-',
        '/',
        valueAlphabet.slice(0, 64),
        valueAlphabet.slice(-64),
      ])
        expect(Object.values(tagsOf({ [header]: [value] }))).toContain(value);
    });

    it.each(faulty)('is rejected with an error that names the header if it has %s', (_, values) => {
      expect(atFault({ [header]: values })).toBe(header);
    });
  });
});

describe('x-gateway-tags: k=v; k2=v2', () => {
  const pairs = (count: number): string =>
    Array.from({ length: count }, (_, index) => `k${index}=v${index}`).join('; ');

  it.each<[string, string, readonly (readonly [string, string])[]]>([
    ['one', 'k=v', [['k', 'v']]],
    [
      'two',
      'k=v; k2=v2',
      [
        ['k', 'v'],
        ['k2', 'v2'],
      ],
    ],
    [
      'no blanks',
      'k=v;k2=v2',
      [
        ['k', 'v'],
        ['k2', 'v2'],
      ],
    ],
    [
      'blanks everywhere',
      ' k = v ;\tk2 =v2 ',
      [
        ['k', 'v'],
        ['k2', 'v2'],
      ],
    ],
    ['a semicolon at the end', 'k=v;', [['k', 'v']]],
    ['nothing between semicolons', ';;k=v;;', [['k', 'v']]],
    ['nothing', '', []],
    ['blanks only', '  ', []],
    ['a key of one character', 'a=b', [['a', 'b']]],
    ['a key of 32 characters', `${'k'.repeat(32)}=v`, [['k'.repeat(32), 'v']]],
    ['every character of a key', 'az09._-=v', [['az09._-', 'v']]],
    ['a value of 64 characters', `k=${'v'.repeat(64)}`, [['k', 'v'.repeat(64)]]],
    [
      'a key that only begins like a reserved one',
      'service2=v; envs=w',
      [
        ['service2', 'v'],
        ['envs', 'w'],
      ],
    ],
  ])('%s', (_, text, tags) => {
    expect(bespoke(text)).toEqual(tags);
  });

  it('holds at most five tags', () => {
    expect(bespoke(pairs(5))).toHaveLength(5);
    expect(atFault({ 'x-gateway-tags': [pairs(6)] })).toBe('x-gateway-tags');
    expect(atFault({ 'x-gateway-tags': [pairs(2000)] })).toBe('x-gateway-tags');
  });

  it.each([
    ['a key of 33 characters', `${'k'.repeat(33)}=v`],
    ['an empty key', '=v'],
    ['a key in capitals', 'Key=v'],
    ['a key that begins with a digit', '1k=v'],
    ['a key that begins with a dot', '.k=v'],
    ['a key with a blank inside', 'k k=v'],
    ['a key with a slash', 'k/k=v'],
    ['a key that is not ASCII', 'ké=v'],
    ['no equals sign', 'k'],
    ['no value', 'k='],
    ['a value of blanks', 'k=  '],
    ['a value of 65 characters', `k=${'v'.repeat(65)}`],
    ['a value with a blank', 'k=v v'],
    ['a value with an equals sign', 'k=v=w'],
    ['a value with quotes', 'k="v"'],
    ['a value that is not ASCII', 'k=é'],
    ['the reserved key service', 'service=v'],
    ['the reserved key component', 'component=v'],
    ['the reserved key env', 'k=v; env=v'],
    ['a repeated key', 'k=v; k=w'],
    ['a repeated pair', 'k=v; k2=v; k=v'],
    ['commas instead of semicolons', 'k=v, k2=v2'],
  ])('is rejected with an error that names the header: %s', (_, text) => {
    expect(atFault({ 'x-gateway-tags': [text] })).toBe('x-gateway-tags');
  });

  it.each([
    ['k=', 'A value in `x-gateway-tags` must be 1 to 64 characters of A-Z a-z 0-9 . _ / : -'],
    ['K=v', 'A key in `x-gateway-tags` must be 1 to 32 characters: a-z, then a-z 0-9 . _ -'],
    ['env=v', '`x-gateway-tags` must not use the reserved key `env`.'],
    ['k=v;k=w', '`x-gateway-tags` repeats the key `k`.'],
    [pairs(6), '`x-gateway-tags` holds more than 5 tags.'],
  ])('is rejected with a message that states the fault: %s', (text, message) => {
    expect(read({ 'x-gateway-tags': [text] })).toEqual(E.left(expect.objectContaining({ message })));
  });

  it('is rejected if the header is sent twice', () => {
    expect(atFault({ 'x-gateway-tags': ['k=v', 'k2=v2'] })).toBe('x-gateway-tags');
    expect(atFault({ 'x-gateway-tags': ['', ''] })).toBe('x-gateway-tags');
  });
});

describe('caller tags', () => {
  const part = (first: string, rest: string, maxLength: number) =>
    fc.tuple(aCharacterOf(first), textOf(rest, 0, maxLength - 1)).map((parts) => parts.join(''));
  const lower = 'abcdefghijklmnopqrstuvwxyz';
  const aTagKey = part(lower, `${lower}0123456789._-`, 32).filter(
    (key) => !['service', 'component', 'env'].includes(key),
  );
  const aTagValue = part(valueAlphabet, valueAlphabet, 64);

  it('are read exactly as they were written', () => {
    const written = fc.record({
      service: fc.option(aTagValue, { nil: undefined }),
      component: fc.option(aTagValue, { nil: undefined }),
      env: fc.option(aTagValue, { nil: undefined }),
      bespoke: fc.uniqueArray(fc.record({ key: aTagKey, value: aTagValue }), {
        selector: ({ key }) => key,
        maxLength: 5,
      }),
    });
    fc.assert(
      fc.property(written, (tags) => {
        const one = (value: string | undefined): readonly string[] => (value === undefined ? [] : [value]);
        const headers = {
          'x-gateway-service': one(tags.service),
          'x-gateway-component': one(tags.component),
          'x-gateway-env': one(tags.env),
          'x-gateway-tags': [tags.bespoke.map(({ key, value }) => `${key}=${value}`).join('; ')],
        };
        expect(tagsOf(headers)).toEqual(tags);
      }),
    );
  });

  it('are never over a limit, whatever the header contains', () => {
    const soup = fc
      .array(
        fc.oneof(
          fc.constantFrom('k', '=', ';', ' ', 'v', 'env', '\t', ',', '\u00a0', 'K', '0'),
          aTagKey,
          aTagValue,
        ),
        { maxLength: 24, size: 'max' },
      )
      .map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(fc.oneof(soup, fc.string()), (text) => {
        const tags = read({ 'x-gateway-tags': [text] });
        if (E.isLeft(tags)) return;
        const keys = tags.right.bespoke.map(({ key }) => key);
        expect(keys.length).toBeLessThanOrEqual(5);
        expect(new Set(keys).size).toBe(keys.length);
        for (const { key, value } of tags.right.bespoke) {
          expect(key).toMatch(/^(?!(?:service|component|env)$)[a-z][a-z0-9._-]{0,31}$/);
          expect(value).toMatch(/^[A-Za-z0-9._/:-]{1,64}$/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
