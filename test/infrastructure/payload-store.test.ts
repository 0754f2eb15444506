import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { KeptPayload } from '../../application/ports/payloads.ts';
import type { Json } from '../../domain/shared/json.ts';
import { oneDatabase } from '../../infrastructure/postgres/ledger-place.ts';
import { openPool, type ServicePool } from '../../infrastructure/postgres/pool.ts';
import {
  maxQueuedBytes,
  type PayloadStore,
  payloadStore,
} from '../../infrastructure/postgres/payload-store.ts';
import { type Holder, holder, untilWaiting } from '../contract/ledger-bench.ts';
import { type TcpProxy, tcpProxy } from '../contract/tcp-proxy.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { timed } from '../support/undisturbed.ts';

const database = withDatabase();
const query = queries(database.url);
const mebibyte = 1024 * 1024;

/** A log row in the scope that `summaries` uses. */
const of = (requestLogId: string) => ({ requestLogId, scope: 's' });

let proxy: TcpProxy;
let pool: ServicePool;
let store: PayloadStore;
let faults: unknown[];
let defects: unknown[];

const opened = (): PayloadStore => {
  faults = [];
  defects = [];
  return payloadStore(oneDatabase(pool), {
    onFault: (error) => void faults.push(error),
    onDefect: (error) => void defects.push(error),
  });
};

beforeAll(async () => {
  proxy = await tcpProxy();
  pool = await openPool(proxy.to(database.url()), 2);
});
beforeEach(async () => {
  await proxy.open();
  store = opened();
});
afterAll(async () => {
  await proxy?.open();
  await pool?.end();
  await proxy?.close();
});

/** Inserts summary rows, as the settlement of requests does, and returns their ids. */
async function summaries(count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await query(
    `insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms, metadata_json, occurred_at)
     select id, 's', id::text, 200, 1, '{}', now() from unnest($1::uuid[]) id`,
    [ids],
  );
  return ids;
}
const summary = async (): Promise<string> => (await summaries(1))[0] ?? '';

const payload = (body: Json, truncated = false): KeptPayload => ({
  request: { text: JSON.stringify({ headers: {}, body }), truncated },
  response: { text: '{"body":"answer"}', truncated: false },
});

interface Row {
  readonly request_json: unknown;
  readonly response_json: unknown;
  readonly has_payload: boolean;
  readonly request_payload_truncated: boolean;
}
const rowOf = async (id: string): Promise<Row | undefined> => {
  const [row] = await query<Row>(
    `select l.has_payload, l.request_payload_truncated, p.request_json, p.response_json from request_logs l
     left join request_log_payloads p using (request_log_id) where l.request_log_id = $1`,
    [id],
  );
  return row;
};

async function until(holds: () => boolean, what: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (holds()) return;
    await sleep(20);
  }
  throw new Error(`never: ${what}`);
}
const settled = (of: PayloadStore, count: number): Promise<void> =>
  until(() => of.counts().kept + of.counts().shed >= count, 'all payloads are kept or shed');

/** Locks the table of payloads: nothing is written until the lock is released. */
async function locked(): Promise<Holder> {
  const lock = await holder(database.url());
  await lock.query('lock table request_log_payloads in exclusive mode');
  return lock;
}

/** A text that takes exactly this many bytes, also in JSON. */
const bulk = (bytes: number): string => 'x'.repeat(bytes);

describe('a stored payload', () => {
  it.each([1, 9])('flags only its truncated side on the summary row: %i at once', async (count) => {
    const ids = await summaries(count);
    const answer = { text: '{"body":"cut"}', truncated: true };
    for (const id of ids) store.keep(of(id), () => ({ ...payload('whole'), response: answer }));
    await settled(store, count);
    const flags = await query(
      `select distinct request_payload_truncated as request, response_payload_truncated as response
       from request_logs where request_log_id = any ($1)`,
      [ids],
    );
    expect(flags).toEqual([{ request: false, response: true }]);
  });

  it('is in `request_log_payloads`, and its flags are on the summary row', async () => {
    const [id = '', cut = ''] = await summaries(2);
    store.keep(of(id), () => payload('one'));
    store.keep(of(cut), () => payload('two', true));
    await settled(store, 2);
    expect(await rowOf(id)).toEqual({
      request_json: { headers: {}, body: 'one' },
      response_json: { body: 'answer' },
      has_payload: true,
      request_payload_truncated: false,
    });
    expect(await rowOf(cut)).toMatchObject({ has_payload: true, request_payload_truncated: true });
    expect(store.counts()).toEqual({ kept: 2, shed: 0, queuedBytes: 0 });
  });

  it('is built in a later turn of the event loop, not within `keep`', async () => {
    const id = await summary();
    let made = 0;
    store.keep(of(id), () => {
      made += 1;
      return payload('later');
    });
    expect(made).toBe(0);
    await settled(store, 1);
    expect(made).toBe(1);
  });

  it('is not overwritten by a second payload of the same request, which is counted as shed', async () => {
    const id = await summary();
    store.keep(of(id), () => payload('first'));
    await settled(store, 1);
    store.keep(of(id), () => payload('second'));
    await settled(store, 2);
    expect(await rowOf(id)).toMatchObject({ request_json: { body: 'first' } });
    expect(store.counts()).toMatchObject({ kept: 1, shed: 1 });
    expect(faults).toEqual([]);
  });
});

