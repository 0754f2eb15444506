const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A session ends after this time without a call. */
export const slidingMs = 12 * hourMs;

/** A session ends this long after it began in any case. */
export const absoluteMs = 7 * 24 * hourMs;

/** How often at most `lastSeenAt` is updated: reports poll, and each update is a write. */
export const lastSeenUpdateMs = minuteMs;

/** An admin's session. All times are milliseconds since the epoch, by the database's clock. */
export interface AdminSession {
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly expiresAt: number;
}

/** What happens to a session at a call: it is over, continues unchanged, or continues with a later end. */
export type SessionState =
  | { readonly kind: 'over' }
  | { readonly kind: 'current'; readonly session: AdminSession }
  | { readonly kind: 'moved'; readonly session: AdminSession };

/** 12 hours after the last call, but at most 7 days after the session began. */
const endOf = (createdAt: number, seenAt: number): number =>
  Math.min(seenAt + slidingMs, createdAt + absoluteMs);

export const newSession = (now: number): AdminSession => ({
  createdAt: now,
  lastSeenAt: now,
  expiresAt: endOf(now, now),
});

export function sessionAt(session: AdminSession, now: number): SessionState {
  if (now >= session.expiresAt) return { kind: 'over' };
  if (now - session.lastSeenAt < lastSeenUpdateMs) return { kind: 'current', session };
  return {
    kind: 'moved',
    session: { ...session, lastSeenAt: now, expiresAt: endOf(session.createdAt, now) },
  };
}
