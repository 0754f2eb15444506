import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { Owner } from '../../domain/identity/caller.ts';
import type { SettlementRecord } from '../../application/ports/ledger.ts';
import type { Seed } from '../../application/ports/seed.ts';
import type { Cadence } from '../../domain/budget/budget.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import { type Journal, localJournal } from '../../infrastructure/journal/journal.ts';
import { openCluster } from '../../infrastructure/postgres/citus/cluster.ts';
import {
  endJournaledHolds,
  placeOfScope,
  shardedLedger,
} from '../../infrastructure/postgres/citus/sharded-ledger.ts';
import type { Distribution } from '../../infrastructure/postgres/distribution.ts';
import { oneDatabase } from '../../infrastructure/postgres/ledger-place.ts';
import { budgetsStore } from '../../infrastructure/postgres/budgets-store.ts';
import { recordRow } from '../../infrastructure/postgres/ledger-rows.ts';
import { gatewayProcess } from '../../infrastructure/postgres/gateway-process.ts';
import { ledgerStore, replayJournaled } from '../../infrastructure/postgres/ledger-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { seedStore } from '../../infrastructure/postgres/seed-store.ts';
import { anActor } from '../support/admin-actor.ts';

/** A request that has ended, in a form that can be sent through a pipe. */
export interface Submission {
  readonly requestLogId: string;
  readonly requestId: string;
  readonly caller: Caller;
  readonly status: 'priced' | 'unpriced' | 'usage_missing';
  /** In picodollars; without meaning if there is no price. */
  readonly cost: string;
}

/** A budget, with `amount` in units of 1e-4 USD. */
export interface Terms {
  readonly cadence: Cadence;
  readonly amount: number;
  readonly hard: boolean;
}

/** The budgets of the listed owners in a configuration file. */
export interface SeededBudgets {
  readonly users: readonly { readonly email: string; readonly terms: Terms | null }[];
  readonly teams: readonly { readonly id: string; readonly terms: Terms | null }[];
}

/**
 * The result of a submission: a verdict, `refused` before it was settled, or unknown, because the answer was
 * an error (`store_unavailable`) or did not arrive (`killed`).
 */
export type Answer =
  | 'recorded'
  | 'duplicate'
  | 'blocked'
  | 'journaled'
  | 'refused'
  | 'store_unavailable'
  | 'killed';

/** What one gateway process does with budgets. */
export interface Actor {
  readonly settle: (submissions: readonly Submission[]) => Promise<readonly Answer[]>;
  /** Settles late, as when a journal is replayed. */
  readonly settleLate: (submission: Submission, at: string) => Promise<string>;
  /** Null removes the budget. Returns false if it failed, or if the result is unknown. */
  readonly set: (owner: Owner, terms: Terms | null) => Promise<boolean>;
  readonly reseed: (budgets: SeededBudgets) => Promise<boolean>;
}

export interface OpenActor extends Actor {
  readonly close: () => Promise<void>;
}

/** Time between admission and settlement. */
const upstreamMs = 15;

interface ActorOptions {
  /**
   * Folder of the journal. Without one, records that the database cannot take are lost, and requests are not
   * admitted first.
   */
  readonly folder?: string;
  readonly distribution?: Distribution;
}

