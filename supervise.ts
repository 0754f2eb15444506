import cluster, { type Worker } from 'node:cluster';
import type { Log } from './infrastructure/logging.ts';

/** A worker that dies is replaced after this pause, so that one that cannot start does not spin. */
const respawnMs = 1000;

export interface Supervised {
  readonly reload: () => void;
  /** Workers drain by themselves; resolves when the last one is gone. */
  readonly stop: () => Promise<void>;
  /** Resolves when a worker died before any had listened: the next one would fare no better. */
  readonly hopeless: Promise<void>;
}

/** Worker processes that share the port. They get the database's address; migrating and seeding is done already. */
export function superviseWorkers(
  count: number,
  script: string,
  env: Readonly<Record<string, string>>,
  log: Log,
): Supervised {
  cluster.setupPrimary({ exec: script, args: ['serve', '--workers', '1', '--no-migrate', '--no-seed'] });
  const alive = new Set<Worker>();
  const gone = Promise.withResolvers<void>();
  const hopeless = Promise.withResolvers<void>();
  let listened = false;
  let stopping = false;
  const fork = (): void => void alive.add(cluster.fork(env));

  cluster.on('listening', () => {
    listened = true;
  });
  cluster.on('exit', (worker, code, signal) => {
    alive.delete(worker);
    if (stopping) {
      if (alive.size === 0) gone.resolve();
      return;
    }
    log.error({ pid: worker.process.pid, code, signal }, 'a worker died');
    if (!listened) return hopeless.resolve();
    setTimeout(() => {
      if (!stopping) fork();
    }, respawnMs);
  });
  for (let index = 0; index < count; index += 1) fork();

  return {
    reload: () => {
      for (const worker of alive) worker.process.kill('SIGHUP');
    },
    stop: () => {
      stopping = true;
      if (alive.size === 0) return Promise.resolve();
      for (const worker of alive) worker.process.kill('SIGTERM');
      return gone.promise;
    },
    hopeless: hopeless.promise,
  };
}
