import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { aKey, basicConfig, pricedAt } from '../support/gateway.ts';
import { ledgerVerify } from '../support/ledger-verify.ts';
import { simulatedScene } from './simulated-scene.ts';

const key = aKey();
const budget = { cadence: 'monthly', amount_10000: 125_001, hard_limit: true };
const { query, gateway, databaseUrl, seen } = simulatedScene((upstreamUrl) =>
  basicConfig(upstreamUrl, key, {
    user: { budget },
    route: { extra_headers: { 'x-simulate': 'usage=last&prompt-tokens=1000&completion-tokens=0' } },
    more: { pricing: pricedAt('0.10', '0.10') },
  }),
);

/** Runs the SQL statements that the page shows. */
async function carryOver(): Promise<void> {
  const page = await readFile(new URL('../../docs/budgets.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('## Spend of an earlier service\n');
  const statements = /```sql\n(.*?)```/s.exec(section)?.[1];
  if (statements === undefined) throw new Error('The page shows no statements.');
  await query(statements);
}

const asked = async (): Promise<unknown> => {
  const answer = await fetch(`${gateway().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hi' }] }),
  });
  const { error } = (await answer.json()) as { readonly error?: { readonly code: string } };
  return error?.code ?? answer.status;
};

describe('spend of an earlier service, imported as docs/budgets.md shows', () => {
  it('counts once toward a hard budget and in reports, even if it is imported twice', async () => {
    await carryOver();
    await carryOver();
    expect(await asked()).toBe(200);
    expect(await asked()).toBe('budget_exceeded');
    expect(seen()).toHaveLength(1);
    expect(
      await query(
        `select pricing_status, sum(request_count)::int as requests, sum(counted_picousd)::text as picousd
         from usage_rollups group by 1 order by 1`,
      ),
    ).toEqual([
      { pricing_status: 'legacy_estimated', requests: 1, picousd: '12500000000000' },
      { pricing_status: 'priced', requests: 1, picousd: '100000000' },
    ]);
    expect(await ledgerVerify(databaseUrl())).toMatchObject({ code: 0 });
  });
});
