/** Retention windows: request logs have `1d`, `3d` or `7d`. Records of MCP tool calls may be kept longer. */
const retentionDays = { '1d': 1, '3d': 3, '7d': 7, '30d': 30, '90d': 90 } as const;

export type Retention = keyof typeof retentionDays;

export const retentions = ['1d', '3d', '7d'] as const satisfies readonly Retention[];

export const invocationRetentions = [...retentions, '30d', '90d'] as const satisfies readonly Retention[];

const dayMs = 86_400_000;

/** Rows from before this instant are purged; rows of exactly this instant stay. */
export const purgeCutoff = (retention: Retention, now: Date): Date =>
  new Date(now.getTime() - retentionDays[retention] * dayMs);

/**
 * A guard by UTC day allows at most one purge per day, whatever the schedule and the clock do. A purge made while the
 * clock was ahead does not delay the next one once the clock is corrected.
 */
export const isPurgeDue = (purges: readonly Date[], now: Date): boolean =>
  purges.every((purge) => utcDay(purge) !== utcDay(now));

const utcDay = (at: Date): number => Math.floor(at.getTime() / dayMs);
