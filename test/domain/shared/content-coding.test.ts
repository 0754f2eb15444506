import { describe, expect, it } from '@jest/globals';
import { contentCodingOf } from '../../../domain/shared/content-coding.ts';

describe('contentCodingOf', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['Identity', 'identity'],
    ['none', 'identity'],
    ['UTF-8', 'identity'],
    ['utf8', 'identity'],
    ['gzip', 'gzip'],
    [' GZip ', 'gzip'],
    ['x-gzip', 'gzip'],
    ['identity, br', 'br'],
    ['deflate', 'deflate'],
    ['zstd', 'zstd'],
    ['compress', undefined],
    ['gzip, gzip', undefined],
    ['br, gzip', undefined],
    ['gzip;q=1', undefined],
  ])('%j is %j', (header, coding) => {
    expect(contentCodingOf(header)).toBe(coding);
  });
});
