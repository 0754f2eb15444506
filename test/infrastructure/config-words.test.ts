import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { editDistance, maxRankedWords, nearest, nearestOf } from '../../domain/shared/nearest.ts';
import { scheduleFault } from '../../infrastructure/config/purge-schedule.ts';

const word = fc.stringMatching(/^[a-z_]{0,12}$/);

describe('editDistance', () => {
  it.each([
    ['', 'abc', 3],
    ['basurl', 'base_url', 2],
    ['bnid', 'bind', 1],
    ['kitten', 'sitting', 3],
  ])('from %j to %j is %d', (from, to, edits) => {
    expect(editDistance(from, to)).toBe(edits);
  });

  it('is zero only between equal words, the same both ways, and never more than the longer word', () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        const edits = editDistance(a, b);
        return (
          (edits === 0) === (a === b) &&
          edits === editDistance(b, a) &&
          edits <= Math.max(a.length, b.length) &&
          edits >= Math.abs(a.length - b.length)
        );
      }),
    );
  });
});

describe('nearest', () => {
  it('never prefers a word that is further away', () => {
    fc.assert(
      fc.property(word, fc.array(word, { minLength: 1 }), (given, words) => {
        const found = nearest(given, words, Infinity)!;
        return words.every((each) => editDistance(given, found) <= editDistance(given, each));
      }),
    );
  });

  it('returns nothing for no words, or beyond the allowed edits', () => {
    expect(nearest('a', [], 1)).toBeUndefined();
    expect(nearest('abc', ['xyz'], 2)).toBeUndefined();
    expect(nearest('abc', ['abd'], 1)).toBe('abd');
  });
});

describe('nearestOf', () => {
  it.each([
    ['a word that differs in case', 'GPT-4o', ['gpt-3', 'gpt-4o'], ['gpt-4o', 'gpt-3']],
    [
      'a word that contains the given one before similar words',
      'sonnet',
      ['bonnet', 'claude-sonnet-5'],
      ['claude-sonnet-5', 'bonnet'],
    ],
    [
      'a word that the given one contains before similar words',
      'x/fast-2',
      ['y/fest-2', 'fast'],
      ['fast', 'y/fest-2'],
    ],
    ['a typing error', 'claude-hiaku', ['gpt', 'claude-haiku', 'claude'], ['claude', 'claude-haiku']],
    ['the first of equally near words', 'aaaa', ['aaax', 'aaay', 'aaaz'], ['aaax', 'aaay']],
    ['no more words than there are', 'a', ['zzz'], ['zzz']],
    ['nothing among no words', 'a', [], []],
  ])('finds %s: %j', (_, given, words, found) => {
    expect(nearestOf(given, words, 2)).toEqual(found);
  });

  it('never omits a word nearer than one it returns, and returns at most the requested number', () => {
    const letters = fc.stringMatching(/^[a-c]{0,2}$/);
    fc.assert(
      fc.property(
        word,
        fc.uniqueArray(fc.oneof(word, letters)),
        fc.integer({ min: 1, max: 4 }),
        (given, words, count) => {
          const found = nearestOf(given, words, count);
          // Where neither word contains the other, the rank is the number of edits.
          const apart = (other: string) => !other.includes(given) && !given.includes(other);
          const furthest = Math.max(0, ...found.filter(apart).map((each) => editDistance(given, each)));
          return (
            found.length === Math.min(count, words.length) &&
            words.filter(apart).every((each) => found.includes(each) || editDistance(given, each) >= furthest)
          );
        },
      ),
    );
  });

  it('ranks only the first `maxRankedWords` words, and reads only the beginning of long ones', () => {
    const words = Array.from({ length: maxRankedWords }, (_, index) => `${index}-`.repeat(40));
    expect(nearestOf('exactly', [...words, 'exactly'], 1)).not.toEqual(['exactly']);
    expect(nearestOf('exactly', ['exactly', ...words], 1)).toEqual(['exactly']);
    const long = 'a'.repeat(64);
    expect(nearestOf(`${long}b`, [`${long}c`, long], 1)).toEqual([`${long}c`]);
  });
});

describe('the purge schedule', () => {
  it.each([
    ['0 0 * * *'],
    ['30 2 * * *'],
    ['0 0 * * 1-5'],
    ['0 0 1 * *'],
    ['0 0 L * *'],
    ['5 4 */2 jan,JUL mon'],
    ['0 0 29 2 *'],
    ['  0 0 ? * *  '],
  ])('accepts %j', (line) => {
    expect(scheduleFault(line)).toBeUndefined();
  });

  it.each([
    ['0 */6 * * *', /more often/],
    ['0,30 2 * * *', /more often/],
    ['* 2 * * *', /more often/],
    ['5/15 2 * * *', /more often/],
    ['0 0-1 * * *', /more often/],
    ['0 0 31 2 *', /day that exists/],
    ['0 0 31 2 1', /day that exists/],
    ['0 0 30,31 feb *', /day that exists/],
    ['0 24 * * *', /bounds/],
    ['60 0 * * *', /bounds/],
    ['0 0 0 * *', /bounds/],
    ['0 0 * 13 *', /bounds/],
    ['0 0 * * 8', /bounds/],
    ['0 0 5-2 * *', /bounds/],
    ['0 0 1-2-3 * *', /bounds/],
    ['0 0 */0 * *', /bounds/],
    ['0 0 * constructor *', /bounds/],
    ['0 0 , * *', /bounds/],
    ['0 0 5-5 * *', /bounds/],
    ['0 0 1-L * *', /bounds/],
    ['0 0 l * *', /bounds/],
    ['0 0 * ? *', /bounds/],
    ['0 0 *,? * *', /bounds/],
    ['@daily', /5 fields/],
    ['0 0 0 * * *', /5 fields/],
    ['', /5 fields/],
  ])('rejects %j', (line, message) => {
    expect(scheduleFault(line)).toMatch(message);
  });
});
