import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { scheduledJobs } from 'node-schedule';
import type { Retention } from '../../domain/request-log/retention.ts';
import { scheduleFault } from '../../infrastructure/config/purge-schedule.ts';
import { inUtc, purgeWorker } from '../../infrastructure/purge-worker.ts';
import { memoryLog } from '../support/gateway.ts';

interface Settings {
  enabled: boolean;
  retention: Retention;
  schedule: string;
}

/** A worker whose schedule fires, and whose purges end, when the test makes them. */
function aWorker(over: Partial<Settings> = {}) {
  const settings: Settings = { enabled: true, retention: '7d', schedule: '0 0 * * *', ...over };
  const rules: string[] = [];
  const purges: {
    readonly retention: Retention;
    readonly shouldContinue: () => boolean;
    readonly end: (report: object | undefined) => void;
    readonly fail: (error: Error) => void;
  }[] = [];
  const log = memoryLog();
  let now = new Date('2028-03-01T00:00:00Z');
  let fire: (() => void) | undefined;
  const worker = purgeWorker({
    what: 'request logs',
    settings: () => settings,
    purge: (retention, shouldContinue) => {
      const { promise, resolve, reject } = Promise.withResolvers<object | undefined>();
      purges.push({ retention, shouldContinue, end: resolve, fail: reject });
      return promise;
    },
    schedule: (rule, call) => {
      rules.push(rule);
      fire = call;
      return { cancel: () => void (fire = undefined) };
    },
    now: () => now,
    log,
  });
  return {
    settings,
    rules,
    purges,
    log,
    worker,
    scheduled: () => fire !== undefined,
    fireAt: (at: string | Date) => {
      now = new Date(at);
      fire?.();
    },
    endLast: async (report: object | undefined = {}) => {
      purges.at(-1)?.end(report);
      await sleep(0);
    },
  };
}

describe('the purge worker', () => {
  it('runs only when it is enabled, on its schedule', () => {
    expect(aWorker().rules).toEqual(['0 0 * * *']);
    const disabled = aWorker({ enabled: false });
    expect(disabled.rules).toEqual([]);
    disabled.worker.follow();
    expect(disabled.scheduled()).toBe(false);
  });

  it('logs cutoff, matched and deleted', async () => {
    const { purges, fireAt, endLast, log } = aWorker({ retention: '3d' });
    fireAt('2028-03-01T00:00:00Z');
    expect(purges.map(({ retention }) => retention)).toEqual(['3d']);
    const report = { cutoff: new Date('2028-02-27T00:00:00Z'), matched: 3, deleted: 2 };
    await endLast(report);
    expect(log.lines).toEqual([{ level: 'info', fields: report, message: 'request logs purged' }]);
  });

  it('purges at most once per UTC day, and on every day on which it fires', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 8 * 24 * 60 }), { minLength: 1, maxLength: 30, size: 'max' }),
        async (minutes) => {
          const { purges, fireAt, endLast } = aWorker();
          const at = minutes
            .toSorted((one, other) => one - other)
            .map((minute) => new Date(Date.UTC(2028, 1, 26) + minute * 60_000));
          for (const each of at) {
            fireAt(each);
            await endLast();
          }
          expect(purges).toHaveLength(new Set(at.map((each) => each.toISOString().slice(0, 10))).size);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('never starts a purge while another one is running', async () => {
    const { purges, fireAt, endLast } = aWorker();
    fireAt('2028-03-01T00:00:00Z');
    fireAt('2028-03-02T00:00:00Z');
    expect(purges).toHaveLength(1);
    await endLast();
    fireAt('2028-03-02T00:00:00Z');
    expect(purges).toHaveLength(2);
  });

  it('logs a failed purge by its error code alone, and tries again on the next day', async () => {
    const { purges, fireAt, log } = aWorker();
    fireAt('2028-03-01T00:00:00Z');
    purges[0]?.fail(Object.assign(new Error('with a secret in it'), { code: '57014' }));
    await sleep(0);
    expect(log.lines).toEqual([
      {
        level: 'error',
        fields: { error: '57014', sqlstate: '57014' },
        message: 'the request logs could not be purged',
      },
    ]);
    fireAt('2028-03-01T12:00:00Z');
    fireAt('2028-03-02T00:00:00Z');
    expect(purges).toHaveLength(2);
  });

  it('skips the day where another process is already purging', async () => {
    const { purges, fireAt, endLast, log } = aWorker();
    fireAt('2028-03-01T00:00:00Z');
    await sleep(0);
    purges[0]?.end(undefined);
    await endLast();
    expect(log.lines).toEqual([
      { level: 'info', fields: {}, message: 'another process purges the request logs' },
    ]);
    fireAt('2028-03-01T12:00:00Z');
    expect(purges).toHaveLength(1);
  });

  it('follows a changed configuration', () => {
    const { settings, rules, purges, fireAt, scheduled, worker } = aWorker({ enabled: false });
    settings.enabled = true;
    worker.follow();
    expect(rules).toEqual(['0 0 * * *']);
    settings.retention = '1d';
    worker.follow();
    expect(rules).toHaveLength(1);
    settings.schedule = '30 4 * * *';
    worker.follow();
    expect(rules).toEqual(['0 0 * * *', '30 4 * * *']);
    fireAt('2028-03-01T04:30:00Z');
    expect(purges.map(({ retention }) => retention)).toEqual(['1d']);
    expect(purges[0]?.shouldContinue()).toBe(true);
    settings.enabled = false;
    worker.follow();
    expect([scheduled(), purges[0]?.shouldContinue()]).toEqual([false, false]);
  });

  it('still purges at most once per UTC day when the schedule is changed', async () => {
    const { settings, purges, fireAt, endLast, worker } = aWorker();
    fireAt('2028-03-01T00:00:00Z');
    await endLast();
    settings.schedule = '0 5 * * *';
    worker.follow();
    fireAt('2028-03-01T05:00:00Z');
    expect(purges).toHaveLength(1);
    fireAt('2028-03-02T05:00:00Z');
    expect(purges).toHaveLength(2);
  });

  it('tells a running purge to end when it is stopped, and waits for it', async () => {
    const { purges, fireAt, endLast, scheduled, worker } = aWorker();
    fireAt('2028-03-01T00:00:00Z');
    let stopped = false;
    const stopping = worker.stop().then(() => (stopped = true));
    await sleep(5);
    expect([scheduled(), purges[0]?.shouldContinue(), stopped]).toEqual([false, false, false]);
    await endLast();
    await stopping;
    worker.follow();
    expect(scheduled()).toBe(false);
  });

  it('logs an error where its schedule never fires', () => {
    const log = memoryLog();
    const settings = { enabled: true, retention: '7d', schedule: 'never' } as const;
    const schedule = () => undefined;
    purgeWorker({
      what: 'request logs',
      settings: () => settings,
      purge: async () => ({}),
      schedule,
      now: () => new Date(),
      log,
    });
    expect(log.lines).toEqual([
      {
        level: 'error',
        fields: { schedule: 'never' },
        message: 'the request logs are never purged on this schedule',
      },
    ]);
  });
});

