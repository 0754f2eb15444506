const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A session ends after this time without a call. */
export const slidingMs = 12 * hourMs;

/** And after this time in any case. */
export const absoluteMs = 7 * 24 * hourMs;

/** That a session was seen is noted at most this often: reports poll, and each note is a write. */
export const notedEveryMs = minuteMs;

/** A login that has not ended. All times are milliseconds since the epoch, by the database's clock. */
export interface AdminSession {
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly expiresAt: number;
}

/** What becomes of a session at a call: it is over, goes on as it is, or goes on with its end moved. */
export type SessionState =
  | { readonly kind: 'over' }
  | { readonly kind: 'current'; readonly session: AdminSession }
  | { readonly kind: 'moved'; readonly session: AdminSession };

/** 12 h sliding up to 7 days. */
const endOf = (createdAt: number, seenAt: number): number =>
  Math.min(seenAt + slidingMs, createdAt + absoluteMs);

export const newSession = (now: number): AdminSession => ({
  createdAt: now,
  lastSeenAt: now,
  expiresAt: endOf(now, now),
});

export function sessionAt(session: AdminSession, now: number): SessionState {
  if (now >= session.expiresAt) return { kind: 'over' };
  if (now - session.lastSeenAt < notedEveryMs) return { kind: 'current', session };
  return {
    kind: 'moved',
    session: { ...session, lastSeenAt: now, expiresAt: endOf(session.createdAt, now) },
  };
}