export async function openActor(
  url: string,
  connections: number,
  { folder, distribution = 'none' }: ActorOptions,
): Promise<OpenActor> {
  const pool = await openPool(url, connections);
  const journal = folder === undefined ? undefined : openJournal(folder);
  const ignore = (): void => undefined;
  const options = {
    closeOnBlock: () => false,
    mailReady: () => true,
    claimSeconds: () => 60,
    journal: journal?.keep ?? (async () => false),
    onFault: ignore,
  };
  const cluster =
    distribution === 'citus'
      ? await openCluster(pool, url, { maxConnections: connections, onWriting: ignore })
      : undefined;
  const ledger =
    cluster === undefined
      ? ledgerStore(pool, { ...options, process: gatewayProcess(pool, { onWriting: ignore }) })
      : shardedLedger(cluster, options);
  const budgets = budgetsStore(pool, () => true);
  const seeds = seedStore(pool);
  const replay =
    cluster === undefined
      ? replayJournaled(oneDatabase(pool), options)
      : replayJournaled(placeOfScope(cluster), options, endJournaledHolds(cluster));
  let open = true;
  const recovering = journal === undefined ? undefined : recoverAgainAndAgain(journal, replay, () => open);

  const settleOne = async (submission: Submission): Promise<Answer> => {
    const { requestLogId, requestId, caller } = submission;
    let deferrableTo: Date | undefined;
    if (journal !== undefined) {
      const admission = await ledger.admit({
        requestLogId,
        requestId,
        caller,
        callerChoseRequestId: true,
        claim: false,
      });
      if (E.isLeft(admission)) return 'refused';
      const { budget, databaseTime } = admission.right;
      deferrableTo = budget?.terms.hardLimit === true ? undefined : databaseTime;
      await sleep(upstreamMs);
    }
    const settled = await ledger.settle({ ...recordOf(submission), deferrableTo });
    if (E.isRight(settled)) return settled.right.kind;
    if (settled.left.code !== 'store_unavailable') throw new Error(settled.left.code);
    return 'store_unavailable';
  };
  const orUnknown = async (work: Promise<unknown>): Promise<boolean> =>
    work.then(
      () => true,
      (error: unknown) => {
        if (error instanceof WrongAnswer) throw error;
        return false;
      },
    );
  return {
    settle: (submissions) => Promise.all(submissions.map(settleOne)),
    settleLate: (submission, at) =>
      replay(JSON.stringify({ at, record: recordRow(recordOf(submission), 1) })),
    set: (owner, terms) =>
      orUnknown(
        terms === null
          ? budgets.remove(owner, anActor)
          : budgets.set(owner, storedTerms(terms), anActor).then((found) => {
              const { budget } = found ?? {};
              if (
                budget?.cadence !== terms.cadence ||
                budget.amount10000 !== BigInt(terms.amount) ||
                budget.hardLimit !== terms.hard
              )
                throw new WrongAnswer('a budget that was set is not the one that was answered');
            }),
      ),
    reseed: (seeded) => orUnknown(seeds.reconcile(seedFor(seeded))),
    close: async () => {
      open = false;
      await recovering;
      await journal?.close();
      await cluster?.end();
      await pool.end();
    },
  };
}

class WrongAnswer extends Error {}

const openJournal = (directory: string): Journal =>
  localJournal({
    directory,
    onFault: (error) => {
      throw error;
    },
    onRecovered: ({ kept }) => {
      if (kept !== undefined) throw new Error(`records of the journal could not be settled: ${kept}`);
    },
  });

async function recoverAgainAndAgain(
  journal: Journal,
  replay: ReturnType<typeof replayJournaled>,
  shouldContinue: () => boolean,
): Promise<void> {
  while (shouldContinue()) {
    await journal.recover(replay, shouldContinue);
    await sleep(100);
  }
}

const storedTerms = ({ cadence, amount, hard }: Terms) => ({
  cadence,
  amount10000: BigInt(amount),
  hardLimit: hard,
  timezone: 'UTC',
});

const seedFor = ({ users, teams }: SeededBudgets): Seed => ({
  providers: [],
  models: [],
  serviceAccounts: [],
  apiKeys: [],
  mailReady: true,
  teams: teams.map(({ id, terms }) => ({
    id,
    name: id,
    budget: terms === null ? undefined : storedTerms(terms),
  })),
  users: users.map(({ email, terms }) => ({
    email,
    name: email,
    role: 'user',
    requestLoggingEnabled: true,
    membership: undefined,
    budget: terms === null ? undefined : storedTerms(terms),
  })),
});

const usage = { promptTokens: 1, completionTokens: 0, totalTokens: 1 };

const costOf = ({ status, cost }: Submission): UsageCost => {
  if (status === 'usage_missing') return { pricingStatus: status };
  if (status === 'unpriced') return { pricingStatus: status, usage, unpricedReason: 'no_catalogue_price' };
  const input = BigInt(cost);
  return { pricingStatus: status, usage, price: { input, output: 0n, source: 'test' }, cost: input };
};

/** The settlement of a submission: a ledger row, and a log row with the same ids. */
function recordOf(submission: Submission): SettlementRecord {
  const { requestLogId, requestId, caller } = submission;
  return {
    charge: {
      requestLogId,
      requestId,
      caller,
      modelKey: 'fast',
      providerKey: 'up',
      upstreamModel: 'simulated-fast',
      cost: costOf(submission),
    },
    logged: {
      caller,
      log: {
        requestLogId,
        requestId,
        modelKey: 'fast',
        resolvedModelKey: 'fast',
        providerKey: 'up',
        statusCode: 200,
        errorCode: undefined,
        latencyMs: 7,
        firstTokenMs: undefined,
        usage,
        exposedToolCount: 2,
        invokedToolCount: 1,
        tags: { service: undefined, component: undefined, env: undefined, bespoke: [] },
        userAgent: undefined,
        harness: { key: 'unknown', label: 'Unknown' },
        metadata: { operation: 'chat_completions' },
        attempts: [],
      },
      // Picodollars, so that it can be compared.
      blockedCostUsd: submission.cost,
    },
    release: undefined,
    deferrableTo: undefined,
  };
}