describe('the cron schedule of the purge worker', () => {
  it('fires until it is cancelled', async () => {
    const fired: number[] = [];
    const job = inUtc('* * * * * *', () => void fired.push(Date.now()));
    for (let tries = 0; fired.length === 0 && tries < 250; tries += 1) await sleep(20);
    job?.cancel();
    const times = fired.length;
    expect(times).toBeGreaterThan(0);
    await sleep(1100);
    expect(fired).toHaveLength(times);
    expect(Object.keys(scheduledJobs)).toEqual([]);
  });

  it('is in UTC, whatever the time zone of the process', async () => {
    const worker = path.join(import.meta.dirname, '..', '..', 'infrastructure', 'purge-worker.ts');
    const script = `
      const { inUtc } = await import(${JSON.stringify(worker)});
      const { scheduledJobs } = await import('node-schedule');
      const job = inUtc('15 3 * * *', () => undefined);
      const [{ pendingInvocations: [{ fireDate }] }] = Object.values(scheduledJobs);
      console.log(new Date().getTimezoneOffset(), fireDate.toDate().toISOString().slice(11));
      job.cancel();
    `;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', script],
      {
        cwd: path.join(import.meta.dirname, '..', '..'),
        env: { PATH: process.env['PATH'], TZ: 'Asia/Kathmandu' },
      },
    );
    expect(stdout.trim()).toBe('-345 03:15:00.000Z');
  });

  it('accepts every expression that the configuration accepts', () => {
    const value = (from: number, to: number, words: readonly string[]) =>
      fc.oneof(
        { weight: 6, arbitrary: fc.integer({ min: from, max: to }).map(String) },
        { weight: 2, arbitrary: fc.constantFrom('*', '?', ...words) },
      );
    const field = (from: number, to: number, words: readonly string[]) => {
      const one = value(from, to, words);
      const span = fc.oneof(
        one,
        fc.tuple(one, one).map((ends) => ends.join('-')),
      );
      const stepped = fc.oneof(
        { weight: 3, arbitrary: span },
        {
          weight: 1,
          arbitrary: fc.tuple(span, fc.integer({ min: 1, max: 40 })).map((parts) => parts.join('/')),
        },
      );
      return fc.oneof(
        { weight: 3, arbitrary: stepped },
        {
          weight: 1,
          arbitrary: fc.array(stepped, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(',')),
        },
      );
    };
    const aLine = fc
      .tuple(
        fc.integer({ min: 0, max: 59 }).map(String),
        fc.integer({ min: 0, max: 23 }).map(String),
        field(1, 31, ['L', 'l']),
        field(1, 12, ['jan', 'FEB', 'Dec']),
        field(0, 7, ['sun', 'MON', 'Sat']),
      )
      .map((fields) => fields.join(' '));
    let taken = 0;
    expect(scheduleFault('0 0 L,30 2 *')).toBe('must name a day that exists');
    expect(scheduleFault('0 0 L,30 2,4 *')).toBeUndefined();
    fc.assert(
      fc.property(aLine, (line) => {
        if (scheduleFault(line) !== undefined) return;
        taken += 1;
        const job = inUtc(line, () => undefined);
        job?.cancel();
        expect([line, job]).toEqual([line, { cancel: expect.any(Function) }]);
      }),
      { numRuns: 400 },
    );
    expect(taken).toBeGreaterThan(40);
  });
});
