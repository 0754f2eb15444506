import { setTimeout as sleep } from 'node:timers/promises';
import { longestWait } from './checks.ts';
import type { Cluster } from './cluster.ts';
import type { Gateway } from './gateways.ts';
import { type Caller, type Owner, startCaller, type Try } from './load.ts';
import { startProbe } from './probe.ts';
import { until } from './processes.ts';

export const faults = ['kill', 'freeze', 'isolate'] as const;
export type Fault = (typeof faults)[number];
export const isFault = (word: string): word is Fault => faults.some((each) => each === word);

/** Callers of each owner at each gateway. */
const callersOfEach = 3;
/** How long a round lasts before its fault, and after all callers are served again. */
const beforeMs = 2_000;
const afterMs = 2_000;
/** Within this time another member must lead, and every caller must have an answer. */
const recoveryMs = 60_000;
/** How long after the failover the old primary returns, if it returns soon. */
const awayMs = 2_000;

export interface Stage {
  readonly cluster: Cluster;
  /** The last one connects to the primary by the hosts in its URL, the others through HAProxy. */
  readonly gateways: readonly Gateway[];
  readonly folder: string;
  /** Ids of the requests that reached the upstream. */
  readonly asked: ReadonlySet<string>;
}

export interface Round {
  readonly fault: Fault;
  /** Whether the old primary returned before every caller had an answer again. */
  readonly soon: boolean;
  readonly tries: readonly Try[];
  /** Milliseconds from the fault until another member leads. */
  readonly promotedMs: number;
  /** Milliseconds from the fault until a plain client can commit. */
  readonly downMs: number;
  /** The longest wait of each caller with budget left, by the connection of its gateway to the database. */
  readonly waits: { readonly balanced: readonly number[]; readonly hosts: readonly number[] };
}

type Step = (cluster: Cluster, primary: string) => Promise<void>;
const begin: Readonly<Record<Fault, Step>> = {
  kill: async (cluster, primary) => cluster.kill(primary),
  freeze: async (cluster, primary) => cluster.freeze(primary),
  isolate: (cluster, primary) => cluster.isolate(primary),
};
const end: Readonly<Record<Fault, Step>> = {
  // Its Patroni restarts it.
  kill: async () => undefined,
  freeze: async (cluster, primary) => cluster.thaw(primary),
  isolate: (cluster, primary) => cluster.join(primary),
};

/** The primary fails under load, another one leads, the old one returns. `narrow` uses up its budget. */
export async function oneRound(
  { cluster, gateways }: Stage,
  fault: Fault,
  steady: readonly Owner[],
  narrow: Owner,
  random: () => number,
): Promise<Round> {
  const primary = await cluster.healthy(240_000);
  const soon = random() < 0.5;
  const over = new AbortController();
  const callers: readonly Caller[] = gateways.flatMap(({ url }) =>
    [narrow, ...steady.flatMap((owner) => Array.from({ length: callersOfEach }, () => owner))].map((owner) =>
      startCaller(owner, url, random, over.signal),
    ),
  );
  const probe = startProbe(cluster.balancedUrl);
  const served = callers.filter(({ owner }) => owner !== narrow);
  const answeredAgain = (since: number) =>
    until('every caller is answered again', recoveryMs, async () =>
      served.every(({ tries }) =>
        tries.some(({ fate, startedAt }) => fate === 'complete' && startedAt > since),
      )
        ? true
        : undefined,
    );
  try {
    await sleep(beforeMs + random() * 1_000);
    const from = performance.now();
    await begin[fault](cluster, primary);
    await cluster.otherThan(primary, recoveryMs);
    const led = performance.now();
    if (soon) await sleep(awayMs);
    else await answeredAgain(led);
    await end[fault](cluster, primary);
    await answeredAgain(led);
    await sleep(afterMs);
    over.abort();
    await Promise.all(callers.map(({ ended }) => ended));
    const last = gateways.at(-1)?.url;
    const waitsOf = (those: readonly Caller[]) => those.map(({ tries }) => longestWait(tries, from));
    return {
      fault,
      soon,
      promotedMs: led - from,
      downMs: probe.outageSince(from),
      tries: callers.flatMap(({ tries }) => tries),
      waits: {
        balanced: waitsOf(served.filter(({ gateway }) => gateway !== last)),
        hosts: waitsOf(served.filter(({ gateway }) => gateway === last)),
      },
    };
  } finally {
    over.abort();
    await probe.stop();
  }
}

/** Waits until all records of the journals are in the database. */
export const drained = (gateways: readonly Gateway[]): Promise<true> =>
  until('the journals are settled', 60_000, async () => {
    const files = (await Promise.all(gateways.map(({ journal }) => journal()))).flat();
    if (files.some((name) => name.endsWith('.refused'))) throw new Error(`refused: ${files.join(', ')}`);
    return files.some((name) => name.endsWith('.journal')) ? undefined : true;
  });
