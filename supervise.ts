import cluster, { type Worker } from 'node:cluster';
import type { Log } from './infrastructure/logging.ts';

/** A worker that dies is replaced after this pause, so that one that cannot start does not spin. */
const respawnMs = 1000;

export interface Supervised {
  readonly reload: () => void;
  /** Workers drain by themselves; resolves when the last one is gone. */
  readonly stop: () => Promise<void>;
}

/** Worker processes that share the port. They get the database's address; migrating and seeding is done already. */
export function superviseWorkers(
  count: number,
  script: string,
  env: Readonly<Record<string, string>>,
  log: Log,
): Supervised {
  cluster.setupPrimary({ exec: script, args: ['serve', '--workers', '1', '--no-migrate', '--no-seed'] });
  let stopping = false;
  const fork = (): Worker => cluster.fork(env);
  const exited = Promise.withResolvers<void>();
  const workers = (): readonly Worker[] =>
    Object.values(cluster.workers ?? {}).filter((each) => each !== undefined);

  cluster.on('exit', (worker, code, signal) => {
    if (stopping) {
      if (workers().length === 0) exited.resolve();
      return;
    }
    log.error({ pid: worker.process.pid, code, signal }, 'a worker died');
    setTimeout(() => {
      if (!stopping) fork();
    }, respawnMs);
  });
  for (let index = 0; index < count; index += 1) fork();

  return {
    reload: () => {
      for (const worker of workers()) worker.process.kill('SIGHUP');
    },
    stop: () => {
      stopping = true;
      const alive = workers();
      if (alive.length === 0) return Promise.resolve();
      for (const worker of alive) worker.process.kill('SIGTERM');
      return exited.promise;
    },
  };
}
