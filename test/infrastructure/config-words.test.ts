import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { editDistance, nearest } from '../../infrastructure/config/nearest.ts';
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
        const found = nearest(given, words)!;
        return words.every((each) => editDistance(given, found) <= editDistance(given, each));
      }),
    );
  });

  it('finds nothing among no words, or beyond the edits allowed', () => {
    expect(nearest('a', [])).toBeUndefined();
    expect(nearest('abc', ['xyz'], 2)).toBeUndefined();
    expect(nearest('abc', ['abd'], 1)).toBe('abd');
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
  ])('takes %j', (line) => {
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
  ])('refuses %j', (line, message) => {
    expect(scheduleFault(line)).toMatch(message);
  });
});
