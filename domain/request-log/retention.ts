/** Retention windows of request logs: `1d`, `3d`, `7d`. Records of MCP tool calls may stay for longer. */
const retentionDays = { '1d': 1, '3d': 3, '7d': 7, '30d': 30, '90d': 90 } as const;

export type Retention = keyof typeof retentionDays;

export const retentions = ['1d', '3d', '7d'] as const satisfies readonly Retention[];

export const invocationRetentions = [...retentions, '30d', '90d'] as const satisfies readonly Retention[];

const dayMs = 86_400_000;

/** The instant before which rows are purged; what happened in that very instant stays. */
export const purgeCutoff = (retention: Retention, now: Date): Date =>
  new Date(now.getTime() - retentionDays[retention] * dayMs);

/**
 * A UTC-day guard allows at most one purge per day, whatever the schedule and the clock do. A clock that was ahead at one
 * holds back no purge once it is set right.
 */
export const isPurgeDue = (purges: readonly Date[], now: Date): boolean =>
  purges.every((purge) => utcDay(purge) !== utcDay(now));

const utcDay = (at: Date): number => Math.floor(at.getTime() / dayMs);
