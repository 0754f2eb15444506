import { describe, expect, it } from '@jest/globals';
import type { RateLimit } from '../../domain/limits/rate-limit.ts';
import { limitStandings } from '../../infrastructure/limit-standings.ts';

const aLimit = (id: string, requests = 5): RateLimit => ({
  subject: { kind: 'api_key', id },
  terms: { requests, tokens: 100, inFlight: undefined },
});

function aProcess() {
  const clock = { at: Date.parse('2028-01-01T00:00:00Z') };
  const standings = limitStandings({ now: () => clock.at });
  const taken = (limit: RateLimit) => {
    const [first] = standings.of([limit]).standings;
    return { requests: first?.requests, tokens: first?.tokens, terms: first?.limit.terms };
  };
  return { clock, standings, taken };
}

describe('the rate limit counts that a process keeps', () => {
  it('are 0 for a limit that was not noted, and otherwise those that were noted last', () => {
    const { standings, taken } = aProcess();
    const limit = aLimit('a');
    expect(taken(limit)).toMatchObject({ requests: 0, tokens: 0 });
    const { standings: seen, now } = standings.of([limit]);
    standings.note(
      seen.map((each) => ({ ...each, requests: 3 })),
      now,
    );
    expect(taken(limit)).toMatchObject({ requests: 3 });
    expect(taken(aLimit('a', 7))).toMatchObject({ requests: 3, terms: { requests: 7 } });
    expect(taken(aLimit('b'))).toMatchObject({ requests: 0 });
  });

  it('use the time of the database, not that of the process', () => {
    const { clock, standings } = aProcess();
    const limit = aLimit('a');
    const databaseTime = new Date('2028-06-01T12:00:10Z');
    standings.note([], databaseTime);
    expect(standings.of([limit]).now).toEqual(databaseTime);
    clock.at += 55_000;
    expect(standings.of([limit]).now).toEqual(new Date('2028-06-01T12:01:05Z'));
  });

  it('include the tokens of requests that end in this process, in the minute of their end', () => {
    const { clock, standings, taken } = aProcess();
    const limit = aLimit('a');
    standings.spent({ limits: [limit], tokens: 30 });
    standings.spent({ limits: [limit], tokens: 12 });
    expect(taken(limit)).toMatchObject({ tokens: 42 });
    clock.at += 60_000;
    standings.spent({ limits: [limit], tokens: 5 });
    expect(taken(limit)).toMatchObject({ tokens: 5 });
  });

  it('are of at most 50,000 subjects: the least recently seen one is removed', () => {
    const { standings, taken } = aProcess();
    const seen = (id: number): void => standings.spent({ limits: [aLimit(String(id))], tokens: 1 });
    for (let id = 0; id < 50_000; id += 1) seen(id);
    seen(0);
    seen(50_000);
    expect([0, 1, 2].map((id) => taken(aLimit(String(id))).tokens)).toEqual([2, 0, 1]);
  });
});
