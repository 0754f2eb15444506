import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { headerPrefix, limitHeaders } from '../../../domain/limits/limit-headers.ts';
import { rateLimited } from '../../../domain/limits/limit-refusal.ts';
import {
  type FullLimit,
  limitVerdict,
  limitedTokens,
  minuteOf,
  type LimitStanding,
  standingAt,
  tightest,
  unusedStanding,
  withTokens,
} from '../../../domain/limits/rate-limit.ts';

const anInstant = fc.date({
  min: new Date('1970-01-01T00:00:00Z'),
  max: new Date('2100-01-01T00:00:00Z'),
  noInvalidDate: true,
});

const aMost = fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined });
const aStanding: fc.Arbitrary<LimitStanding> = fc
  .record({
    kind: fc.constantFrom('api_key', 'user', 'team', 'model'),
    id: fc.string({ minLength: 1, maxLength: 4 }),
    terms: fc.record({ requests: aMost, tokens: aMost, inFlight: aMost }),
    taken: fc.record({ requests: fc.nat(25), tokens: fc.nat(40), inFlight: fc.nat(25) }),
    at: anInstant,
  })
  .map(({ kind, id, terms, taken, at }) => ({
    ...unusedStanding({ subject: { kind, id }, terms }, at),
    ...taken,
  }));

const noTerms = { requests: undefined, tokens: undefined, inFlight: undefined };
const at = new Date('2028-03-15T12:00:48.500Z');
const standing = (
  terms: Partial<LimitStanding['limit']['terms']>,
  taken: Partial<LimitStanding> = {},
): LimitStanding => ({
  ...unusedStanding({ subject: { kind: 'api_key', id: 'k' }, terms: { ...noTerms, ...terms } }, at),
  ...taken,
});

describe('the minute of an instant', () => {
  it('contains it, is 60 seconds long and begins at :00', () => {
    fc.assert(
      fc.property(anInstant, (instant) => {
        const { from, until } = minuteOf(instant);
        expect(from <= instant && instant < until).toBe(true);
        expect(until.getTime() - from.getTime()).toBe(60_000);
        expect([from.getUTCSeconds(), from.getUTCMilliseconds()]).toEqual([0, 0]);
      }),
    );
  });

  it('resets requests and tokens when it ends, but not requests in flight', () => {
    const taken = { requests: 4, tokens: 9, inFlight: 2 };
    const full = standing({ requests: 5 }, taken);
    expect(standingAt(full, new Date('2028-03-15T12:00:59.999Z'))).toEqual(full);
    expect(standingAt(full, new Date('2028-03-15T12:01:00Z'))).toMatchObject({
      requests: 0,
      tokens: 0,
      inFlight: 2,
      window: { from: new Date('2028-03-15T12:01:00Z') },
    });
    expect(withTokens(full, 3, at)).toMatchObject({ requests: 4, tokens: 12 });
    expect(withTokens(full, 3, new Date('2028-03-15T12:01:00Z'))).toMatchObject({ requests: 0, tokens: 3 });
  });

  it('keeps its counts if the clock is set back into the previous minute, and resets them if further', () => {
    const limit = {
      subject: { kind: 'user', id: 'a' },
      terms: { requests: 5, tokens: undefined, inFlight: undefined },
    } as const;
    const full = { ...unusedStanding(limit, new Date('2028-03-15T12:01:00Z')), requests: 5, tokens: 9 };
    const moment = new Date('2028-03-15T12:00:59Z');
    expect(standingAt(full, moment)).toBe(full);
    expect(withTokens(full, 3, moment)).toBe(full);
    for (const before of ['2028-03-15T11:59:59Z', '2026-03-15T12:01:00Z']) {
      const at = new Date(before);
      expect(standingAt(full, at)).toEqual(unusedStanding(limit, at));
      expect(withTokens(full, 3, at)).toMatchObject({ requests: 0, tokens: 3 });
    }
  });
});

