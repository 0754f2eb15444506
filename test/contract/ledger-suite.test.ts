import { afterAll, beforeAll } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { describeLedger } from '../support/ledger-suite.ts';
import {
  aTeam,
  aUser,
  openLedger,
  type OpenLedger,
  setUserBudget,
  userIdOf,
  withClock,
} from './ledger-bench.ts';
import { aLimit } from './limits-bench.ts';
import { tcpProxy } from './tcp-proxy.ts';

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);
const opened: Record<string, OpenLedger> = {};
const open = (name: string): OpenLedger => {
  const ledger = opened[name];
  if (ledger === undefined) throw new Error(`${name} is not open`);
  return ledger;
};

beforeAll(async () => {
  const proxy = await tcpProxy();
  const far = proxy.to(database.url());
  opened['here'] = await openLedger(database.url());
  opened['closing'] = await openLedger(database.url(), { closeOnBlock: () => true });
  opened['journaling'] = await openLedger(far, { journal: async () => true, nodeUrl: proxy.to });
  opened['full'] = await openLedger(far, { journal: async () => false, nodeUrl: proxy.to });
  await proxy.refuse();
});
afterAll(async () => {
  for (const { pool } of Object.values(opened)) await pool.end();
});

describeLedger('the ledger over PostgreSQL', {
  ledger: () => open('here'),
  closing: () => open('closing'),
  lost: async () => [open('journaling'), open('full')],
  aUser: (budget) => aUser(query, budget),
  aTeam: (budget) => aTeam(query, budget),
  setUserBudget: (user, budget) => setUserBudget(query, userIdOf(user), budget),
  aLimit: (terms) => aLimit(query, terms),
  standAt: (at) => clock.standAt(at),
});
