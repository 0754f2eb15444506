// npm run bench:ledger: admission, settlement and the request log by themselves, compared with all of a bare proxy, as
// ratios of CPU per request; and the disk space of a request.
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import { Client } from 'pg';
import { type Caller, scopeOf } from '../domain/identity/caller.ts';
import { payloads as payloadsOf, type Payloads, proxiedBody } from './ledger-payloads.ts';
import { askOf, recordOf } from './ledger-records.ts';
import { ledgerScene, makeUsers } from './ledger-scene.ts';
import { closedLoop, median } from './load.ts';
import { root, start, startUpstream } from './processes.ts';

const concurrent = 200;
const requests = 10_000;
const rounds = 5;
const owners = 50;

const scene = await ledgerScene();
const { ledger, payloads } = scene;

async function users(): Promise<readonly Caller[]> {
  const client = new Client(scene.url);
  await client.connect();
  const made = await makeUsers(client, owners, 'u', true);
  await client.end();
  return made;
}

/** What is settled of a request. */
interface Part {
  readonly name: string;
  readonly logged: boolean;
  readonly payloads: Payloads | undefined;
}

const whole = payloadsOf(1);
const half = payloadsOf(0.44);

const charge = { name: 'admission and settlement without a log row', logged: false, payloads: undefined };
const parts: readonly Part[] = [
  charge,
  { name: 'and a log row', logged: true, payloads: undefined },
  { name: `and a log row, with ${half.bytes} bytes of bodies`, logged: true, payloads: half },
  { name: `and a log row, with ${whole.bytes} bytes of bodies`, logged: true, payloads: whole },
];

/** Bytes that may wait to be written: without other work, payloads are made faster than they are written. */
const maxWaitingBytes = 8 * 1024 * 1024;

let waiting: Promise<void> | undefined;
const room = async (): Promise<void> => {
  if (payloads.counts().queuedBytes > maxWaitingBytes) waiting ??= untilWritten();
  await waiting;
};

/** One timer for all waiters, because it must not affect the measurement. */
async function untilWritten(): Promise<void> {
  while (payloads.counts().queuedBytes > maxWaitingBytes / 2) await sleep(20);
  waiting = undefined;
}

async function settle(callers: readonly Caller[], part: Part): Promise<void> {
  let left = requests;
  const caller = async (): Promise<void> => {
    for (let at = left--; at > 0; at = left--) {
      const payer = callers[at % callers.length];
      if (payer === undefined) return;
      const id = randomUUID();
      const { logged, payloads: kept } = part;
      const record = recordOf(payer, id, { logged, captured: kept !== undefined });
      if (E.isLeft(await ledger.admit(askOf(payer, id)))) throw new Error('not admitted');
      if (E.isLeft(await ledger.settle(record))) throw new Error('not settled');
      if (kept === undefined) continue;
      payloads.keep({ requestLogId: id, scope: scopeOf(payer) }, () => kept.of(at));
      await room();
    }
  };
  await Promise.all(Array.from({ length: concurrent }, caller));
  while (payloads.counts().queuedBytes > 0) await sleep(20);
  if (payloads.counts().shed > 0) throw new Error('payloads were shed');
}

/** CPU of this process per request, in microseconds. */
async function cpuOf(work: () => Promise<void>): Promise<number> {
  const from = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / requests;
}

/** Bytes on disk per request for the tables of the request log, indexes included. */
async function bytesPerRow(): Promise<readonly string[]> {
  const client = new Client(scene.url);
  await client.connect();
  const { rows } = await client.query<{ table: string; bytes: string; rows: string }>(
    `select relname as table, (
         select sum(pg_total_relation_size(relid)) from pg_partition_tree(oid)) as bytes, (xpath('/row/c/text()',
       query_to_xml(format('select count(*) as c from %I', relname), false, true, '')))[1]::text as rows
     from pg_class where relname in ('request_logs', 'request_log_attempts', 'request_log_payloads') order by 1`,
  );
  await client.end();
  return rows.map(({ table, bytes, rows: count }) => `${table} ${Math.round(Number(bytes) / Number(count))}`);
}

const out = (line: string): void => void process.stdout.write(`${line}\n`);

const upstream = await startUpstream();
const bare = await start([path.join(root, 'bench', 'bare-proxy.mjs'), upstream.url]);
try {
  const callers = await users();
  const proxied = () => closedLoop({ url: bare.url, headers: {} }, proxiedBody, concurrent, requests);
  await proxied();
  for (const part of parts) await settle(callers, part);
  const units: number[] = [];
  const found = new Map<Part, number[]>(parts.map((part) => [part, []]));
  for (let round = 0; round < rounds; round += 1) {
    const before = bare.cpuMicros();
    await proxied();
    units.push((bare.cpuMicros() - before) / requests);
    for (const [part, values] of found) values.push(await cpuOf(() => settle(callers, part)));
  }
  out(
    `${concurrent} concurrent requests; a bare proxy of such requests and answers takes ${median(units).toFixed(0)} µs`,
  );
  out('of CPU per request; in this process, and beside it what the log alone adds:');
  const ratio = (values: readonly number[]): string =>
    `${median(values.map((value, round) => value / (units[round] ?? Number.NaN))).toFixed(2)} × the bare proxy`;
  const charged = found.get(charge) ?? [];
  for (const [{ name }, values] of found) {
    const added = values.map((value, round) => value - (charged[round] ?? Number.NaN));
    out(
      `${name}: ${median(values).toFixed(0)} µs, ${ratio(values)}; ${median(added).toFixed(0)} µs, ${ratio(added)}`,
    );
  }
  out(`bytes on disk per row: ${(await bytesPerRow()).join(', ')}`);
} finally {
  await bare.stop();
  await upstream.stop();
  await scene.close();
}