describe('the verdict of several limits', () => {
  it('admits if and only if no measure of any limit is full, and counts under all limits or none', () => {
    fc.assert(
      fc.property(fc.array(aStanding, { maxLength: 4 }), (standings) => {
        const verdict = limitVerdict(standings);
        const hasRoom = standings.every(({ limit: { terms }, requests, tokens, inFlight }) =>
          [
            [requests, terms.requests],
            [tokens, terms.tokens],
            [inFlight, terms.inFlight],
          ].every(([taken = 0, most]) => most === undefined || taken < most),
        );
        expect(E.isRight(verdict)).toBe(hasRoom);
        if (E.isRight(verdict))
          expect(verdict.right).toEqual(
            standings.map((each) => ({ ...each, requests: each.requests + 1, inFlight: each.inFlight + 1 })),
          );
        else
          for (const { standing: each, measure } of verdict.left)
            expect(tightest([each], measure)?.remaining).toBe(0);
      }),
    );
  });

  it.each([
    ['requests', { requests: 2 }],
    ['tokens', { tokens: 2 }],
    ['in_flight', { inFlight: 2 }],
  ] as const)('refuses if only %s of the last limit is full', (measure, most) => {
    const [free, full] = [standing({ requests: 3 }), standing(most, most)];
    expect(limitVerdict([free, full])).toEqual(E.left([{ standing: full, measure }]));
  });

  it('never admits more requests than the limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(60), (most, asked) => {
        let now: readonly LimitStanding[] = [standing({ requests: most })];
        let admitted = 0;
        for (let turn = 0; turn < asked; turn += 1) {
          const verdict = limitVerdict(now);
          if (E.isLeft(verdict)) continue;
          now = verdict.right;
          admitted += 1;
        }
        expect(admitted).toBe(Math.min(most, asked));
      }),
    );
  });
});

describe('tokens counted under a limit', () => {
  it.each([
    [{ promptTokens: 3, completionTokens: 4, totalTokens: 7 }, 7],
    [{ promptTokens: 3, completionTokens: 4, totalTokens: 12 }, 12],
    [{ promptTokens: 3, completionTokens: 4, totalTokens: 5 }, 7],
    [{ promptTokens: 2 ** 53 - 1, completionTokens: 9, totalTokens: 1 }, 2 ** 53 - 1],
  ])('are the billed tokens: %j', (usage, tokens) => {
    expect(limitedTokens(usage)).toBe(tokens);
  });
});

describe('a refusal by rate limits', () => {
  const fullOf = (...list: readonly FullLimit[]): readonly [FullLimit, ...FullLimit[]] => {
    const [first, ...others] = list;
    if (first === undefined) throw new Error('nothing is full');
    return [first, ...others];
  };

  it('has Retry-After at the window end, or 1 s if only the requests in flight are at the limit', () => {
    const requests = { standing: standing({ requests: 60 }), measure: 'requests' } as const;
    const inFlight = { standing: standing({ inFlight: 2 }), measure: 'in_flight' } as const;
    expect(rateLimited(fullOf(inFlight), at)).toEqual({
      code: 'rate_limited',
      message: 'Rate limit reached: this API key has 2 requests in flight at once; try again in 1 s.',
      retryAfterSecs: 1,
      rateLimit: { subjectKind: 'api_key', measure: 'in_flight' },
    });
    for (const full of [fullOf(inFlight, requests), fullOf(requests, inFlight)])
      expect(rateLimited(full, at)).toMatchObject({
        message: 'Rate limit reached: this API key has 60 requests a minute; try again in 12 s.',
        retryAfterSecs: 12,
      });
  });

  it.each([
    ['api_key', 'this API key'],
    ['user', 'the user of this API key'],
    ['team', 'the team of this API key'],
    ['model', 'the model `fast`'],
  ] as const)('by a limit of kind %s names %s', (kind, named) => {
    const limit = { subject: { kind, id: 'fast' }, terms: { ...noTerms, tokens: 7 } };
    const full = { standing: unusedStanding(limit, at), measure: 'tokens' } as const;
    expect(rateLimited(fullOf(full), at)).toMatchObject({
      message: `Rate limit reached: ${named} has 7 tokens a minute; try again in 12 s.`,
      rateLimit: { subjectKind: kind, measure: 'tokens' },
    });
  });

  it('names the first of several full measures that have the same wait', () => {
    const full = standing({ requests: 60, tokens: 7 });
    const [requests, tokens] = (['requests', 'tokens'] as const).map((measure) => ({
      standing: full,
      measure,
    }));
    expect(rateLimited(fullOf(requests!, tokens!), at).rateLimit).toMatchObject({ measure: 'requests' });
  });

  it('has a Retry-After of 1 … 60 whole seconds that reaches the window end', () => {
    fc.assert(
      fc.property(
        aStanding,
        fc.constantFrom('requests', 'tokens', 'in_flight'),
        fc.integer({ min: 0, max: 59_999 }),
        (each, measure, ms) => {
          const now = new Date(each.window.from.getTime() + ms);
          const { retryAfterSecs = 0 } = rateLimited(fullOf({ standing: each, measure }), now);
          expect(Number.isInteger(retryAfterSecs) && retryAfterSecs >= 1 && retryAfterSecs <= 60).toBe(true);
          if (measure !== 'in_flight')
            expect(Math.ceil((each.window.until.getTime() - now.getTime()) / 1000)).toBe(retryAfterSecs);
        },
      ),
    );
  });
});

