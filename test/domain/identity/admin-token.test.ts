import { describe, expect, it } from '@jest/globals';
import { tokenEndFault } from '../../../domain/identity/admin-token.ts';

const now = Date.UTC(2026, 0, 1);
const week = 7 * 24 * 60 * 60_000;

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
