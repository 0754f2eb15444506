import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  foldEmail,
  isEmail,
  isPasswordTooLong,
  passwordProblem,
  typedPassword,
} from '../../../domain/identity/password.ts';
import { steepGrowth } from '../../support/growth/growth.ts';

describe('a password', () => {
  it.each([
    ['', 'at least 12'],
    ['eleven char', 'at least 12'],
    ['👍'.repeat(11), 'at least 12'],
    ['x'.repeat(1025), 'longer than 1024 bytes'],
    ['é'.repeat(513), 'longer than 1024 bytes'],
    ['twelve chars\ud800', 'valid Unicode'],
    ['twelve chars\n', 'control character'],
    ['twelve\tchars', 'control character'],
  ])('%j is refused', (password, says) => {
    expect(passwordProblem(password)).toContain(says);
  });

  it.each([['twelve chars'], ['👍'.repeat(12)], ['x'.repeat(1024)], ['é'.repeat(512)], [' '.repeat(12)]])(
    '%j is accepted',
    (password) => {
      expect(passwordProblem(password)).toBeUndefined();
    },
  );

  it('is the same in composed and decomposed Unicode', () => {
    expect(typedPassword('cafe\u0301 au lait')).toBe(typedPassword('caf\u00e9 au lait'));
  });

  it('is measured before it is normalized, since normalizing takes quadratic time', () => {
    const marks = (count: number) => 'a'.concat('\u0301'.repeat(count), '\u0316'.repeat(count));
    expect(steepGrowth((count) => () => void isPasswordTooLong(marks(count)))).toBeUndefined();
    expect(isPasswordTooLong(marks(4000))).toBe(true);
  });

  it('that may be set is never too long for a login', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1100, size: 'max' }), (password) => {
        if (passwordProblem(password) === undefined) expect(isPasswordTooLong(password)).toBe(false);
      }),
    );
  });
});

describe('an e-mail address', () => {
  it('is invalid with a non-ASCII character that is folded to ASCII', () => {
    for (let point = 0x80; point < 0x11_0000; point += 1) {
      const letter = String.fromCodePoint(point);
      if (!/[\0-\x7f]/.test(foldEmail(letter))) continue;
      expect([letter, isEmail(`a${letter}b@example.com`)]).toEqual([letter, false]);
    }
  });

  it.each([
    ['a@example.com', true],
    ['A.b+c@example', true],
    ['', false],
    ['a', false],
    ['a@', false],
    ['a b@example.com', false],
    ['a@b@c', false],
    ['a\0@example.com', false],
    ['\ud800@example.com', false],
    ['zero\u200b@example.com', false],
    ['bidi\u202e@example.com', false],
    ['ÄRGER@example.com', true],
    ['ΣΊΣΥΦΟΣ@example.com', true],
    ['mi\u212ae@example.com', false],
    ['adm\u0130n@example.com', false],
    ['mike@wor\u212a.com', false],
    ['a\u037eb@example.com', false],
    ['ju\u0308rg@example.com', true],
    [`${'a'.repeat(243)}@example.com`, false],
  ])('%j: %s', (text, is) => {
    expect(isEmail(text)).toBe(is);
  });
});
