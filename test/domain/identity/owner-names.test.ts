import { describe, expect, it } from '@jest/globals';
import { isDisplayName } from '../../../domain/identity/owner-names.ts';

describe('a display name', () => {
  it.each([
    ['A', true],
    ['Zoë 日本', true],
    [' x ', true],
    ['👩\u200d💻', true],
    ['', false],
    ['  ', false],
    ['\u3000\u00a0', false],
    ['\u200b\u2060', false],
    ['\u3164', false],
    ['a\nb', false],
    ['a\u202eb', false],
    ['\ud800', false],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['😀'.repeat(128), true],
    ['😀'.repeat(129), false],
  ])('must be visible and one line of at most 128 characters: %j %p', (name, is) => {
    expect(isDisplayName(name)).toBe(is);
  });
});
