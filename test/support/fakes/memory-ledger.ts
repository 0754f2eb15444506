import * as E from 'fp-ts/lib/Either.js';
import type {
  ActiveBudget,
  AdmissionRequest,
  Charge,
  Ledger,
  LimitVerdict,
  LoggedRequest,
  SettlementRecord,
  Verdict,
} from '../../../application/ports/ledger.ts';
import type { Budget } from '../../../domain/budget/budget.ts';
import { budgetWindow } from '../../../domain/budget/budget-window.ts';
import { charge as charged } from '../../../domain/budget/hard-limit.ts';
import { type Caller, scopeOf } from '../../../domain/identity/caller.ts';
import { countsTowardSpend } from '../../../domain/ledger/usage-cost-event.ts';
import {
  limitVerdict,
  type RateLimit,
  type LimitStanding,
  standingAt,
  subjectKey,
  unusedStanding,
  withTokens,
} from '../../../domain/limits/rate-limit.ts';
import type { Picodollars } from '../../../domain/money/money.ts';
import { storeUnavailable } from '../../../domain/shared/gateway-error.ts';
import type { Window } from '../../../domain/shared/window.ts';

interface Row {
  readonly charge: Charge;
  readonly at: Date;
}

/** The format of `request_log_id`: the database refuses any other, since its column is a UUID. */
const aUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A ledger in memory, by the rules of the domain. One suite (`ledger-suite.ts`) tests it and the one over
 * PostgreSQL with the same sentences, so that tests of the pipeline can rely on it.
 */
export class MemoryLedger implements Ledger {
  /** The database's time. */
  now = new Date('2028-03-15T12:00:00Z');
  database: 'there' | 'lost' | 'refuses' = 'there';
  journalTakes = true;
  closeOnBlock = false;
  readonly rows: Row[] = [];
  readonly logs: LoggedRequest[] = [];
  readonly journal: SettlementRecord[] = [];
  private readonly budgets = new Map<string, Budget>();
  private readonly claims = new Map<string, string>();
  private readonly standings = new Map<string, LimitStanding>();
  private readonly holds = new Map<string, readonly RateLimit[]>();
  /** Start of the window that was last closed by a blocked cost, per budget. */
  private readonly closedWindows = new Map<Budget, number>();

  /** Replaces the active budget of the caller's owner; `undefined` removes it. */
  setBudget(caller: Caller, budget: Budget | undefined): void {
    if (budget === undefined) this.budgets.delete(scopeOf(caller));
    else this.budgets.set(scopeOf(caller), budget);
  }

  readonly admit: Ledger['admit'] = async (ask) => {
    await Promise.resolve();
    if (this.database !== 'there') return E.left(storeUnavailable());
    const { callerChoseRequestId, caller } = ask;
    const idOf = `${scopeOf(caller)} ${ask.requestId}`;
    return E.right({
      alreadyAccounted: callerChoseRequestId && this.rows.some(({ charge }) => keyOf(charge) === idOf),
      claimed: !ask.claim || this.claim(idOf, ask),
      budget: this.activeBudget(caller),
      databaseTime: this.now,
      ...(ask.limits === undefined ? {} : { limits: this.limited(ask.requestLogId, ask.limits) }),
    });
  };

  readonly settle: Ledger['settle'] = async (record) => {
    await Promise.resolve();
    if (this.database === 'refuses' || !hasValidIds(record)) return this.refused(record);
    if (this.database === 'lost') return this.deferred(record);
    this.release(record);
    this.count(record);
    const verdict = this.judged(record.charge);
    const { logged } = record;
    const isNew = this.logs.every(({ log }) => log.requestLogId !== logged?.log.requestLogId);
    if (logged !== undefined && isNew) this.logs.push(asJudged(logged, verdict));
    return E.right(verdict);
  };

  /** The counted spend of the current window. */
  spent(caller: Caller, { from, until }: Window): Picodollars {
    return this.rows
      .filter(({ charge, at }) => scopeOf(charge.caller) === scopeOf(caller) && from <= at && at < until)
      .reduce((sum, { charge }) => sum + countedCost(charge), 0n);
  }

  private claim(idOf: string, { requestLogId }: AdmissionRequest): boolean {
    const holder = this.claims.get(idOf) ?? requestLogId;
    this.claims.set(idOf, holder);
    return holder === requestLogId;
  }

