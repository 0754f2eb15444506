import { randomUUID } from 'node:crypto';
import type { Caller, KeyOwner } from '../../domain/identity/caller.ts';
import { type BudgetTerms, unit } from '../contract/ledger-bench.ts';
import { noTerms } from '../contract/limits-bench.ts';
import { MemoryLedger } from '../support/fakes/memory-ledger.ts';
import { describeLedger } from '../support/ledger-suite.ts';

const ledger = new MemoryLedger();
const lost = [new MemoryLedger(), new MemoryLedger()] as const;
for (const each of lost) each.database = 'lost';
lost[1].journalTakes = false;

const aCaller = (keyOwner: KeyOwner): Caller => ({ apiKeyId: randomUUID(), keyOwner, allowedModels: [] });

const setBudget = (caller: Caller, budget: BudgetTerms | undefined): Caller => {
  const terms = budget && {
    cadence: budget.cadence ?? 'monthly',
    amount: budget.amount * unit,
    hardLimit: budget.hard ?? true,
  };
  ledger.setBudget(caller, terms);
  return caller;
};

/** The same ledger, in which a blocked cost closes the window. */
const closing = {
  admit: ledger.admit,
  settle: async (record: Parameters<typeof ledger.settle>[0]) => {
    ledger.closeOnBlock = true;
    const settled = await ledger.settle(record);
    ledger.closeOnBlock = false;
    return settled;
  },
};

describeLedger('a ledger in memory', {
  ledger: () => ledger,
  closing: () => closing,
  lost: async () => lost,
  aUser: async (budget) =>
    setBudget(aCaller({ kind: 'user', userId: randomUUID(), requestLoggingEnabled: true }), budget),
  aTeam: async (budget) => {
    const teamId = randomUUID();
    const team = setBudget(aCaller({ kind: 'team', teamId }), budget);
    return [team, aCaller({ kind: 'service_account', serviceAccountId: randomUUID(), teamId })];
  },
  setUserBudget: async (user, budget) => void setBudget(user, budget),
  aLimit: async (terms) => ({
    subject: { kind: 'api_key', id: randomUUID() },
    terms: { ...noTerms, ...terms },
  }),
  standAt: async (at) => void (ledger.now = new Date(at)),
});
