import { useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../../api/client.ts';
import { useVersionedChange, type VersionedChange } from '../../api/versioned-change.ts';
import type { ConflictRow } from '../../ui/conflict.tsx';
import { usdOf10000, usdText } from '../../ui/amounts.ts';
import { type Budget, type BudgetTerms, budgetsKey, keyOf, loadOwners, type Owner } from './owners.ts';

/** The budget of an owner as somebody saw it. Every change of a budget creates another one. */
export interface BudgetState {
  readonly version: string;
  readonly budget: Budget | null;
}

const stateOf = ({ budget }: Owner): BudgetState => ({ version: budget?.budget_id ?? 'none', budget });

/**
 * A change to the budget that the form was opened on. The API applies budget changes in order, whatever was there
 * before. So the current budget is read just before the change, and shown if somebody else has changed it.
 */
export function useBudgetChange<C, R>(
  owner: Owner,
  change: (draft: C) => Promise<R>,
  onDone: (changed: R, draft: C) => void,
): VersionedChange<BudgetState, C> {
  const client = useQueryClient();
  const present = async (): Promise<BudgetState> => {
    const owners = await client.fetchQuery({
      queryKey: budgetsKey,
      queryFn: ({ signal }) => loadOwners(signal),
      staleTime: 0,
    });
    return stateOf(owners.find((each) => keyOf(each) === keyOf(owner)) ?? owner);
  };
  return useVersionedChange<BudgetState, C, R>({
    from: stateOf(owner),
    change: async (draft, ifMatch) => {
      const { version } = await present();
      if (`"${version}"` !== ifMatch)
        throw new ApiError({
          status: 409,
          code: 'conflict',
          message: 'The budget has been replaced in the meantime.',
        });
      return change(draft);
    },
    present,
    onDone,
  });
}

/** Both states. A side without a budget says so. */
export const budgetRows = (theirs: Budget | null, mine: BudgetTerms | null): readonly ConflictRow[] => [
  {
    title: 'Amount',
    theirs: theirs === null ? 'no budget' : usdText(theirs.amount_usd),
    mine: mine === null ? 'no budget' : usdText(usdOf10000(mine.amount_10000)),
  },
  { title: 'Window', theirs: theirs?.cadence ?? '–', mine: mine?.cadence ?? '–' },
  { title: 'Limit', theirs: limitText(theirs), mine: limitText(mine) },
];

const limitText = (of: Pick<BudgetTerms, 'hard_limit'> | null): string =>
  of === null ? '–' : of.hard_limit ? 'hard' : 'soft';
