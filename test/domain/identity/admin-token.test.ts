import { describe, expect, it } from '@jest/globals';
import {
  formatToken,
  mayCall,
  parseToken,
  presentedToken,
  tokenEndFault,
} from '../../../domain/identity/admin-token.ts';

const now = Date.UTC(2026, 0, 1);
const week = 7 * 24 * 60 * 60_000;

const publicId = 'a1'.repeat(16);
const secret = 'b2'.repeat(32);
const token = `gwa_${publicId}.${secret}`;

describe('an admin token is `gwa_<32 hex digits>.<64 hex digits>`', () => {
  it('is parsed back from its formatted text', () => {
    expect(formatToken({ publicId, secret })).toBe(token);
    expect(parseToken(token)).toEqual({ publicId, secret });
  });

  it.each([
    ['nothing', ''],
    ['an API key', `gwk_${publicId}.${secret}`],
    ['a shorter public id', `gwa_${publicId.slice(1)}.${secret}`],
    ['a shorter secret', `gwa_${publicId}.${secret.slice(1)}`],
    ['a longer secret', `${token}0`],
    ['capitals', `gwa_${publicId.toUpperCase()}.${secret}`],
    ['no dot', `gwa_${publicId}${secret}`],
    ['a blank in front', ` ${token}`],
    ['a line break at the end', `${token}\n`],
  ])('%s is not a token', (_, text) => {
    expect(parseToken(text)).toBeUndefined();
  });
});

describe('the token that a call presents', () => {
  it.each([
    [`Bearer ${token}`, token],
    [`bearer \t${token}\t `, token],
    ['Bearer gwa_', 'gwa_'],
    [undefined, undefined],
    ['', undefined],
    [token, undefined],
    [`Basic ${token}`, undefined],
    [`Bearer gwk_${publicId}.${secret}`, undefined],
    [`Bearer ${token} ${token}`, undefined],
  ])('in %j is %j', (authorization, presented) => {
    expect(presentedToken(authorization)).toBe(presented);
  });
});

describe('the scope of a token', () => {
  it.each([
    ['read', true, true],
    ['read', false, false],
    ['write', true, true],
    ['write', false, true],
  ] as const)('%s, for a call that only reads (%j): %j', (scope, isRead, may) => {
    expect(mayCall(scope, isRead)).toBe(may);
  });
});

describe('the expiry of a new admin token', () => {
  it.each<[string, number | undefined, boolean, RegExp | undefined]>([
    ['none', undefined, false, undefined],
    ['in a year', now + 52 * week, false, undefined],
    ['now', now, false, /in the future/],
    ['now, if the identity provider manages admins', now, true, /in the future/],
    ['none, if the identity provider manages admins', undefined, true, /at most 7 days/],
    ['in a week, if the identity provider manages admins', now + week, true, undefined],
    [
      'after more than a week, if the identity provider manages admins',
      now + week + 1,
      true,
      /at most 7 days/,
    ],
  ])('%s', (_, expiresAt, byProvider, fault) => {
    const said = tokenEndFault(expiresAt, now, { byProvider });
    if (fault === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(fault);
  });
});