describe('payloads in quick succession', () => {
  it('share statements, since no request waits for them', async () => {
    const ids = await summaries(5);
    for (const id of ids) {
      store.keep(of(id), () => payload('x'));
      await sleep(5);
    }
    await settled(store, 5);
    const [row] = await query<{ statements: string }>(
      'select count(distinct xmin::text) as statements from request_log_payloads where request_log_id = any($1)',
      [ids],
    );
    expect(Number(row?.statements)).toBeLessThan(3);
  });

  it('update no index of the summary rows: the new version of each row stays on its page', async () => {
    const ids = await summaries(200);
    const pages = () =>
      query(
        'select (ctid::text::point)[0] as page from request_logs where request_log_id = any($1) order by request_log_id',
        [ids],
      );
    const before = await pages();
    for (const id of ids) store.keep(of(id), () => payload('x'));
    await settled(store, 200);
    expect(store.counts()).toMatchObject({ kept: 200 });
    expect(await pages()).toEqual(before);
    // On the same page, a version whose indexed columns did not change needs no entry in an index.
    const indexes = `select indexname from pg_indexes where tablename ~ '^request_logs'`;
    expect(await query(indexes)).not.toEqual([]);
    expect(await query(`${indexes} and indexdef ~ '_payload'`)).toEqual([]);
  });

  it('are written without delay when a batch is full and when the store closes', async () => {
    const ids = await summaries(40);
    const { ms } = await timed(async () => {
      for (const id of ids) store.keep(of(id), () => payload(bulk(mebibyte / 4)));
      await store.close(10_000);
    });
    expect(store.counts()).toEqual({ kept: 40, shed: 0, queuedBytes: 0 });
    // If each of forty statements waited for more payloads, this would take four seconds.
    expect(ms).toBeLessThan(3500);
  });
});

describe('payloads from a replica of the previous release', () => {
  it.each([1, 3])('are stored by `gateway_keep_payloads` with their flags: %s in a batch', async (count) => {
    const ids = await summaries(count);
    const items = [...ids, randomUUID()].map((id, index) => ({
      request_log_id: id,
      request_json: { body: id },
      response_json: {},
      request_truncated: index % 2 === 0,
      response_truncated: false,
    }));
    const kept = async (batch: readonly object[]): Promise<unknown> =>
      (await query<{ n: unknown }>('select gateway_keep_payloads($1) n', [JSON.stringify(batch)]))[0]?.n;
    expect(await kept(items.slice(0, count))).toEqual(String(count));
    expect(await Promise.all(ids.map(rowOf))).toEqual(
      ids.map((id, index) => ({
        has_payload: true,
        request_payload_truncated: index % 2 === 0,
        request_json: { body: id },
        response_json: {},
      })),
    );
    // Repeated payloads do not overwrite the first ones, and a payload without a summary row is ignored.
    expect(await kept(items)).toEqual('0');
    expect(await kept([])).toEqual('0');
  });
});

describe('a payload without a summary row', () => {
  it('is shed without a fault: its request is still in a journal, or was purged', async () => {
    const [first = '', last = ''] = await summaries(2);
    for (const id of [first, randomUUID(), last]) store.keep(of(id), () => payload('x'));
    await settled(store, 3);
    expect(store.counts()).toEqual({ kept: 2, shed: 1, queuedBytes: 0 });
    expect(faults).toEqual([]);
    expect(await query('select from request_logs where has_payload')).not.toHaveLength(0);
    expect(await rowOf(last)).toMatchObject({ has_payload: true });
  });

  it('is shed where the row is deleted while the payload is being written', async () => {
    const id = await summary();
    const purging = await holder(database.url());
    await purging.query('delete from request_logs where request_log_id = $1', [id]);
    store.keep(of(id), () => payload('x'));
    await untilWaiting(query, 1, 'transactionid');
    await purging.commit();
    await settled(store, 1);
    expect(store.counts()).toMatchObject({ kept: 0, shed: 1 });
    expect(await rowOf(id)).toBeUndefined();
  });
});

