import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { DatabasePool } from 'slonik';
import { verifyLedger } from '../../application/verify-ledger.ts';
import { ledgerAuditStore } from '../../infrastructure/postgres/ledger-audit-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import type { UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import { aRecord, aUser, pricedAt, settleTogether, unpriced, withLedgers } from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url, 1);
let pool: DatabasePool;
beforeAll(async () => {
  pool = await openPool(database.url(), 2);
  const caller = await aUser(query);
  await settleTogether(
    ledgers[0]!,
    Array.from({ length: 6 }, () => aRecord(caller, pricedAt(150n))),
  );
  await query('alter table usage_cost_events drop constraint usage_cost_events_counted_check');
});
afterAll(() => pool.end());

const tokens = ['prompt_tokens', 'completion_tokens', 'total_tokens'];
const amounts = ['input_picousd_per_token', 'output_picousd_per_token', 'cost_picousd'];
const aFault = fc.oneof(
  fc.tuple(fc.constantFrom(...tokens), fc.constantFrom(null, '-1', '9007199254740992')),
  fc.tuple(fc.constantFrom(...amounts), fc.constantFrom(null, '-1', 'NaN')),
);

describe('ledger verify', () => {
  const verify = () => verifyLedger(ledgerAuditStore(pool))();
  const set = (id: string, column: string, value: unknown) =>
    query(`update usage_cost_events set ${column} = $2 where request_log_id = $1`, [id, value]);

  it('names each row that no settlement can have written, and still checks all others', async () => {
    const kept = await query<Readonly<Record<string, unknown>>>(
      `select request_log_id, ${[...tokens, ...amounts].join(', ')} from usage_cost_events order by 1`,
    );
    const ids = kept.map(({ request_log_id: id }) => String(id));
    expect(await verify()).toEqual({ rows: ids.length, differences: [] });
    await fc.assert(
      fc.asyncProperty(aFault, fc.nat(), fc.nat(), async ([column, value], at, by) => {
        const broken = ids[at % ids.length]!;
        const tampered = ids[(at + 1 + (by % (ids.length - 1))) % ids.length]!;
        await set(broken, column, value);
        await query(
          'update usage_cost_events set cost_picousd = cost_picousd + 1 where request_log_id = $1',
          [tampered],
        );
        const { rows, differences } = await verify();
        await set(broken, column, kept[at % ids.length]![column]);
        await query(
          'update usage_cost_events set cost_picousd = cost_picousd - 1 where request_log_id = $1',
          [tampered],
        );
        expect(rows).toBe(ids.length);
        const about = (id: string) => differences.filter((line) => line.startsWith(`row ${id} `));
        expect(about(broken)).toEqual([
          expect.stringMatching(
            new RegExp(`no settlement writes such a row \\(${column} is ${value ?? 'null'}\\)$`),
          ),
        ]);
        expect(about(tampered)).toEqual([expect.stringContaining('follows from its tokens')]);
        const sums = differences.filter((line) => !line.startsWith('row '));
        expect(sums.map((line) => line.split(' ')[0])).toEqual(['day', 'rollup']);
        expect(sums.every((line) => line.includes('no amount'))).toBe(
          value === 'NaN' && column === 'cost_picousd',
        );
      }),
      { numRuns: 40 },
    );
  });

  it.each<[UsageCost, string, number]>([
    [unpriced, 'cost_picousd', 7],
    [unpriced, 'input_picousd_per_token', 7],
    [{ pricingStatus: 'usage_missing' }, 'cost_picousd', 0],
    [{ pricingStatus: 'usage_missing' }, 'completion_tokens', 7],
  ])('names an uncounted row that contains what would count: %j, %s', async (cost, column, value) => {
    const record = aRecord(await aUser(query), cost);
    await settleTogether(ledgers[0]!, [record]);
    const { rows } = await verify();
    const { requestLogId: id } = record.charge;
    await set(id, column, value);
    expect(await verify()).toEqual({
      rows: rows + 1,
      differences: [
        expect.stringMatching(`^row ${id} .*no settlement writes such a row \\(${column} is ${value}\\)$`),
      ],
    });
    await set(id, column, null);
    expect(await verify()).toEqual({ rows, differences: [] });
  });
});
