import cluster, { type Worker } from 'node:cluster';
import { surviveOutputErrors } from '../infrastructure/output-errors.ts';
import { stopRequests } from '../infrastructure/stop-requests.ts';
import { endMs, type WorkerCommand, type Report, type Serving } from './process-control.ts';
import { workerFlags, workerVariables } from './worker-memory.ts';

// Imports nothing but Node and what a supervisor needs: code that is not loaded cannot bring it down.

/**
 * A worker that served for this long is replaced at once. One that did not may have died of its startup, and replacing
 * it must not become a tight loop.
 */
const steadyMs = 10_000;
/** The pause before the second replacement in a row; it doubles with each further one. */
const firstPauseMs = 1000;
const maxPauseMs = 30_000;
/** A worker that is still running this long after its deadline hangs, and is killed. */
const killAfterMs = 5000;
/**
 * A SIGHUP to the process group also arrives from every worker, and late from a busy one. So a worker's SIGHUP counts
 * only if, a moment after it, the supervisor has had none of its own for this long.
 */
const sameHangupMs = 60_000;
const hangupWaitMs = 1000;

/** Runs this command in workers and replaces those that die; resolves with the exit code of the whole. */
export const supervise = (): Promise<number> => new Supervisor().run();

class Supervisor {
  private readonly servingSince = new Map<Worker, number | undefined>();
  private readonly ended = Promise.withResolvers<number>();
  private graceMs = 0;
  private code = 0;
  private failures = 0;
  private hangupAt = Number.NEGATIVE_INFINITY;
  private hangupWait: NodeJS.Timeout | undefined;
  private served = false;
  private stopping = false;

  run(): Promise<number> {
    surviveOutputErrors();
    const { stopped, forced, requestStop } = stopRequests();
    cluster.on('message', (worker, report: Report) => this.hear(worker, report, requestStop));
    cluster.on('exit', (worker, code, signal) => this.lost(worker, code, signal));
    process.on('SIGHUP', () => {
      this.hangupAt = performance.now();
      this.commandAll('reload');
    });
    void stopped.then(() => this.stop());
    void forced.then(() => this.end());
    cluster.setupPrimary({ execArgv: workerFlags(process.execArgv) });
    this.fork();
    return this.ended.promise;
  }

  private fork(): void {
    try {
      const worker = cluster.fork(workerVariables());
      this.servingSince.set(worker, undefined);
      worker.on('error', (error) => this.unmade(error, worker));
    } catch (error) {
      // Lack of memory is thrown at once; Node reports a limit (of processes, of files) with an event later.
      this.unmade(error);
    }
  }

  /**
   * The machine cannot start another process. It will emit no exit event, so it counts as a worker that died at
   * startup.
   */
  private unmade(error: unknown, worker?: Worker): void {
    if (worker?.process.pid !== undefined) return;
    say('error', { error: (error as NodeJS.ErrnoException).code }, 'a worker could not be started');
    if (worker !== undefined) this.servingSince.delete(worker);
    this.fewer(1);
  }

  private hear(worker: Worker, report: Report, requestStop: () => void): void {
    if (report.kind === 'up' && this.stopping) command(worker, 'stop');
    if (report.kind === 'serving') this.serving(worker, report);
    if (report.kind !== 'signal') return;
    if (report.signal === 'SIGHUP') this.workerHungUp();
    // Never counted as the second signal, because a busy worker reports the first one late.
    else if (!this.stopping) requestStop();
  }

  private workerHungUp(): void {
    this.hangupWait ??= setTimeout(() => {
      this.hangupWait = undefined;
      if (performance.now() - this.hangupAt > sameHangupMs) this.commandAll('reload');
    }, hangupWaitMs);
  }

  /** The first worker reports how many there are to be: only workers read the configuration. */
  private serving(worker: Worker, report: Serving): void {
    this.graceMs = report.graceMs;
    if (this.servingSince.get(worker) !== undefined) return;
    this.servingSince.set(worker, performance.now());
    if (this.served || this.stopping) return;
    this.served = true;
    say('info', { pid: process.pid, workers: report.workers }, 'supervising');
    for (let index = 1; index < report.workers; index += 1) this.fork();
  }

  private lost(worker: Worker, code: number | null, signal: string | null): void {
    const since = this.servingSince.get(worker);
    this.servingSince.delete(worker);
    if (this.served && !this.stopping)
      say('error', { pid: worker.process.pid, code, signal }, 'a worker died');
    if (since !== undefined && performance.now() - since > steadyMs) this.failures = 0;
    // A signal that arrives before the worker handles signals ends it as well.
    this.fewer(this.stopping && (signal === 'SIGTERM' || signal === 'SIGINT') ? 0 : (code ?? 1));
  }

  private fewer(code: number): void {
    if (this.stopping) {
      if (code !== 0) this.code = 1;
      if (this.servingSince.size === 0) this.ended.resolve(this.code);
      return;
    }
    // A replacement would fail in the same way, and the reason was already reported.
    if (!this.served) return this.ended.resolve(code);
    const pauseMs = this.failures === 0 ? 0 : Math.min(firstPauseMs * 2 ** (this.failures - 1), maxPauseMs);
    this.failures += 1;
    setTimeout(() => {
      if (!this.stopping) this.fork();
    }, pauseMs);
  }

  private stop(): void {
    this.stopping = true;
    // A replacement finishes what a dead worker left behind: its database and its journal.
    if (this.servingSince.size === 0) this.fork();
    this.commandAll('stop');
    this.killAfter(this.graceMs + endMs);
  }

  private end(): void {
    this.commandAll('end');
    this.killAfter(endMs);
  }

  private killAfter(milliseconds: number): void {
    setTimeout(() => {
      for (const worker of this.servingSince.keys()) worker.process.kill('SIGKILL');
    }, milliseconds + killAfterMs);
  }

  private commandAll(what: WorkerCommand): void {
    for (const worker of this.servingSince.keys()) command(worker, what);
  }
}

/** Sends a command to a worker. A worker that is just ending takes none, and its exit is noticed without an answer. */
function command(worker: Worker, what: WorkerCommand): void {
  if (worker.isConnected()) worker.send(what, () => undefined);
}

/** Logs in the format of the service's log, whose module would load half of the service. */
const say = (level: 'info' | 'error', fields: object, msg: string): void =>
  void process.stdout.write(`${JSON.stringify({ level, time: new Date().toISOString(), msg, ...fields })}\n`);
