/** Retention windows: `1d`, `3d`, `7d`. */
const retentionDays = { '1d': 1, '3d': 3, '7d': 7 } as const;

export type Retention = keyof typeof retentionDays;

export const retentions = Object.keys(retentionDays) as readonly Retention[];

const dayMs = 86_400_000;

/** The instant before which request logs are purged; what happened in that very instant stays. */
export const purgeCutoff = (retention: Retention, now: Date): Date =>
  new Date(now.getTime() - retentionDays[retention] * dayMs);

/** A UTC-day guard allows at most one purge per day, whatever the schedule and the clock do. */
export const isPurgeDue = (lastPurge: Date | undefined, now: Date): boolean =>
  lastPurge === undefined || utcDay(lastPurge) < utcDay(now);

const utcDay = (at: Date): number => Math.floor(at.getTime() / dayMs);