describe('rate limit headers', () => {
  const standings = [
    standing({ requests: 60, tokens: 1000 }, { requests: 10, tokens: 1200 }),
    standing({ requests: 20 }, { requests: 3 }),
    standing({ inFlight: 3 }),
  ];

  it('in OpenAI’s style have the tightest limit of each measure and the seconds to its reset', () => {
    expect(limitHeaders('openai', standings, at)).toEqual({
      'x-ratelimit-limit-requests': '20',
      'x-ratelimit-remaining-requests': '17',
      'x-ratelimit-reset-requests': '12s',
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '12s',
    });
  });

  it('in Anthropic’s style have the reset as an RFC 3339 time', () => {
    expect(limitHeaders('messages', standings, at)).toEqual({
      'anthropic-ratelimit-requests-limit': '20',
      'anthropic-ratelimit-requests-remaining': '17',
      'anthropic-ratelimit-requests-reset': '2028-03-15T12:01:00Z',
      'anthropic-ratelimit-tokens-limit': '1000',
      'anthropic-ratelimit-tokens-remaining': '0',
      'anthropic-ratelimit-tokens-reset': '2028-03-15T12:01:00Z',
    });
  });

  it('have the whole limit remaining when its window has ended', () => {
    expect(limitHeaders('openai', standings, new Date('2028-03-15T12:03:58.999Z'))).toMatchObject({
      'x-ratelimit-remaining-requests': '20',
      'x-ratelimit-remaining-tokens': '1000',
      'x-ratelimit-reset-requests': '2s',
    });
  });

  it('have a reset of at most 60 s, and of several limits with as much remaining the first', () => {
    const alike = [standing({ requests: 9 }, { requests: 4 }), standing({ requests: 5 })];
    expect(limitHeaders('openai', alike, new Date('2028-03-15T12:00:00Z'))).toEqual({
      'x-ratelimit-limit-requests': '9',
      'x-ratelimit-remaining-requests': '5',
      'x-ratelimit-reset-requests': '60s',
    });
  });

  it('have the smallest remaining count of all limits, at least 0, and the prefix of their style', () => {
    fc.assert(
      fc.property(
        fc.array(aStanding, { maxLength: 4 }),
        anInstant,
        fc.constantFrom('openai', 'messages'),
        (all, now, style) => {
          const headers = limitHeaders(style, all, now);
          for (const [name, value] of Object.entries(headers)) {
            expect(name.startsWith(headerPrefix[style])).toBe(true);
            if (!name.includes('remaining')) continue;
            const measure = name.includes('tokens') ? 'tokens' : 'requests';
            const left = all.flatMap((each) => tightest([standingAt(each, now)], measure)?.remaining ?? []);
            expect(Number(value)).toBe(Math.min(...left));
            expect(Number(value)).toBeGreaterThanOrEqual(0);
          }
        },
      ),
    );
  });
});
