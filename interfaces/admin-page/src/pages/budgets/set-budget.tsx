import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ActButton } from '../../ui/act-button.tsx';
import { AuditLink } from '../../ui/audit-link.tsx';
import { amount10000Of, picoOf, usdOf, usdOf10000, usdText } from '../../ui/amounts.ts';
import { ChangeDialog } from '../../ui/change-dialog.tsx';
import { CheckField, faultOf, SelectField, TextField } from '../../ui/fields.tsx';
import { notify } from '../../ui/notices.tsx';
import { ErrorLine } from '../../ui/states.tsx';
import { budgetRows, useBudgetChange } from './budget-change.ts';
import { DryRun } from './dry-run.tsx';
import {
  type Budget,
  type BudgetTerms,
  budgetsKey,
  type Cadence,
  callsOf,
  eachOf,
  type Owner,
} from './owners.ts';

const cadences: readonly { readonly value: Cadence; readonly label: string }[] = [
  { value: 'daily', label: 'Daily, from 00:00 UTC' },
  { value: 'weekly', label: 'Weekly, from Monday 00:00 UTC' },
  { value: 'monthly', label: 'Monthly, from the first day 00:00 UTC' },
];

/** Sets or changes a budget, and says beforehand what that means. */
export function SetBudget({ owner, onClose }: { readonly owner: Owner; readonly onClose: () => void }) {
  const { budget } = owner;
  const [amount, setAmount] = useState(budget?.amount_usd ?? '');
  const [cadence, setCadence] = useState<Cadence>(budget?.cadence ?? 'monthly');
  const [isHard, setHard] = useState(budget?.hard_limit ?? true);
  const [isTried, setTried] = useState(false);
  const client = useQueryClient();
  const read = amount10000Of(amount);
  const terms: BudgetTerms | undefined =
    'fault' in read
      ? undefined
      : { cadence, amount_10000: read.amount, hard_limit: isHard, timezone: budget?.timezone ?? 'UTC' };
  const save = useBudgetChange(
    owner,
    (draft: BudgetTerms) => callsOf(owner).set(draft),
    (_, draft) => {
      void client.invalidateQueries({ queryKey: budgetsKey });
      notify(
        <>
          {owner.name} has {usdText(usdOf10000(draft.amount_10000))} per {eachOf(draft.cadence)}.{' '}
          <AuditLink of={owner.id} />
        </>,
      );
      onClose();
    },
  );
  const dryRun = useMutation({ mutationFn: (draft: BudgetTerms) => callsOf(owner).dryRun(draft) });
  const show = (their: Budget | null): void => {
    setAmount(their?.amount_usd ?? '');
    setCadence(their?.cadence ?? 'monthly');
    setHard(their?.hard_limit ?? true);
  };
  const localFault = isTried && 'fault' in read ? read.fault : undefined;
  return (
    <ChangeDialog
      title={`${budget === null ? 'Set' : 'Change'} the budget of ${owner.name}`}
      act="Save budget"
      change={save}
      draft={terms}
      rows={({ budget: theirs }, mine) => budgetRows(theirs, mine)}
      onTheirs={({ budget: theirs }) => show(theirs)}
      onTry={() => setTried(true)}
      onClose={onClose}
    >
      <TextField
        label="Amount in USD"
        inputMode="decimal"
        value={amount}
        onChange={setAmount}
        fault={localFault ?? faultOf(save.error, 'amount_10000')}
        hint="Exact, with up to four decimal places. 0 refuses everything if the limit is hard."
        autoFocus
      />
      <SelectField label="Window" value={cadence} onChange={setCadence} options={cadences} />
      <CheckField
        label="Hard limit: refuse requests when the amount is spent"
        checked={isHard}
        onChange={setHard}
      />
      <Meaning owner={owner} terms={terms} />
      <div className="stack">
        <div>
          <ActButton
            isPending={dryRun.isPending}
            onAct={() => {
              setTried(true);
              if (terms !== undefined) dryRun.mutate(terms);
            }}
          >
            {dryRun.isPending ? 'Counting…' : 'What would it have blocked?'}
          </ActButton>
        </div>
        <ErrorLine error={dryRun.error} />
        {dryRun.data === undefined || dryRun.variables === undefined ? null : (
          <DryRun found={dryRun.data} terms={dryRun.variables} />
        )}
      </div>
    </ChangeDialog>
  );
}

/** What the budget will do, and from when. */
function Meaning({ owner, terms }: { readonly owner: Owner; readonly terms: BudgetTerms | undefined }) {
  if (terms === undefined) return null;
  const amount = usdOf10000(terms.amount_10000);
  const whose =
    owner.kind === 'team' ? `${owner.name} and its service accounts` : `all keys of ${owner.name}`;
  const spent = owner.current_window.spend_usd;
  // The spend in a window of another cadence is not known here.
  const isSameWindow = terms.cadence === (owner.budget?.cadence ?? 'monthly');
  const left = picoOf(amount) - picoOf(spent);
  return (
    <p className="note">
      {terms.hard_limit ? (
        <>
          Requests of {whose} are refused with 429 <code>budget_exceeded</code> once {usdText(amount)} are
          spent in a {eachOf(terms.cadence)}.
        </>
      ) : (
        <>
          Nothing is refused: the budget only sends an alert when 20 % or less of {usdText(amount)} remain in
          a {eachOf(terms.cadence)}.
        </>
      )}{' '}
      {!isSameWindow ? null : left > 0n ? (
        <>
          Spent in this window: {usdText(spent)}, so {usdText(usdOf(left))} remain.
        </>
      ) : terms.hard_limit ? (
        <strong>
          {usdText(spent)} are already spent in this window: everything is refused at once, until it ends.
        </strong>
      ) : (
        <>{usdText(spent)} are already spent in this window.</>
      )}{' '}
      It applies from the next request on, on every replica.
    </p>
  );
}
