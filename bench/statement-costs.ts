// PostgreSQL's CPU for the two statements of the money path: for the statement, and for each request in it.
import { readFileSync } from 'node:fs';
import * as E from 'fp-ts/lib/Either.js';
import { Client } from 'pg';
import { systemClock } from '../infrastructure/clock.ts';
import { makeLogPartitions } from '../infrastructure/postgres/log-partitions.ts';
import { askOf, recordOf } from './ledger-records.ts';
import { ledgerScene, makeUsers } from './ledger-scene.ts';
import { median } from './load.ts';
import type { Costs, StatementCost } from './scaling-model.ts';

/** CPU so far of the server's processes for clients, in microseconds. The kernel counts it in nanoseconds. */
export async function backendMicros(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
  return rows.reduce(
    (sum, { pid }) => sum + Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000,
    0,
  );
}

const batchSize = 32;
const rounds = 6;
const requestsPerRound = 960;

/** Measures requests with a hard budget and a summary row on this machine. Takes half a minute. */
export async function measuredCosts(): Promise<Pick<Costs, 'admission' | 'settlement' | 'commit'>> {
  const scene = await ledgerScene();
  const client = new Client(scene.url);
  try {
    await makeLogPartitions(scene.pool, false);
    await client.connect();
    const callers = await makeUsers(client, 50, 'scaling', true);
    const clock = systemClock();
    const samples = { admission: [[], []], settlement: [[], []] } as Record<
      'admission' | 'settlement',
      [number[], number[]]
    >;
    for (let round = 0; round <= rounds; round += 1)
      for (const [size, atOnce] of [1, batchSize].entries()) {
        const asked = Array.from({ length: requestsPerRound }, (_, index) => ({
          id: clock.newId(),
          caller: callers[index % callers.length]!,
        }));
        type Asked = (typeof asked)[number];
        const steps: Readonly<
          Record<'admission' | 'settlement', (of: Asked) => Promise<E.Either<unknown, unknown>>>
        > = {
          admission: ({ caller, id }) => scene.ledger.admit(askOf(caller, id)),
          settlement: ({ caller, id }) =>
            scene.ledger.settle(recordOf(caller, id, { logged: true, captured: false })),
        };
        for (const name of ['admission', 'settlement'] as const) {
          const before = await backendMicros(client);
          for (let from = 0; from < asked.length; from += atOnce) {
            const answers = await Promise.all(
              asked.slice(from, from + atOnce).map((each) => steps[name](each)),
            );
            if (!answers.every((answer) => E.isRight(answer))) throw new Error(`${name} failed`);
          }
          const micros = ((await backendMicros(client)) - before) / asked.length;
          // The first round is a warm-up.
          if (round > 0) samples[name][size as 0 | 1].push(micros);
        }
      }
    const commits: number[] = [];
    await client.query('create table commits (n integer)');
    for (let n = 0; n < 300; n += 1) {
      await client.query('begin');
      await client.query('insert into commits values (1)');
      const from = performance.now();
      await client.query('commit');
      commits.push((performance.now() - from) * 1000);
    }
    return {
      admission: costOf(samples.admission),
      settlement: costOf(samples.settlement),
      commit: median(commits),
    };
  } finally {
    await client.end();
    await scene.close();
  }
}

/** A single request costs `fixed + each`, and one in a batch `fixed / batchSize + each`. */
function costOf([alone, together]: readonly [readonly number[], readonly number[]]): StatementCost {
  const fixed = ((median(alone) - median(together)) * batchSize) / (batchSize - 1);
  return { fixed: Math.max(0, fixed), each: Math.max(1, median(alone) - fixed) };
}
