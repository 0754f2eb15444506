import { readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningCommand, startCommand } from '../../e2e/processes.ts';
import { childrenOf, send } from './database.ts';

/** The pause before a failed start is retried, as an orchestrator does. */
const againMs = 300;
/** A start that does not complete is aborted after this time. */
const startMs = 100_000;

/** How a gateway process ended, after a signal or by itself. */
export interface Ending {
  readonly replica: number;
  readonly asked: 'SIGTERM' | 'SIGKILL' | undefined;
  readonly code: number | null;
  readonly signal: string | null;
  /** From the signal on. */
  readonly milliseconds: number;
}

/** A gateway that is restarted whenever it ends, until it is stopped. */
export interface Replica {
  readonly number: number;
  /** Its URL; undefined while it does not listen. */
  readonly url: () => string | undefined;
  /** Its supervisor and its serving process; undefined while it does not serve. */
  readonly supervisor: () => number | undefined;
  readonly worker: () => number | undefined;
  /** Open file descriptors of the serving process. */
  readonly descriptors: () => number;
  /** Sends SIGTERM; it is restarted once it has ended. */
  readonly terminate: () => void;
  /** Sends SIGHUP, so that it reloads its configuration. */
  readonly reload: () => void;
  /** Sends SIGKILL to the supervisor, or to all of its processes. */
  readonly kill: (what: 'all' | 'supervisor') => void;
  /** Sets the error of its wall clock from now on. */
  readonly stepClock: (milliseconds: number) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface ReplicaOptions {
  readonly number: number;
  readonly folder: string;
  readonly configFile: string;
  readonly databaseUrl: string;
  readonly dataDir: string;
  /** The folder of another copy of the product; this one by default. */
  readonly root: string | undefined;
  readonly onEnd: (ending: Ending) => void;
  /** Called with each line that it logs, except for those of requests. */
  readonly onLine: (line: string) => void;
}

const clockModule = path.join(import.meta.dirname, 'stepping-clock.ts');

export async function keptReplica(options: ReplicaOptions): Promise<Replica> {
  const { number, folder, configFile, databaseUrl, dataDir, root, onEnd, onLine } = options;
  const clock = path.join(folder, `clock-${number}`);
  await mkdir(folder, { recursive: true });
  await writeFile(clock, '0');
  let running: RunningCommand | undefined;
  let url: string | undefined;
  let worker: number | undefined;
  let asked: Ending['asked'];
  let askedAt = 0;
  const ended = new AbortController();

  const hear = (line: string): void => {
    if (line.includes('"msg":"request"')) return;
    onLine(line);
    if (!line.includes('"msg":"listening"')) return;
    // Repeated for each worker that replaces a dead one.
    const said = JSON.parse(line) as { readonly url: string; readonly pid: number };
    url = said.url;
    worker = said.pid;
  };
  const once = async (): Promise<void> => {
    asked = undefined;
    const startedAt = performance.now();
    const env = {
      GATEWAY_CONFIG: configFile,
      DATABASE_URL: databaseUrl,
      GATEWAY_DATA_DIR: dataDir,
      NODE_OPTIONS: `--import ${clockModule}`,
      TORTURE_CLOCK: clock,
    };
    const command = startCommand(['serve'], env, root);
    running = command;
    const { stdout, stderr } = command.child;
    if (stdout === null || stderr === null) throw new TypeError('its output is not a pipe');
    createInterface(stdout).on('line', hear);
    createInterface(stderr).on('line', onLine);
    const patience = setTimeout(() => url ?? killAll(command), startMs);
    const { code, signal } = await command.exited;
    clearTimeout(patience);
    const served = url !== undefined;
    url = undefined;
    worker = undefined;
    running = undefined;
    const milliseconds = performance.now() - (askedAt > startedAt ? askedAt : startedAt);
    // A gateway that could not start without its database is not reported.
    if (served || asked !== undefined) onEnd({ replica: number, asked, code, signal, milliseconds });
  };
  const life = (async () => {
    while (!ended.signal.aborted) {
      await once();
      if (!ended.signal.aborted) await sleep(againMs);
    }
  })();
  const ask = (signal: 'SIGTERM' | 'SIGKILL'): void => {
    // The stronger signal is the one that ends it.
    if (asked !== 'SIGKILL') asked = signal;
    askedAt = performance.now();
  };
  return {
    number,
    url: () => url,
    supervisor: () => running?.child.pid,
    worker: () => worker,
    descriptors: () => (worker === undefined ? 0 : readdirSync(`/proc/${worker}/fd`).length),
    terminate: () => {
      if (running === undefined) return;
      ask('SIGTERM');
      running.child.kill('SIGTERM');
    },
    reload: () => {
      if (url !== undefined) running?.child.kill('SIGHUP');
    },
    kill: (what) => {
      if (running === undefined) return;
      ask('SIGKILL');
      if (what === 'all') killAll(running);
      else running.child.kill('SIGKILL');
    },
    stepClock: (milliseconds) => writeFile(clock, String(milliseconds)),
    stop: async () => {
      ended.abort();
      if (running !== undefined) {
        ask('SIGTERM');
        running.child.kill('SIGTERM');
      }
      await life;
    },
  };
}

function killAll(command: RunningCommand): void {
  const { pid } = command.child;
  if (pid === undefined) return;
  // The supervisor first, so that it replaces no worker.
  const below = childrenOf(pid);
  command.child.kill('SIGKILL');
  for (const each of below) send(each, 'SIGKILL');
}
