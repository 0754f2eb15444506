import cluster, { type Worker } from 'node:cluster';
import { stopRequests } from '../infrastructure/stop-requests.ts';

/** The end of a process is over so long after the grace, or after a second signal, whatever waits. */
export const endMs = 15_000;

/** What a supervisor tells its workers: drain and end; end now; read the configuration again. */
export type WorkerCommand = 'stop' | 'end' | 'reload';

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** What the supervisor of a process that serves needs to know: it has not read the configuration. */
export interface Serving {
  /** How many processes there shall be. */
  readonly workers: number;
  readonly graceMs: number;
}

/** What a worker tells its supervisor. */
export type Report =
  /** It hears orders from now on. */
  | { readonly kind: 'up' }
  /** It accepts connections. Again after a reload. */
  | ({ readonly kind: 'serving' } & Serving)
  /** A signal came to the worker; what follows from it is the supervisor's to say. */
  | { readonly kind: 'signal'; readonly signal: (typeof signals)[number] };

/** What a serving process is asked for while it lives, and what it tells. */
export interface ProcessControl {
  /** Requests in flight get their grace, then the process ends. */
  readonly stopped: Promise<void>;
  /** No more grace. */
  readonly forced: Promise<void>;
  readonly onReload: (reload: () => void) => void;
  /** The first process migrates and seeds; those beside it, and those that replace one, find that done. */
  readonly first: boolean;
  readonly serving: (serving: Serving) => void;
}

/** Commands come from the supervisor, or as signals where there is none. */
export const processControl = (): ProcessControl =>
  cluster.worker === undefined ? controlBySignals() : controlBySupervisor(cluster.worker);

const controlBySignals = (): ProcessControl => ({
  ...stopRequests(),
  onReload: (reload) => void process.on('SIGHUP', reload),
  first: true,
  serving: () => undefined,
});

/**
 * A signal to the whole process group comes to a worker as well as to its supervisor. So a worker only reports
 * signals and obeys orders. A supervisor that is gone gives none: then the worker stops by itself.
 */
function controlBySupervisor(worker: Worker): ProcessControl {
  const stopped = Promise.withResolvers<void>();
  const forced = Promise.withResolvers<void>();
  const reloads: (() => void)[] = [];
  const report = (message: Report): void => {
    // Without a supervisor nobody wants to know; its end is noticed below.
    if (worker.isConnected()) worker.send(message, () => undefined);
  };
  // Otherwise Node ends the process at once when the supervisor is gone.
  worker.exitedAfterDisconnect = true;
  process.once('disconnect', stopped.resolve);
  for (const signal of signals) process.on(signal, () => report({ kind: 'signal', signal }));
  process.on('message', (order: WorkerCommand) => {
    if (order === 'stop') stopped.resolve();
    if (order === 'end') forced.resolve();
    if (order === 'reload') for (const reload of reloads) reload();
  });
  report({ kind: 'up' });
  return {
    stopped: stopped.promise,
    forced: forced.promise,
    onReload: (reload) => void reloads.push(reload),
    first: worker.id === 1,
    serving: (serving) => report({ kind: 'serving', ...serving }),
  };
}
