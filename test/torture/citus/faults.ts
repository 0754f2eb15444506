import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Gateway } from '../failover/gateways.ts';
import { type Caller, type Owner, startCaller, type Try } from '../failover/load.ts';
import { until } from '../failover/processes.ts';
import type { CitusCluster } from './cluster.ts';

export const faults = ['worker', 'move', 'replica'] as const;
export type Fault = (typeof faults)[number];

/** How long a round lasts before its fault, and after all callers are served again. */
const beforeMs = 3_000;
const afterMs = 3_000;
/** How long a worker is unavailable. */
const awayMs = 4_000;
/** Every caller gets an answer within this time after a worker's restart. */
const backMs = 5_000;
const recoveryMs = 60_000;

export interface Stage {
  readonly cluster: CitusCluster;
  /** Of the database at the coordinator. */
  readonly url: string;
  readonly gateways: Gateway[];
  readonly startAgain: (index: number) => Promise<Gateway>;
}

export interface Round {
  readonly tries: readonly Try[];
  /** A readable description of what happened. */
  readonly told: string;
  readonly problems: readonly string[];
}

interface Placed {
  readonly owner: string;
  readonly shard: string;
  readonly port: number;
}

async function ask<Row extends object>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** The shard of each owner, and the port of its node. */
const placesOf = (url: string): Promise<readonly Placed[]> =>
  ask<Placed>(
    url,
    `select u.name as owner, s.shard::text as shard, n.nodeport as port
     from users u
     cross join lateral (
       select get_shard_id_for_distribution_column('usage_daily_totals', 'user:' || u.user_id) as shard) s
     join pg_dist_placement p on p.shardid = s.shard join pg_dist_node n on n.groupid = p.groupid`,
  );

const servedSince = (callers: readonly Caller[], since: number, withinMs: number): Promise<true> =>
  until('every caller is answered again', withinMs, async () =>
    callers.every(({ tries }) =>
      tries.some(({ fate, startedAt }) => fate === 'complete' && startedAt > since),
    )
      ? true
      : undefined,
  );

const unavailable = ({ fate, code }: Try): boolean => fate !== 'complete' && code === 'store_unavailable';

type Step = (stage: Stage, callers: readonly Caller[], round: number) => Promise<Omit<Round, 'tries'>>;

/** A worker is killed and restarted: only owners whose shards it has may see errors. */
const worker: Step = async ({ cluster, url }, callers, round) => {
  const victim = cluster.workers[round % cluster.workers.length];
  if (victim === undefined) throw new Error('there are no workers');
  const there = new Set(
    (await placesOf(url)).filter(({ port }) => port === victim.port).map(({ owner }) => owner),
  );
  const from = performance.now();
  victim.kill();
  await sleep(awayMs);
  await victim.start();
  const back = performance.now();
  const inTime = await servedSince(callers, back, backMs).then(
    () => true,
    () => false,
  );
  const wait = performance.now() - back;
  if (!inTime) await servedSince(callers, back, recoveryMs);
  const ofOthers = callers
    .filter(({ owner }) => !there.has(owner.name))
    .flatMap(({ tries }) => tries.filter(({ endedAt }) => endedAt > from));
  const hit = ofOthers.filter(unavailable);
  const refused = callers.flatMap(({ tries }) => tries.filter(unavailable)).length;
  return {
    told:
      `a worker with ${there.size} owners away for ${awayMs / 1000} s: ${refused} requests of theirs refused, ` +
      `everybody answered ${(wait / 1000).toFixed(1)} s after its return`,
    problems: [
      ...(hit.length === 0 ? [] : [`${hit.length} requests of owners on another node were refused`]),
      ...(inTime ? [] : [`owners of the worker were not served ${backMs / 1000} s after its return`]),
    ],
  };
};

/** The shard of a busy owner moves to the other worker. */
const move: Step = async ({ cluster, url }, callers) => {
  const busy = callers.at(-1)?.owner.name;
  const place = (await placesOf(url)).find(({ owner }) => owner === busy);
  const target = cluster.workers.find(({ port }) => port !== place?.port);
  if (place === undefined || target === undefined) throw new Error('there is nothing to move');
  const from = performance.now();
  await ask(url, `select citus_move_shard_placement($1, '127.0.0.1', $2, '127.0.0.1', $3)`, [
    place.shard,
    place.port,
    target.port,
  ]);
  const moved = performance.now();
  await servedSince(callers, moved, recoveryMs);
  const refused = callers.flatMap(({ tries }) =>
    tries.filter((each) => each.endedAt > from && unavailable(each)),
  );
  return {
    told: `shard ${place.shard} moved in ${((moved - from) / 1000).toFixed(1)} s: ${refused.length} requests refused`,
    problems: [],
  };
};

/** A replica is killed; its callers continue when it is restarted. */
const replica: Step = async ({ gateways, startAgain }, callers, round) => {
  const index = round % gateways.length;
  const gateway = gateways[index];
  if (gateway === undefined) throw new Error('there is no such replica');
  await gateway.kill();
  const others = callers.filter((caller) => caller.gateway !== gateway.url);
  await servedSince(others, performance.now(), recoveryMs);
  gateways[index] = await startAgain(index);
  return { told: 'a replica was killed and started again', problems: [] };
};

const steps = { worker, move, replica } as const satisfies Record<Fault, Step>;

/** Load on all replicas, and a fault during it. */
export async function oneRound(
  stage: Stage,
  fault: Fault,
  round: number,
  owners: readonly Owner[],
  narrow: Owner,
  random: () => number,
): Promise<Round> {
  const over = new AbortController();
  const callers = stage.gateways.flatMap(({ url }) =>
    [narrow, ...owners].map((owner) => startCaller(owner, url, random, over.signal)),
  );
  try {
    await sleep(beforeMs);
    const served = callers.filter(({ owner }) => owner !== narrow);
    const { told, problems } = await steps[fault](stage, served, round);
    await sleep(afterMs);
    over.abort();
    await Promise.all(callers.map(({ ended }) => ended));
    return { told, problems, tries: callers.flatMap(({ tries }) => tries) };
  } finally {
    over.abort();
  }
}
