import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  readCode,
  recoveryCodeOf,
  secondFactorState,
  shownRecoveryCode,
  totpStepMs,
  usableSteps,
} from '../../../domain/identity/second-factor.ts';
import { oneTimeCodes } from '../../../infrastructure/sign-in/one-time-codes.ts';

const base32 = fc.string({
  unit: fc.constantFrom(...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')),
  minLength: 16,
  maxLength: 32,
});
const instant = fc.integer({ min: totpStepMs * 2, max: 2 ** 45 });

describe('the time steps whose codes are valid', () => {
  it('are the current one, the one before and the one after, the current one first', () => {
    expect(usableSteps(10 * totpStepMs + 1, undefined)[0]).toBe(10);
    fc.assert(
      fc.property(instant, (now) => {
        const present = Math.floor(now / totpStepMs);
        expect(new Set(usableSteps(now, undefined))).toEqual(new Set([present - 1, present, present + 1]));
      }),
    );
  });

  it('are exactly those of them that are later than the last used step', () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: -3, max: 3 }), (now, away) => {
        const last = Math.floor(now / totpStepMs) + away;
        expect(usableSteps(now, last)).toEqual(usableSteps(now, undefined).filter((step) => step > last));
      }),
    );
  });

  it('are never before the first one', () => {
    expect(usableSteps(0, undefined)).toEqual([0, 1]);
  });
});

describe('a code', () => {
  it('for recovery is shown in four groups of four', () => {
    expect(shownRecoveryCode(recoveryCodeOf('ABCDEFGHIJKLMNOPQRST'))).toBe('abcd-efgh-ijkl-mnop');
  });

  it('is parsed in any case, and with blanks and dashes', () => {
    expect(readCode(' 123 456\n')).toEqual({ kind: 'totp', digits: '123456' });
    fc.assert(
      fc.property(base32, (random) => {
        const code = recoveryCodeOf(random);
        for (const typed of [code, shownRecoveryCode(code), shownRecoveryCode(code).toUpperCase()])
          expect(readCode(typed)).toEqual({ kind: 'recovery', code });
      }),
    );
  });

  it.each([
    '',
    '12345',
    '1234567',
    'abcdef',
    '١٢٣٤٥٦',
    'aaaa-aaaa-aaaa-aaa1',
    'a'.repeat(15),
    'a'.repeat(17),
  ])('is not %j', (typed) => {
    expect(readCode(typed)).toBeUndefined();
  });

  // RFC 6238, appendix B: the last six of the eight digits.
  it.each([
    [59, '287082'],
    [1111111109, '081804'],
    [1234567890, '005924'],
    [20000000000, '353130'],
  ])('at %i s is %s, as in RFC 6238', (secs, digits) => {
    const secret = new TextEncoder().encode('12345678901234567890');
    const step = Math.floor((secs * 1000) / totpStepMs);
    expect(oneTimeCodes.isCodeOf(secret, step, digits)).toBe(true);
    for (const other of [step - 1, step + 1])
      expect(oneTimeCodes.isCodeOf(secret, other, digits)).toBe(false);
  });
});

describe('a second factor', () => {
  it.each([
    ['password', false, false, 'none'],
    ['password', false, true, 'must_enrol'],
    ['password', true, true, 'enrolled'],
    ['password', true, false, 'enrolled'],
    ['oidc', false, true, 'none'],
    ['oidc', false, false, 'none'],
  ] as const)(
    'for a session by %s (enrolled: %s, required: %s) has the state %s',
    (signedInBy, hasSecondFactor, required, state) => {
      expect(secondFactorState({ signedInBy, hasSecondFactor }, required)).toBe(state);
    },
  );
});
