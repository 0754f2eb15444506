import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Caller } from '../../domain/identity/caller.ts';
import { aCharge, admitted, anAsk, aUser, holder, scopeOf, untilWaiting } from './ledger-bench.ts';
import { ledgerScene } from './ledger-scene.ts';

const { query, ledgers, clock, ledger, settle, databaseUrl } = ledgerScene();

describe('claims of a request id', () => {
  const claim = (caller: Caller, requestId: string) => anAsk(caller, { requestId, claim: true });

  it('are held by exactly one of many concurrent requests, on either replica', async () => {
    const user = await aUser(query);
    for (let round = 0; round < 10; round += 1) {
      const requestId = randomUUID();
      const asks = Array.from({ length: 20 }, () => claim(user, requestId));
      const admissions = await Promise.all(asks.map((ask, index) => admitted(ledgers[index % 2]!, ask)));
      expect(admissions.filter(({ claimed }) => claimed)).toHaveLength(1);
    }
  });

  it('do not affect requests without a claim, or other owners', async () => {
    const [user, other] = [await aUser(query), await aUser(query)];
    const requestId = randomUUID();
    expect((await admitted(ledger(), anAsk(user, { requestId }))).claimed).toBe(true);
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(true);
    expect((await admitted(ledger(), anAsk(user, { requestId }))).claimed).toBe(true);
    expect((await admitted(ledger(), claim(other, requestId))).claimed).toBe(true);
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(false);
  });

  it('end with the settlement that releases them, with or without a charge', async () => {
    const user = await aUser(query);
    const first = claim(user, randomUUID());
    expect((await admitted(ledger(), first)).claimed).toBe(true);
    await settle({
      charge: undefined,
      logged: undefined,
      release: first.requestLogId,
      deferrableTo: undefined,
    });
    const second = claim(user, first.requestId);
    expect((await admitted(ledger(), second)).claimed).toBe(true);
    const charge = aCharge(user, 1n, { requestLogId: second.requestLogId, requestId: second.requestId });
    await settle({ charge, logged: undefined, release: second.requestLogId, deferrableTo: undefined });
    expect(await admitted(ledger(), claim(user, first.requestId))).toMatchObject({
      alreadyAccounted: true,
      claimed: true,
    });
  });

  it('are acquired in a fixed order, so that two batches never deadlock', async () => {
    const user = await aUser(query);
    const [first = '', second = ''] = [randomUUID(), randomUUID()].toSorted((one, other) =>
      hash('sha256', one) < hash('sha256', other) ? -1 : 1,
    );
    const other = await holder(databaseUrl());
    const take = (requestId: string) =>
      other.query(
        `insert into request_claims values (request_digest($1), $2, $3, now() + interval '1 hour', null)`,
        [requestId, scopeOf(user), randomUUID()],
      );
    await take(first);
    const asking = Promise.all([second, first].map((id) => admitted(ledger(), claim(user, id))));
    await untilWaiting(query, 1, 'transactionid');
    await take(second);
    await other.commit();
    expect((await asking).map(({ claimed }) => claimed)).toEqual([false, false]);
  });

  it('end without a gap: a concurrent request gets no claim, or finds the id accounted', async () => {
    const user = await aUser(query);
    const ends = new Set<string>();
    for (let round = 0; round < 60; round += 1) {
      const first = claim(user, randomUUID());
      await admitted(ledgers[0]!, first);
      const charge = aCharge(user, 1n, { requestLogId: first.requestLogId, requestId: first.requestId });
      const settling = ledgers[0]!.settle({
        charge,
        logged: undefined,
        release: first.requestLogId,
        deferrableTo: undefined,
      });
      await sleep(round % 4);
      const { claimed, alreadyAccounted } = await admitted(ledgers[1]!, claim(user, first.requestId));
      await settling;
      ends.add(`${claimed ? 'claimed' : 'not claimed'}, ${alreadyAccounted ? 'accounted' : 'new'}`);
    }
    expect(ends).not.toContain('claimed, new');
    expect(ends).toContain('claimed, accounted');
  });

  it('expire after their time, and not a millisecond before', async () => {
    const user = await aUser(query);
    const requestId = randomUUID();
    await clock.standAt('2028-05-05T12:00:00Z');
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(true);
    await clock.standAt('2028-05-05T12:00:59.999Z');
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(false);
    await clock.standAt('2028-05-05T12:01:00Z');
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(true);
    expect((await admitted(ledger(), claim(user, requestId))).claimed).toBe(false);
    await clock.run();
  });
});

describe('the digest of a request id', () => {
  it('is SHA-256 of its UTF-8 bytes, for any id', async () => {
    const anId = fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
      fc.string({ unit: fc.constantFrom('\\', 'x', '0', '7', "'", '"', 'a', 'é') }),
      fc.constantFrom('\\x', '\\xff', '\\000', '\\\\', "E'\\'"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anId, { minLength: 1, maxLength: 50, size: 'max' }), async (ids) => {
        const rows = await query<{ digest: Buffer }>(
          'select request_digest(id) as digest from unnest($1::text[]) with ordinality i(id, ord) order by ord',
          [ids],
        );
        expect(rows.map(({ digest }) => digest.toString('hex'))).toEqual(ids.map((id) => hash('sha256', id)));
      }),
      { numRuns: 40 },
    );
  });
});
