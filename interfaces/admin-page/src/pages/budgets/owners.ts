import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, type ResponseData, read } from '../../api/client.ts';
import { shareBps } from '../../ui/amounts.ts';
import { inLedger, ofOwner } from '../../ui/things.tsx';

type Listed = ResponseData<'/api/v1/admin/spend/budgets'>;

type Standing = Pick<
  Listed['teams'][number],
  'name' | 'active' | 'budget' | 'current_window' | 'alert_recipients'
>;

/** A person or a team, either of which may have a budget. */
export interface Owner extends Standing {
  readonly kind: 'user' | 'team';
  readonly id: string;
  readonly email: string | null;
}

export type Budget = NonNullable<Owner['budget']>;
export type Cadence = Budget['cadence'];

/** The terms that set a budget. */
export interface BudgetTerms {
  readonly cadence: Cadence;
  readonly amount_10000: number;
  readonly hard_limit: boolean;
  readonly timezone: string;
}

export const budgetsKey = ['budgets'] as const;

export const keyOf = ({ kind, id }: Pick<Owner, 'kind' | 'id'>): string => `${kind}:${id}`;

export const loadOwners = async (signal: AbortSignal): Promise<readonly Owner[]> =>
  ownersOf(await read(api.GET('/api/v1/admin/spend/budgets', { signal })));

/** Every owner: those nearest to their amount first, then those without a budget by name. */
export const useOwners = () =>
  useQuery({
    queryKey: budgetsKey,
    queryFn: ({ signal }) => loadOwners(signal),
    placeholderData: keepPreviousData,
  });

function ownersOf({ users, teams }: Listed): readonly Owner[] {
  const owners: readonly Owner[] = [
    ...users.map(({ user_id: id, ...rest }) => ({ kind: 'user' as const, id, ...rest })),
    ...teams.map(({ team_id: id, ...rest }) => ({ kind: 'team' as const, id, email: null, ...rest })),
  ];
  return owners
    .map((owner) => ({ owner, rank: rankOf(owner) }))
    .sort((one, other) => other.rank - one.rank || one.owner.name.localeCompare(other.owner.name))
    .map(({ owner }) => owner);
}

const rankOf = (owner: Owner): number =>
  owner.budget === null ? -1 : (shareOf(owner) ?? Number.POSITIVE_INFINITY);

/** The spent share in hundredths of a percent; `undefined` without a budget, or when it is 0. */
export const shareOf = ({ budget, current_window: window }: Owner): number | undefined =>
  budget === null ? undefined : shareBps(window.spend_usd, budget.amount_usd);

/** A budget of 0 counts as fully spent. */
const hasSpent = (owner: Owner, share: number): boolean =>
  owner.budget !== null && (shareOf(owner) ?? Number.POSITIVE_INFINITY) >= share;

/** 20 % of the amount or less remain. */
export const isNear = (owner: Owner): boolean => hasSpent(owner, 8_000);

/** An answer was blocked in the window, or the hard limit is reached: counted as in the overview. */
export const wasBlocked = (owner: Owner): boolean =>
  owner.budget !== null &&
  (owner.current_window.blocked_answers.count > 0 || (owner.budget.hard_limit && hasSpent(owner, 10_000)));

const each: Readonly<Record<Cadence, string>> = { daily: 'day', weekly: 'week', monthly: 'month' };
export const eachOf = (cadence: Cadence): string => each[cadence];

/** Filters for the rows behind an owner's spend. */
export const rowsOf = ({ kind, id, current_window: window }: Owner): Readonly<Record<string, string>> => ({
  ...ofOwner({ owner_kind: kind, owner_id: id }),
  from: window.start,
  to: window.end,
  ...inLedger,
});

type OwnerId = Pick<Owner, 'kind' | 'id'>;

/** The API calls for one owner's budget. */
export const callsOf = ({ kind, id }: OwnerId) => {
  const user = { path: { user_id: id } };
  const team = { path: { team_id: id } };
  const root = '/api/v1/admin/spend/budgets';
  return {
    set: (body: BudgetTerms) =>
      kind === 'user'
        ? read(api.PUT(`${root}/users/{user_id}`, { params: user, body }))
        : read(api.PUT(`${root}/teams/{team_id}`, { params: team, body })),
    end: () =>
      kind === 'user'
        ? read(api.DELETE(`${root}/users/{user_id}`, { params: user }))
        : read(api.DELETE(`${root}/teams/{team_id}`, { params: team })),
    history: (page: number, signal: AbortSignal) =>
      kind === 'user'
        ? read(api.GET(`${root}/users/{user_id}/history`, { params: { ...user, query: { page } }, signal }))
        : read(api.GET(`${root}/teams/{team_id}/history`, { params: { ...team, query: { page } }, signal })),
    days: (days: number, signal: AbortSignal) =>
      kind === 'user'
        ? read(api.GET(`${root}/users/{user_id}/days`, { params: { ...user, query: { days } }, signal }))
        : read(api.GET(`${root}/teams/{team_id}/days`, { params: { ...team, query: { days } }, signal })),
    /** A dry run always assumes a hard budget, whatever the terms say. */
    dryRun: ({ cadence, amount_10000, timezone }: BudgetTerms) => {
      const body = { cadence, amount_10000, timezone };
      return kind === 'user'
        ? read(api.POST(`${root}/users/{user_id}/dry-run`, { params: user, body }))
        : read(api.POST(`${root}/teams/{team_id}/dry-run`, { params: team, body }));
    },
  };
};
