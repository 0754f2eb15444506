import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  absoluteMs,
  type AdminSession,
  newSession,
  lastSeenUpdateMs,
  sessionAt,
  slidingMs,
} from '../../../domain/identity/admin-session.ts';

const hourMs = 3_600_000;
const start = Date.UTC(2026, 0, 1);

/** Makes calls at these intervals; undefined if the session ends. */
function afterCalls(gaps: readonly number[]): { session: AdminSession; now: number } | undefined {
  let now = start;
  let session = newSession(now);
  for (const gap of gaps) {
    now += gap;
    const state = sessionAt(session, now);
    if (state.kind === 'over') return undefined;
    session = state.session;
  }
  return { session, now };
}

const gap = fc.integer({ min: 0, max: slidingMs - lastSeenUpdateMs });

describe('a session: 12 h sliding up to 7 days', () => {
  it('expires exactly 12 hours after the login', () => {
    const session = newSession(start);
    expect(sessionAt(session, start + 12 * hourMs - 1).kind).toBe('moved');
    expect(sessionAt(session, start + 12 * hourMs)).toEqual({ kind: 'over' });
  });

  it('is extended by a call, at most once a minute', () => {
    const session = newSession(start);
    expect(sessionAt(session, start + lastSeenUpdateMs - 1)).toEqual({ kind: 'current', session });
    const later = start + lastSeenUpdateMs;
    expect(sessionAt(session, later)).toEqual({
      kind: 'moved',
      session: { createdAt: start, lastSeenAt: later, expiresAt: later + 12 * hourMs },
    });
  });

  it('stays valid with frequent calls until 7 days after the login', () => {
    fc.assert(
      fc.property(fc.array(gap, { maxLength: 40, size: 'max' }), (gaps) => {
        const total = gaps.reduce((sum, each) => sum + each, 0);
        expect(afterCalls(gaps) !== undefined).toBe(total < absoluteMs);
      }),
    );
  });

  it('never expires later than 12 hours after the last call or 7 days after the login', () => {
    fc.assert(
      fc.property(fc.array(gap, { maxLength: 40, size: 'max' }), (gaps) => {
        const after = afterCalls(gaps);
        if (after === undefined) return;
        expect(after.session.expiresAt).toBeLessThanOrEqual(after.now + slidingMs);
        expect(after.session.expiresAt).toBeLessThanOrEqual(start + absoluteMs);
        expect(after.session.createdAt).toBe(start);
      }),
    );
  });

  it('is never valid again after it has expired', () => {
    fc.assert(
      fc.property(fc.nat(2 * absoluteMs), (late) => {
        const session = newSession(start);
        expect(sessionAt(session, session.expiresAt + late)).toEqual({ kind: 'over' });
      }),
    );
  });
});
