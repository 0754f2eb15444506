import { scheduleJob } from 'node-schedule';
import { isPurgeDue, type Retention } from '../domain/request-log/retention.ts';
import { causeOf, type Log } from './logging.ts';
import { sqlState } from './postgres/database-fault.ts';

/** Calls `fire` whenever a cron line says so; `undefined` when the line never does. */
export type Schedule = (rule: string, fire: () => void) => { readonly cancel: () => void } | undefined;

/** Cron lines are in UTC, whatever the time zone of the machine. */
export const inUtc: Schedule = (rule, fire) => {
  const job = scheduleJob({ rule, tz: 'Etc/UTC' }, fire);
  return job === null ? undefined : { cancel: () => void job.cancel() };
};

export interface PurgeWorkerOptions {
  /** The rows that are purged, as log messages name them. */
  readonly what: string;
  /** The settings in force. */
  readonly settings: () => {
    readonly enabled: boolean;
    readonly retention: Retention;
    readonly schedule: string;
  };
  /** `undefined` when another process is already purging. */
  readonly purge: (retention: Retention, shouldContinue: () => boolean) => Promise<object | undefined>;
  readonly schedule: Schedule;
  readonly now: () => Date;
  readonly log: Log;
}

export interface PurgeWorker {
  /** Applies the current settings. */
  readonly follow: () => void;
  /** Starts no further purge; resolves when the one in progress has ended after its current batch. */
  readonly stop: () => Promise<void>;
}

/** One purge a day, for a clock that is set back by up to a year. */
const rememberedPurges = 366;

/** When enabled, a per-process worker runs on its cron schedule and purges at most once per UTC day. */
export function purgeWorker({ what, settings, purge, schedule, now, log }: PurgeWorkerOptions): PurgeWorker {
  let rule: string | undefined;
  let job: ReturnType<Schedule>;
  let stopped = false;
  let purges: readonly Date[] = [];
  let underWay: Promise<void> | undefined;
  const shouldContinue = (): boolean => !stopped && settings().enabled;

  const run = async (): Promise<void> => {
    try {
      const report = await purge(settings().retention, shouldContinue);
      if (report === undefined) log.info({}, `another process purges the ${what}`);
      else log.info(report, `${what} purged`);
    } catch (error) {
      log.error({ error: causeOf(error), sqlstate: sqlState(error) }, `the ${what} could not be purged`);
    }
    underWay = undefined;
  };
  const fire = (): void => {
    if (!shouldContinue() || underWay !== undefined || !isPurgeDue(purges, now())) return;
    purges = [...purges, now()].slice(-rememberedPurges);
    underWay = run();
  };
  const follow = (): void => {
    const wanted = shouldContinue() ? settings().schedule : undefined;
    if (wanted === rule) return;
    job?.cancel();
    rule = wanted;
    job = wanted === undefined ? undefined : schedule(wanted, fire);
    if (wanted !== undefined && job === undefined)
      log.error({ schedule: wanted }, `the ${what} are never purged on this schedule`);
  };
  follow();
  return {
    follow,
    stop: async () => {
      stopped = true;
      follow();
      await underWay;
    },
  };
}
