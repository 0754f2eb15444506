import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { subjectKey } from '../../domain/limits/rate-limit.ts';
import type { GatewayProcess } from '../../infrastructure/postgres/gateway-process.ts';
import { onEachNode } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { connected, runAll } from '../support/test-server.ts';
import { promptly } from '../support/undisturbed.ts';
import { admitted, anAsk, aUser, holder as transaction, scopeOf, withLedgers } from './ledger-bench.ts';
import { aLimit, askTogether, limitedAsk, takenOf } from './limits-bench.ts';

const database = withDatabase();
const query = queries(database.url);
/** Each ledger is a separate process. */
const { ledgers } = withLedgers(database.url, 3);

/** Starts with no known process and no claim. */
async function begin(): Promise<void> {
  await query('truncate request_claims');
  for (const url of onEachNode(database.url())) await runAll(url, ['truncate gateway_processes']);
}
beforeEach(begin);

/** Moves the time at which a process was last seen into the past, on every node. */
async function seen(process: GatewayProcess, secondsAgo: number, unbrokenForSeconds = secondsAgo) {
  for (const url of onEachNode(database.url()))
    await connected(url, (client) =>
      client.query(
        `update gateway_processes set seen_at = clock_timestamp() - make_interval(secs => $2),
           unbroken_since = clock_timestamp() - make_interval(secs => $3) where process_id = $1`,
        [process.id, secondsAgo, unbrokenForSeconds],
      ),
    );
}

/** The processes that any node knows. */
async function known(): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const url of onEachNode(database.url())) {
    const text = 'select process_id as id from gateway_processes';
    const { rows } = await connected(url, (client) => client.query<{ id: string }>(text));
    for (const { id } of rows) ids.add(id);
  }
  return ids;
}

it('a process seen before the clock was set back counts as present without interruption', async () => {
  await begin();
  const { process } = ledgers[0]!;
  await process.beat();
  await seen(process, 1, -100_000);
  await process.beat();
  const [row] = await query<{ there: boolean }>(
    `select bool_and(unbroken_since <= clock_timestamp()) as there from gateway_processes where process_id = '${process.id}'`,
  );
  expect(row?.there).toBe(true);
});

describe('a claim on a request id', () => {
  it('ends with its process: not seen for 5 seconds by an observer that was present all the time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0, 3, 4, 6, 7, 100),
        fc.constantFrom(0, 3, 4, 6, 7, 100),
        fc.constantFrom(0, 3, 6, 100),
        async (holderSeen, observerSeen, observerThere) => {
          // The value nearest to five seconds is four.
          const claimed = await promptly(900, async () => {
            await begin();
            const caller = await aUser(query);
            const requestId = randomUUID();
            const [holder, observer] = [ledgers[0]!, ledgers[1]!];
            const claim = () => anAsk(caller, { requestId, claim: true });
            const first = await admitted(holder, claim());
            await observer.process.beat();
            await seen(holder.process, holderSeen);
            await seen(observer.process, observerSeen, Math.max(observerSeen, observerThere));
            const [second, third] = [await admitted(observer, claim()), await admitted(holder, claim())];
            return [first, second, third].map((each) => each.claimed);
          });
          const gone = holderSeen > 5 && observerSeen < 5 && Math.max(observerSeen, observerThere) > 5;
          expect(claimed).toEqual([true, gone, false]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is released by the next heartbeat if its settlement could not release it', async () => {
    const [user, { process, ...ledger }] = [await aUser(query), ledgers[0]!];
    const ask = anAsk(user, { claim: true });
    expect((await admitted(ledger, ask)).claimed).toBe(true);
    process.release(ask.requestLogId);
    await process.beat();
    const next = anAsk(user, { claim: true, requestId: ask.requestId });
    expect((await admitted(ledger, next)).claimed).toBe(true);
  });

  it('survives an outage in which no process was seen', async () => {
    const caller = await aUser(query);
    const requestId = randomUUID();
    const [holder, observer] = [ledgers[0]!, ledgers[1]!];
    const claim = () => anAsk(caller, { requestId, claim: true });
    await admitted(holder, claim());
    await observer.process.beat();
    for (const { process } of [holder, observer]) await seen(process, 6, 3600);
    await observer.process.beat();
    expect((await admitted(observer, claim())).claimed).toBe(false);
    await holder.process.beat();
    await seen(observer.process, 0, 60);
    expect((await admitted(observer, claim())).claimed).toBe(false);
  });

  it('ends with a process that died while the clock was ahead, 5 seconds after the clock was set back', async () => {
    const caller = await aUser(query);
    const requestId = randomUUID();
    const [holder, observer] = [ledgers[0]!, ledgers[1]!];
    const claimed = async () => (await admitted(observer, anAsk(caller, { requestId, claim: true }))).claimed;
    await admitted(holder, anAsk(caller, { requestId, claim: true }));
    await observer.process.beat();
    // Nobody has sent a heartbeat by the right clock yet.
    await seen(holder.process, -3600);
    await seen(observer.process, -3600, 7200);
    expect(await claimed()).toBe(false);
    // The holder, if it is alive, has not had the time for one.
    await observer.process.beat();
    expect(await claimed()).toBe(false);
    await seen(observer.process, 0, 6);
    expect(await claimed()).toBe(true);
  });

  it('is deleted with its process and its requests in flight after a minute; other claims are kept', async () => {
    const caller = await aUser(query);
    const limit = await aLimit(query, { inFlight: 9 });
    const [gone, there, observer] = [ledgers[0]!, ledgers[1]!, ledgers[2]!];
    for (const ledger of [gone, there])
      await admitted(
        ledger,
        limitedAsk(caller, [limit], { requestId: randomUUID(), callerChoseRequestId: true, claim: true }),
      );
    await query(
      `insert into request_claims values (request_digest('of nobody'), $1, $2, now() + interval '1 hour', null)`,
      [scopeOf(caller), randomUUID()],
    );
    await observer.process.beat();
    await seen(observer.process, 0, 3600);
    await seen(gone.process, 50);
    await observer.process.beat();
    expect(await query('select from request_claims')).toHaveLength(3);
    await seen(gone.process, 70);
    await observer.process.beat();
    expect(await query('select process_id from request_claims order by 1 nulls last')).toEqual([
      { process_id: there.process.id },
      { process_id: null },
    ]);
    expect(await takenOf(query, limit)).toMatchObject({ held: 1 });
    expect(await known()).toEqual(new Set([there.process.id, observer.process.id]));
  });
});

it('a request in flight under a rate limit belongs to its process from admission on, and ends with it', async () => {
  const caller = await aUser(query);
  const limit = await aLimit(query, { inFlight: 1 });
  const [holder, observer] = [ledgers[0]!, ledgers[1]!];
  const ask = () => [limitedAsk(caller, [limit])];
  // The process has sent no heartbeat yet.
  expect(await askTogether(holder, ask())).toEqual(['admitted']);
  await observer.process.beat();
  await seen(observer.process, 0, 3600);
  expect(await askTogether(observer, ask())).toEqual(['api_key in_flight']);
  await seen(holder.process, 100);
  // A settlement in progress holds its row, and waits for the lock that the admission holds: the admission
  // does not remove the row.
  const settling = await transaction(database.url());
  await settling.query('select from rate_limit_holds where subject = $1 for update', [
    subjectKey(limit.subject),
  ]);
  expect(await askTogether(observer, ask())).toEqual(['api_key in_flight']);
  await settling.rollBack();
  expect(await askTogether(observer, ask())).toEqual(['admitted']);
});
