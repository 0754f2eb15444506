import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type RouterPreferences, routerProblems } from '../../../domain/compatibility/router-preferences.ts';

const placesOf = (preferences: RouterPreferences): readonly string[] =>
  routerProblems(preferences).map(({ path }) => path.join('.'));

describe('the router policy is validated', () => {
  it.each<[string, RouterPreferences, readonly string[]]>([
    ['one preference is enough', { zdr: false }, []],
    ['a bound of 0 is valid', { max_price: { prompt: 0 }, preferred_max_latency: 0 }, []],
    [
      'all preferences together are valid',
      {
        zdr: true,
        only: ['a', 'b'],
        ignore: ['c'],
        order: ['b', 'a'],
        preferred_max_latency: { p50: 1, p99: 9.5 },
        max_price: { prompt: 1, completion: 2, request: 0.01, image: 0.02 },
      },
      [],
    ],
    ['empty: no preference', {}, ['']],
    ['empty: only undefined preferences', { only: undefined, max_price: undefined }, ['']],
    ['empty: a list', { zdr: true, only: [], ignore: [], order: [] }, ['only', 'ignore', 'order']],
    ['empty: no price', { max_price: {} }, ['max_price']],
    ['empty: no latency', { preferred_max_latency: { p50: undefined } }, ['preferred_max_latency']],
    ['a duplicate is reported at its later position', { only: ['a', 'b', 'a'] }, ['only.2']],
    [
      'duplicates in each list',
      { ignore: ['a', 'A'], order: ['x', 'x', 'X'] },
      ['ignore.1', 'order.1', 'order.2'],
    ],
    ['a slug may be in `only` and `order`', { only: ['a', 'b'], order: ['b', 'a'] }, []],
    ['contradictory: allowed and excluded', { only: ['a', 'b'], ignore: ['c', 'b'] }, ['ignore.1']],
    ['contradictory in different case', { only: ['Groq'], ignore: ['gROQ'] }, ['ignore.0']],
    [
      'slugs in `order` are not checked against the other lists',
      { only: ['a'], ignore: ['b'], order: ['b', 'c'] },
      [],
    ],
    ['a region of a provider is not the provider', { only: ['a'], ignore: ['a/turbo'] }, []],
    [
      'all problems are reported at once',
      { only: ['a', 'A'], ignore: ['b', 'a'], order: [], max_price: {} },
      ['order', 'max_price', 'only.1', 'ignore.1'],
    ],
  ])('%s', (_, preferences, places) => {
    expect(placesOf(preferences)).toEqual(places);
  });

  const aSlug = fc.constantFrom('a', 'A', 'b', 'B', 'c', 'd');

  it('reports exactly one path for each duplicate slug and each contradiction', () => {
    fc.assert(
      fc.property(fc.array(aSlug, { minLength: 1 }), fc.array(aSlug, { minLength: 1 }), (only, ignore) => {
        const distinct = (slugs: readonly string[]) => new Set(slugs.map((slug) => slug.toLowerCase())).size;
        const repeated = only.length - distinct(only) + ignore.length - distinct(ignore);
        const contradictory = ignore.filter((slug) =>
          only.some((each) => each.localeCompare(slug, 'en', { sensitivity: 'base' }) === 0),
        );
        expect(placesOf({ only, ignore })).toHaveLength(repeated + contradictory.length);
      }),
    );
  });
});