describe('one bad payload', () => {
  it('that the database rejects is shed, and the others are stored', async () => {
    const ids = await summaries(20);
    await query(`alter table request_log_payloads add constraint no_bad_ones
                 check (request_json->>'body' is distinct from 'bad')`);
    for (const [index, id] of ids.entries()) store.keep(of(id), () => payload(index === 7 ? 'bad' : index));
    await settled(store, 20);
    await query('alter table request_log_payloads drop constraint no_bad_ones');
    expect(store.counts()).toEqual({ kept: 19, shed: 1, queuedBytes: 0 });
    for (const [index, id] of ids.entries())
      expect(await rowOf(id)).toMatchObject({ has_payload: index !== 7 });
    expect(faults).toHaveLength(2);
  });

  it('that has no place is shed and reported as a defect, and takes no room', async () => {
    const place = oneDatabase(pool);
    const placeOf = (scope: string) => {
      if (scope === 'nowhere') throw new Error('no place');
      return place(scope);
    };
    const onDefect = (error: unknown) => void defects.push(error);
    const placed = payloadStore(placeOf, { onFault: () => undefined, onDefect });
    const id = await summary();
    placed.keep(of(id), () => payload('first'));
    placed.keep({ requestLogId: randomUUID(), scope: 'nowhere' }, () => payload('second'));
    await placed.close(10_000);
    expect(placed.counts()).toEqual({ kept: 1, shed: 1, queuedBytes: 0 });
    expect(defects).toEqual([new Error('no place')]);
  });

  it('that cannot be built is shed and reported as a defect, and the others are stored', async () => {
    const ids = await summaries(3);
    const defect = new TypeError('no payload');
    for (const [index, id] of ids.entries())
      store.keep(of(id), () => {
        if (index === 1) throw defect;
        return payload(index);
      });
    await settled(store, 3);
    expect(store.counts()).toEqual({ kept: 2, shed: 1, queuedBytes: 0 });
    expect(defects).toEqual([defect]);
    expect(faults).toEqual([]);
  });

  it.each<[string, Json]>([
    ['U+0000', 'a\0b'],
    ['lone surrogates', '\ud800 and \udc00'],
    ['both in a key', { '\0\ud800': 1 }],
    ['text that looks like their escapes', '\\u0000 \\ud800'],
  ])('is not one that holds %s: it is stored', async (_, body) => {
    const id = await summary();
    store.keep(of(id), () => payload(body));
    await settled(store, 1);
    expect(store.counts()).toMatchObject({ kept: 1, shed: 0 });
    const text = JSON.stringify(body).replaceAll(/(?<!\\)\\u(?:0000|d800|dc00)/g, '\uFFFD');
    expect(await rowOf(id)).toMatchObject({ request_json: { body: JSON.parse(text) } });
    expect(faults).toEqual([]);
  });
});

