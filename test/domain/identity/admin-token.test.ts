import { describe, expect, it } from '@jest/globals';
import { tokenEndFault } from '../../../domain/identity/admin-token.ts';

const now = Date.UTC(2026, 0, 1);
const week = 7 * 24 * 60 * 60_000;

describe('the end of a new token', () => {
  it.each<[string, number | undefined, boolean, RegExp | undefined]>([
    ['none', undefined, false, undefined],
    ['in a year', now + 52 * week, false, undefined],
    ['now', now, false, /in the future/],
    ['now, where the provider says who is an admin', now, true, /in the future/],
    ['none, where the provider says who is an admin', undefined, true, /at most 7 days/],
    ['in a week, where the provider says who is an admin', now + week, true, undefined],
    ['later than that, where the provider says who is an admin', now + week + 1, true, /at most 7 days/],
  ])('%s', (_, expiresAt, byProvider, fault) => {
    const said = tokenEndFault(expiresAt, now, { byProvider });
    if (fault === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(fault);
  });
});
