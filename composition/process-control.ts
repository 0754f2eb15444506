import cluster, { type Worker } from 'node:cluster';
import { stopRequests } from '../infrastructure/stop-requests.ts';

/** A process ends at most this long after its grace, or after a second signal, whatever it still waits for. */
export const endMs = 15_000;

/** Commands of a supervisor to its workers: drain and end; end now; read the configuration again. */
export type WorkerCommand = 'stop' | 'end' | 'reload';

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** What a supervisor needs to know from a serving process, because it has not read the configuration itself. */
export interface Serving {
  /** How many processes are to run. */
  readonly workers: number;
  readonly graceMs: number;
}

/** What a worker reports to its supervisor. */
export type Report =
  /** It handles commands from now on. */
  | { readonly kind: 'up' }
  /** It accepts connections. Sent again after a reload. */
  | ({ readonly kind: 'serving' } & Serving)
  /** The worker received a signal; the supervisor decides what follows. */
  | { readonly kind: 'signal'; readonly signal: (typeof signals)[number] };

/** What a serving process is asked to do while it lives, and what it reports. */
export interface ProcessControl {
  /** Resolves on the first request to stop: requests in flight get their grace, then the process ends. */
  readonly stopped: Promise<void>;
  /** Resolves when there is no more grace. */
  readonly forced: Promise<void>;
  readonly onReload: (reload: () => void) => void;
  /** The first process migrates and seeds. Further and replacing processes find that done. */
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
 * A signal to the whole process group reaches a worker as well as its supervisor. So a worker only reports signals and
 * obeys commands. Without its supervisor it gets no commands, and stops by itself.
 */
function controlBySupervisor(worker: Worker): ProcessControl {
  const stopped = Promise.withResolvers<void>();
  const forced = Promise.withResolvers<void>();
  const reloads: (() => void)[] = [];
  const report = (message: Report): void => {
    // Without a supervisor there is nobody to report to; its end is noticed below.
    if (worker.isConnected()) worker.send(message, () => undefined);
  };
  // Otherwise Node ends this process at once when the supervisor is gone.
  worker.exitedAfterDisconnect = true;
  process.once('disconnect', stopped.resolve);
  for (const signal of signals) process.on(signal, () => report({ kind: 'signal', signal }));
  process.on('message', (command: WorkerCommand) => {
    if (command === 'stop') stopped.resolve();
    if (command === 'end') forced.resolve();
    if (command === 'reload') for (const reload of reloads) reload();
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
