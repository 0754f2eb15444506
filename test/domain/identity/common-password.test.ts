import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { isCommonPassword } from '../../../domain/identity/password.ts';
import { argon2Passwords } from '../../../infrastructure/passwords.ts';
import { costWithin } from '../../support/cost.ts';

const few = new Set(['password', 'letmein', 'qwerty']);

describe('a common password', () => {
  it.each([
    'password',
    'PassWord',
    'Password1234!',
    '2026-password',
    'passwordletmein',
    'passwordpassword',
    'letmeinletmeinletmein',
    'abababababab',
    'aaaaaaaaaaaa',
    '123412341234',
    '!!Qwerty!!2026!!',
  ])('is %s', (password) => {
    expect(isCommonPassword(password, few)).toBe(true);
  });

  it.each([
    'correct horse battery canary',
    'a long enough password',
    'passwordless living room',
    '982374987234',
    'qwertz keyboards are german',
    'rather-rather-',
    'fivesfives',
  ])('is not %s', (password) => {
    expect(isCommonPassword(password, few)).toBe(false);
  });

  it('is found in any case and with any digits and punctuation around it', () => {
    const around = fc.string({ unit: fc.constantFrom(...Array.from('0123456789!?.-_ #')) });
    fc.assert(
      fc.property(fc.constantFrom(...few), around, around, fc.boolean(), (word, before, after, upper) => {
        expect(isCommonPassword(`${before}${upper ? word.toUpperCase() : word}${after}`, few)).toBe(true);
      }),
    );
  });

  it('is checked within 1 s for long texts', () => {
    const work = (): void => {
      for (const text of ['ab'.repeat(511) + 'x', 'a'.repeat(1023) + 'b', '1'.repeat(1024)])
        isCommonPassword(text, few);
    };
    expect(costWithin(1000, work)).toBeLessThan(1000);
  });

  it.each(['sonyericsson', 'unbelievable', '1qaz2wsx3edc', 'Liverpool2026!', 'iloveyou-1234'])(
    'of the built-in list is %s',
    async (password) => {
      expect(await argon2Passwords().isCommon(password)).toBe(true);
    },
  );

  it('is never a random password of 24 characters', async () => {
    const passwords = argon2Passwords();
    const random = fc.string({
      unit: fc.constantFrom(...Array.from('abcdefghijklmnopqrstuvwxyz0123456789')),
      minLength: 24,
      maxLength: 24,
    });
    await fc.assert(
      fc.asyncProperty(random, async (password) => {
        expect(await passwords.isCommon(password)).toBe(false);
      }),
      { seed: 7 },
    );
  });
});

describe('a secret sealed with a password', () => {
  it('is opened by that password in any Unicode form, and by no other', async () => {
    const passwords = argon2Passwords();
    const secret = new Uint8Array([1, 2, 3, 4, 5]);
    const sealed = await passwords.seal('é'.normalize('NFC'), secret);
    expect(new Uint8Array(await passwords.unseal('é'.normalize('NFD'), sealed))).toEqual(secret);
    await expect(passwords.unseal('e', sealed)).rejects.toThrow();
    expect(await passwords.seal('é', secret)).not.toEqual(sealed);
    const broken = Uint8Array.from(sealed, (byte, at) => (at === sealed.length - 1 ? byte ^ 1 : byte));
    await expect(passwords.unseal('é', broken)).rejects.toThrow();
  });
});
