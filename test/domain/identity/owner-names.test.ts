import { describe, expect, it } from '@jest/globals';
import { isDisplayName } from '../../../domain/identity/owner-names.ts';

describe('a name for people', () => {
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
  ])('can be seen, and is one line: %j %p', (name, is) => {
    expect(isDisplayName(name)).toBe(is);
  });
});
