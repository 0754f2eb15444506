import { describe, expect, it } from '@jest/globals';
import { type Part, share } from '../../../domain/payload/share.ts';

const parts = (sizes: readonly number[], fixed = 1) => {
  const asked: number[] = [];
  const partAt = (index: number): Part => {
    asked.push(index);
    return { fixed, size: sizes[index] ?? 0 };
  };
  return { asked, partAt };
};

describe('the share of each part', () => {
  it.each([
    ['all that it needs where everything fits exactly', [10, 20], 32, { kept: 2, most: 30 }],
    ['what small parts leave', [10, 100], 62, { kept: 2, most: 50 }],
    [
      'at least the minimum, while as many are kept as then fit exactly',
      [50, 50, 50],
      33,
      { kept: 3, most: 10 },
    ],
    ['the minimum of those that fit beside the marker', [50, 50, 50], 32, { kept: 2, most: 13 }],
    ['nothing where not even one fits', [50, 50], 10, { kept: 0, most: 6 }],
  ])('is %s', (_, sizes, room, expected) => {
    expect(share(sizes.length, parts(sizes).partAt, 10, room, 4)).toEqual(expected);
  });

  it('is found without a look at parts that cannot fit', () => {
    const { asked, partAt } = parts([]);
    share(1_000_000, partAt, 10, 100, 4);
    expect(asked).toHaveLength(101);
  });
});
