import { describe, expect, it } from '@jest/globals';
import { acceptsCoding } from '../../interfaces/http/accepted-coding.ts';

describe('a content coding', () => {
  it.each([
    ['gzip', 'gzip', true],
    ['br, GZIP', 'gzip', true],
    ['gzip;q=0', 'gzip', false],
    ['gzip; q=0.000', 'gzip', false],
    ['gzip;q=0.1', 'gzip', true],
    ['*', 'br', true],
    ['*;q=0', 'br', false],
    ['*;q=0, br', 'br', true],
    ['*, br;q=0', 'br', false],
    ['xgzip', 'gzip', false],
    ['', 'gzip', false],
  ])('is accepted according to the header: %p, %s: %p', (header, coding, accepted) => {
    expect(acceptsCoding(header, coding)).toBe(accepted);
  });
});