  private limited(requestLogId: string, limits: readonly RateLimit[]): LimitVerdict {
    const verdict = limitVerdict(limits.map((limit) => this.standing(limit)));
    const [first, ...others] = E.isLeft(verdict) ? verdict.left : [];
    if (first !== undefined) return { kind: 'refused', full: [first, ...others] };
    for (const standing of E.isRight(verdict) ? verdict.right : []) this.keep(standing);
    this.holds.set(requestLogId, limits);
    return { kind: 'admitted', held: true };
  }

  private standing(limit: RateLimit): LimitStanding {
    const known = this.standings.get(subjectKey(limit.subject)) ?? unusedStanding(limit, this.now);
    return standingAt({ ...known, limit }, this.now);
  }

  private keep(standing: LimitStanding): void {
    this.standings.set(subjectKey(standing.limit.subject), standing);
  }

  private count({ release = '', limited }: SettlementRecord): void {
    for (const limit of this.holds.get(release) ?? []) {
      const standing = withTokens(this.standing(limit), limited?.tokens ?? 0, this.now);
      this.keep({ ...standing, inFlight: standing.inFlight - 1 });
    }
    this.holds.delete(release);
  }

  private release({ release }: SettlementRecord): void {
    for (const [idOf, holder] of this.claims) if (holder === release) this.claims.delete(idOf);
  }

  private activeBudget(caller: Caller): ActiveBudget | undefined {
    const terms = this.budgets.get(scopeOf(caller));
    if (terms === undefined) return undefined;
    const window = budgetWindow(terms.cadence, this.now);
    const closed = this.closedWindows.get(terms) === window.from.getTime();
    return { terms, window, spent: this.spent(caller, window), closed };
  }

  private judged(charge: Charge | undefined): Verdict {
    if (charge === undefined) return { kind: 'recorded' };
    const before = this.rows.find((row) => keyOf(row.charge) === keyOf(charge));
    if (before !== undefined)
      return { kind: before.charge.requestLogId === charge.requestLogId ? 'recorded' : 'duplicate' };
    const budget = this.activeBudget(charge.caller);
    if (budget !== undefined && counts(charge)) {
      const { terms, window, spent } = budget;
      if (E.isLeft(charged(terms, spent, countedCost(charge)))) {
        if (this.closeOnBlock) this.closedWindows.set(terms, window.from.getTime());
        return { kind: 'blocked', budget: terms, window, databaseTime: this.now };
      }
    }
    this.rows.push({ charge, at: this.now });
    return { kind: 'recorded' };
  }

  private deferred(record: SettlementRecord): Awaited<ReturnType<Ledger['settle']>> {
    if (record.deferrableTo !== undefined && this.journalTakes) {
      this.journal.push(record);
      return E.right({ kind: 'journaled' });
    }
    this.release(record);
    return E.left(storeUnavailable());
  }

  private refused(record: SettlementRecord): Awaited<ReturnType<Ledger['settle']>> {
    this.release(record);
    return E.left({ code: 'internal_error', message: 'The gateway could not record the request.' });
  }
}

const keyOf = ({ caller, requestId }: Charge): string => `${scopeOf(caller)} ${requestId}`;

const counts = ({ cost }: Charge): boolean => countsTowardSpend[cost.pricingStatus];
const countedCost = ({ cost }: Charge): Picodollars => (cost.pricingStatus === 'priced' ? cost.cost : 0n);

const hasValidIds = ({ charge, logged }: SettlementRecord): boolean =>
  [charge?.requestLogId, logged?.log.requestLogId].every((id) => id === undefined || aUuid.test(id));

/** The log row contains the result of its charge. */
function asJudged(logged: LoggedRequest, { kind }: Verdict): LoggedRequest {
  const { log, blockedCostUsd } = logged;
  const noting = (accounting: object): LoggedRequest['log'] => ({
    ...log,
    metadata: { ...log.metadata, accounting: { ...Object(log.metadata['accounting']), ...accounting } },
  });
  if (kind === 'duplicate') return { ...logged, log: noting({ duplicate: true }) };
  if (kind !== 'blocked') return logged;
  const blocked = noting({ blocked_cost_usd: blockedCostUsd });
  if (log.errorCode !== undefined) return { ...logged, log: blocked };
  return { ...logged, log: { ...blocked, statusCode: 429, errorCode: 'budget_exceeded' } };
}
