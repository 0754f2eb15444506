import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { readBody } from '../../interfaces/http/admin/admin-route.ts';
import { budgetBody, budgetTerms } from '../../interfaces/http/admin/budget-input.ts';
import type { Json } from '../../domain/shared/json.ts';

const isTimezone = (name: string): boolean => ['UTC', 'Europe/Paris'].includes(name);
const read = (body: Json | undefined) => pipe(readBody(body, budgetBody(isTimezone)), E.map(budgetTerms));
const good = { cadence: 'daily', amount_10000: 5, hard_limit: true, timezone: 'Europe/Paris' };

describe('the terms of a budget', () => {
  it('are cadence, amount, hard limit and time zone', () => {
    expect(read(good)).toEqual(
      E.right({ cadence: 'daily', amount10000: 5n, hardLimit: true, timezone: 'Europe/Paris' }),
    );
  });

  it('have the time zone UTC by default', () => {
    const { timezone: _, ...rest } = good;
    expect(read(rest)).toEqual(E.right(expect.objectContaining({ timezone: 'UTC' })));
  });

  it('allow any whole amount from 0 to 2^53 - 1, exactly', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 9_007_199_254_740_991n), (amount) => {
        expect(read({ ...good, amount_10000: Number(amount) })).toEqual(
          E.right(expect.objectContaining({ amount10000: amount })),
        );
      }),
      { examples: [[0n], [9_007_199_254_740_991n]] },
    );
  });

  it.each<[string, Json | undefined, string]>([
    ['nothing', undefined, 'body'],
    ['null', null, 'body'],
    ['an array', [good], 'body'],
    ['a string', 'daily', 'body'],
    ['no cadence', { ...good, cadence: undefined }, 'cadence'],
    ['an unknown cadence', { ...good, cadence: 'yearly' }, 'cadence'],
    ['a cadence in capitals', { ...good, cadence: 'Daily' }, 'cadence'],
    ['a cadence of another kind', { ...good, cadence: ['daily'] }, 'cadence'],
    ['no amount', { ...good, amount_10000: undefined }, 'amount_10000'],
    ['a null amount', { ...good, amount_10000: null }, 'amount_10000'],
    ['a negative amount', { ...good, amount_10000: -1 }, 'amount_10000'],
    ['a fraction', { ...good, amount_10000: 0.5 }, 'amount_10000'],
    ['an amount that is too large', { ...good, amount_10000: 9_007_199_254_740_992 }, 'amount_10000'],
    ['an amount as text', { ...good, amount_10000: '5' }, 'amount_10000'],
    ['no hard limit', { ...good, hard_limit: undefined }, 'hard_limit'],
    ['a hard limit as text', { ...good, hard_limit: 'true' }, 'hard_limit'],
    ['a hard limit as a number', { ...good, hard_limit: 1 }, 'hard_limit'],
    ['an unknown time zone', { ...good, timezone: 'Mars/Olympus' }, 'timezone'],
    ['a null time zone', { ...good, timezone: null }, 'timezone'],
    ['a misspelt field', { ...good, ammount: 5 }, 'ammount'],
    ['a field of the prototype', { ...good, toString: 5 }, 'toString'],
  ])('with %s are 400 `invalid_request` that names the field', (_, body, param) => {
    expect(read(body)).toEqual(E.left(expect.objectContaining({ code: 'invalid_request', param })));
  });

  it('are rejected with a short message, however long a field name is', () => {
    const refused = read({ ...good, ['x'.repeat(1_000_000)]: 1 });
    expect(JSON.stringify(refused).length).toBeLessThan(1000);
  });
});
