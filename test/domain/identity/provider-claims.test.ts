import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import {
  isIncomplete,
  mergedClaims,
  roleChange,
  vouchedPerson,
} from '../../../domain/identity/provider-claims.ts';
import { returnPath } from '../../../domain/identity/return-path.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

const rules = { allowedEmailDomains: [], groupsClaim: 'groups', adminGroups: [] };
const ada = { email: 'ada@example.com', email_verified: true };

describe('the person in the claims of an identity provider', () => {
  it('has the verified e-mail address and the name, or the address if the name is not usable', () => {
    expect(vouchedPerson({ ...ada, name: ' Ada ' }, rules)).toEqual(
      E.right({ email: ada.email, name: 'Ada', isAdmin: undefined }),
    );
    const joined = 'علی\u200cرضا';
    expect(vouchedPerson({ ...ada, name: joined }, rules)).toMatchObject({ right: { name: joined } });
    for (const name of ['', '  ', 7, 'x'.repeat(129), 'a\u0000b', 'a\u202eb', 'a\ud800'])
      expect(vouchedPerson({ ...ada, name }, rules)).toMatchObject({ right: { name: ada.email } });
  });

  it('is rejected unless `email_verified` is true, also as text or as a number', () => {
    for (const said of ['true', 1, '1'])
      expect(vouchedPerson({ ...ada, email_verified: said }, rules)).toMatchObject({ _tag: 'Right' });
    const yes = new Set<unknown>([true, 'true', 1, '1']);
    const other = fc.jsonValue().filter((value) => !yes.has(value));
    fc.assert(
      fc.property(other, (said) => {
        const claims = { ...ada, email_verified: said } as JsonObject;
        expect(E.isLeft(vouchedPerson(claims, rules))).toBe(true);
      }),
    );
  });

  it.each([
    [{ xms_edov: true }, true],
    [{ xms_edov: '1' }, true],
    [{ xms_edov: 'true' }, true],
    [{ xms_edov: false }, false],
    [{ xms_edov: '0' }, false],
    [{ xms_edov: true, email_verified: false }, false],
  ])(
    'is verified by `xms_edov` where `email_verified` is missing, as from Entra: %j is %s',
    (said, known) => {
      const claims = { email: ada.email, ...said };
      expect(isIncomplete(claims, rules)).toBe(false);
      expect(E.isRight(vouchedPerson(claims, rules))).toBe(known);
    },
  );

  it.each([
    ['ada@example.com', true],
    ['ada@EXAMPLE.com', true],
    ['ada@sub.example.com', false],
    ['ada@notexample.com', false],
    ['ada@example.com.evil.org', false],
    ['adA\u030a@example.com', true],
    ['ad\u212b@example.com', false],
  ])('must have an e-mail address in an allowed domain: %s is %s', (email, allowed) => {
    const person = vouchedPerson({ ...ada, email }, { ...rules, allowedEmailDomains: ['example.com'] });
    expect(E.isRight(person)).toBe(allowed);
  });

  it('is an admin if and only if in an admin group; without configured admin groups the role is undefined', () => {
    const group = fc.constantFrom('a', 'b', 'A', '');
    fc.assert(
      fc.property(fc.array(group), fc.array(group, { minLength: 1 }), (groups, adminGroups) => {
        const shared = groups.some((each) => adminGroups.includes(each));
        const person = vouchedPerson({ ...ada, groups }, { ...rules, adminGroups });
        expect(person).toMatchObject({ right: { isAdmin: shared } });
        expect(vouchedPerson({ ...ada, groups }, rules)).toMatchObject({ right: { isAdmin: undefined } });
      }),
    );
  });

  it('is an admin if a single group is sent as text, and it is an admin group', () => {
    expect(vouchedPerson({ ...ada, groups: 'admins' }, { ...rules, adminGroups: ['admins'] })).toMatchObject({
      right: { isAdmin: true },
    });
  });

  it.each([undefined, null, 7, {}, [7, null], 'admin'])(
    'is not an admin if the groups claim is %j',
    (groups) => {
      const claims = { ...ada, ...(groups === undefined ? {} : { groups }) } as JsonObject;
      expect(vouchedPerson(claims, { ...rules, adminGroups: ['admins'] })).toMatchObject({
        right: { isAdmin: false },
      });
    },
  );

  it('is incomplete if the claims lack the e-mail address, whether it is verified, or required groups', () => {
    expect(isIncomplete({}, rules)).toBe(true);
    expect(isIncomplete({ email: ada.email }, rules)).toBe(true);
    expect(isIncomplete({ ...ada, email_verified: false }, rules)).toBe(false);
    expect(isIncomplete(ada, rules)).toBe(false);
    expect(isIncomplete(ada, { ...rules, adminGroups: ['a'] })).toBe(true);
    expect(isIncomplete({ ...ada, groups: [] }, { ...rules, adminGroups: ['a'] })).toBe(false);
  });
});

describe('claims of an ID token and of userinfo', () => {
  it('are merged: userinfo only adds claims that the ID token lacks', () => {
    expect(mergedClaims({ ...ada, name: 'Ada' }, { name: 'Eve', groups: ['a'] })).toEqual({
      ...ada,
      name: 'Ada',
      groups: ['a'],
    });
    expect(mergedClaims({ name: 'Ada' }, ada)).toEqual({ ...ada, name: 'Ada' });
  });

  it('never combine the address of one with `email_verified` of the other', () => {
    expect(mergedClaims({ email: 'boss@example.com' }, ada)).toEqual(ada);
    expect(mergedClaims({ email: 'boss@example.com' }, { email_verified: true })).toEqual({
      email: 'boss@example.com',
    });
    expect(mergedClaims({ email: 'boss@example.com', email_verified: false }, ada)).toEqual({
      email: 'boss@example.com',
      email_verified: false,
    });
    for (const said of [{ email_verified: true }, { xms_edov: true }])
      expect(mergedClaims(said, { email: 'boss@example.com' })).toEqual({ email: 'boss@example.com' });
  });
});

describe('the role after a sign-in', () => {
  it.each([
    [true, undefined, false, 'none'],
    [false, undefined, false, 'none'],
    [true, true, false, 'none'],
    [false, false, true, 'none'],
    [false, true, true, 'given'],
    [true, false, true, 'taken'],
    [true, false, false, 'kept_last'],
  ] as const)(
    'of an admin (%s), an admin by the provider (%s), with other admins (%s) has the change: %s',
    (is, vouched, others, change) => {
      expect(roleChange(is, vouched, others)).toBe(change);
    },
  );
});

describe('the return path after signing in', () => {
  it('is the requested path', () => {
    for (const path of ['/', '/a/b?c=d&e=%2F#f', '/@me']) expect(returnPath(path)).toBe(path);
  });

  it('never leads to another origin, for any requested path', () => {
    const piece = fc.constantFrom(
      '/',
      '\\',
      '.',
      '@',
      ':',
      'evil.com',
      'https:',
      '\t',
      '\n',
      ' ',
      '%',
      '?',
      '#',
      'ä',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((pieces) => pieces.join('')),
        ),
        (asked) => {
          expect(new URL(returnPath(asked), 'https://own.example').origin).toBe('https://own.example');
          expect(returnPath(asked)).toMatch(/^\/[\x21-\x7e]*$/);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('is `/` if the requested path is absent or too long', () => {
    expect([returnPath(undefined), returnPath(`/${'x'.repeat(2048)}`)]).toEqual(['/', '/']);
  });
});