describe('while the database is slow', () => {
  /** Does the work while the table is locked, so that nothing is written. */
  async function whileLocked(work: () => Promise<void>): Promise<void> {
    const lock = await locked();
    try {
      await work();
    } finally {
      await lock.rollBack();
    }
  }

  it('the queue never exceeds its limit in bytes by more than the payload that filled it', async () => {
    const [id = ''] = await summaries(1);
    const size = mebibyte;
    let most = 0;
    let made = 0;
    await whileLocked(async () => {
      // Four times as much as the queue holds, all in one turn of the event loop.
      for (let index = 0; index < 4 * 32; index += 1)
        store.keep(of(id), () => {
          made += 1;
          most = Math.max(most, store.counts().queuedBytes);
          return payload(bulk(size));
        });
      await until(() => store.counts().shed >= 3 * 32 - 1, 'the rest is shed');
      most = Math.max(most, store.counts().queuedBytes);
      // The queued payloads are not needed any more: without a database they are shed at once.
      await proxy.refuse();
    });
    expect(most).toBeGreaterThan(maxQueuedBytes - size);
    expect(most).toBeLessThanOrEqual(maxQueuedBytes + 2 * size);
    expect(made).toBeLessThanOrEqual(33);
    await until(() => store.counts().queuedBytes === 0, 'the queue is empty');
  });

  it('queued bytes are counted as UTF-8', async () => {
    const ids = await summaries(2);
    await whileLocked(async () => {
      for (const id of ids) store.keep(of(id), () => payload('日'.repeat(100_000)));
      await until(() => store.counts().queuedBytes >= 2 * 300_000, 'three bytes for each sign');
    });
    await settled(store, 2);
    expect(store.counts()).toMatchObject({ kept: 2, queuedBytes: 0 });
  });

  it('payloads still to be built are limited by the bytes that they hold, plus a fixed amount for each', () => {
    let released = 0;
    const held = (bytes: number) => ({ bytes, release: () => (released += 1) });
    for (let index = 0; index < 10; index += 1)
      store.keep(of(randomUUID()), () => payload('x'), held(10 * mebibyte));
    expect(store.counts().shed).toBe(4);
    expect(released).toBe(4);
    for (let index = 0; index < 10_000; index += 1) store.keep(of(randomUUID()), () => payload('x'));
    expect(store.counts().shed).toBeGreaterThan(9000);
  });

  it('a payload that alone holds more than the limit is stored where no other one waits', async () => {
    const id = await summary();
    let released = 0;
    store.keep(of(id), () => payload('x'), { bytes: 1024 * mebibyte, release: () => (released += 1) });
    await settled(store, 1);
    expect(store.counts()).toMatchObject({ kept: 1, shed: 0 });
    expect(released).toBe(1);
  });

  it('a payload that is built asynchronously releases what it holds when it is built, and when that fails', async () => {
    const [one = '', other = ''] = await summaries(2);
    const later = Promise.withResolvers<ReturnType<typeof payload>>();
    let released = 0;
    const held = { bytes: mebibyte, release: () => (released += 1) };
    store.keep(of(one), () => later.promise, held);
    store.keep(of(other), () => Promise.reject(new Error('no memory')), held);
    await until(() => released === 1, 'the failure is noticed');
    expect(store.counts()).toMatchObject({ kept: 0, shed: 1 });
    later.resolve(payload('x'));
    await until(() => released === 2, 'the payload is made');
    await settled(store, 2);
    expect(store.counts()).toMatchObject({ kept: 1, shed: 1 });
  });

  it('payloads over the limit are shed and counted, queued ones are written, and later ones are accepted again', async () => {
    const ids = await summaries(60);
    await whileLocked(async () => {
      for (const id of ids) store.keep(of(id), () => payload(bulk(mebibyte)));
      await until(() => store.counts().shed > 0, 'some are shed');
      await sleep(50);
    });
    await settled(store, 60);
    const { kept, shed, queuedBytes } = store.counts();
    expect(queuedBytes).toBe(0);
    expect(kept).toBeGreaterThanOrEqual(30);
    expect(kept + shed).toBe(60);
    const [row] = await query<{ all: string; kept: string }>(
      `select count(*) as all, count(*) filter (where has_payload) as kept from request_logs
       where request_log_id = any($1)`,
      [ids],
    );
    // Summary rows are never shed.
    expect(row).toEqual({ all: '60', kept: String(kept) });
    const more = await summary();
    store.keep(of(more), () => payload('room'));
    await settled(store, 61);
    expect(await rowOf(more)).toMatchObject({ has_payload: true });
  });
});

describe('while the database is unreachable', () => {
  it('payloads are shed and counted, with one fault for all, and later ones are stored', async () => {
    const ids = await summaries(3);
    await proxy.refuse();
    for (const id of ids) store.keep(of(id), () => payload('x'));
    await settled(store, 3);
    expect(store.counts()).toEqual({ kept: 0, shed: 3, queuedBytes: 0 });
    expect(faults).toHaveLength(1);
    await proxy.open();
    const [after = ''] = await summaries(1);
    store.keep(of(after), () => payload('back'));
    await settled(store, 4);
    expect(await rowOf(after)).toMatchObject({ has_payload: true });
    for (const id of ids) expect(await rowOf(id)).toMatchObject({ has_payload: false });
  });

  it('a connection that breaks in the middle of a statement is replaced for the next payload', async () => {
    const [first = '', second = ''] = await summaries(2);
    const lock = await locked();
    store.keep(of(first), () => payload('x'));
    await untilWaiting(query, 1, 'relation');
    proxy.cut();
    await settled(store, 1);
    await lock.rollBack();
    store.keep(of(second), () => payload('y'));
    await settled(store, 2);
    expect(await rowOf(second)).toMatchObject({ has_payload: true });
    expect(faults).toHaveLength(1);
  });
});

describe('close', () => {
  it('writes all queued payloads', async () => {
    const ids = await summaries(300);
    for (const [index, id] of ids.entries()) store.keep(of(id), () => payload(index));
    await store.close(10_000);
    expect(store.counts()).toEqual({ kept: 300, shed: 0, queuedBytes: 0 });
    const rows = await query('select from request_log_payloads where request_log_id = any($1)', [ids]);
    expect(rows).toHaveLength(300);
  });

  it('returns at once where nothing is queued', async () => {
    expect((await timed(() => store.close(10_000))).ms).toBeLessThan(1000);
  });

  it('gives up after its timeout, and counts the queued payloads as shed', async () => {
    const ids = await summaries(3);
    const lock = await locked();
    store.keep(of(ids[0] ?? ''), () => payload('first'));
    await untilWaiting(query, 1, 'relation');
    for (const id of ids.slice(1)) store.keep(of(id), () => payload('waits'));
    expect((await timed(() => store.close(300))).ms).toBeLessThan(3000);
    expect(store.counts()).toMatchObject({ kept: 0, shed: 2 });
    await lock.rollBack();
  });
});
