import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ownerWords } from '../../api/owners.ts';
import { kindPaths } from '../../api/search.ts';
import { Pair } from '../../ui/pair.tsx';
import { AuditLink } from '../../ui/audit-link.tsx';
import { picoOf, usdOf } from '../../ui/amounts.ts';
import { BudgetBar } from '../../ui/bar.tsx';
import { ChangeDialog } from '../../ui/change-dialog.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { notify } from '../../ui/notices.tsx';
import { Badge, Count, Dash, Id, Money, Time } from '../../ui/values.tsx';
import { budgetRows, useBudgetChange } from './budget-change.ts';
import { SpendByDay } from './days.tsx';
import { History } from './history.tsx';
import { budgetsKey, callsOf, eachOf, type Owner, rowsOf } from './owners.ts';

/** The budget of one owner: its current terms, the spend by day, and its history. */
export function OwnerDrawer({
  owner,
  onSet,
  onEnd,
  onClose,
}: {
  readonly owner: Owner;
  readonly onSet: () => void;
  readonly onEnd: () => void;
  readonly onClose: () => void;
}) {
  const { budget, current_window: window, alert_recipients: recipients } = owner;
  return (
    <Drawer title={`Budget of ${owner.name}`} onClose={onClose}>
      <div className="actions">
        <button type="button" className="button primary" onClick={onSet} disabled={!owner.active}>
          {budget === null ? 'Set a budget' : 'Change budget'}
        </button>
        {budget === null ? null : (
          <button type="button" className="button danger" onClick={onEnd}>
            Deactivate budget
          </button>
        )}
        <Link className="button" to={kindPaths[owner.kind]} search={{ open: owner.id }}>
          The {ownerWords[owner.kind]}
        </Link>
      </div>
      {owner.active ? null : (
        <p>
          <Badge tone="plain">deactivated</Badge> No budget can be set for an owner who is not active.
        </p>
      )}
      {budget === null ? null : (
        <BudgetBar
          spendUsd={window.spend_usd}
          amountUsd={budget.amount_usd}
          isHard={budget.hard_limit}
          label={owner.name}
        />
      )}
      <dl className="pairs">
        <Pair name="Budget">
          {budget === null ? (
            'none: nothing is refused'
          ) : (
            <>
              <Money usd={budget.amount_usd} /> per {eachOf(budget.cadence)}
            </>
          )}
        </Pair>
        <Pair name="Limit">
          {budget === null ? (
            <Dash />
          ) : budget.hard_limit ? (
            'hard: requests are refused'
          ) : (
            'soft: alerts only'
          )}
        </Pair>
        <Pair name={budget === null ? 'Month (UTC)' : 'Window (UTC)'}>
          <Time at={window.start} dateOnly /> to <Time at={window.end} dateOnly />, 00:00
        </Pair>
        <Pair name="Spent in it">
          <Link to="/observability/request-logs" search={rowsOf(owner)}>
            <Money usd={window.spend_usd} />
          </Link>
        </Pair>
        <Pair name="Remains">
          {budget === null ? (
            <Dash />
          ) : (
            <Money usd={usdOf(picoOf(budget.amount_usd) - picoOf(window.spend_usd))} />
          )}
        </Pair>
        <Pair name="Blocked answers">
          <Count of={window.blocked_answers.count} />
          {window.blocked_answers.count === 0 ? null : (
            <>
              {' '}
              of <Money usd={window.blocked_answers.cost_usd} />, billed by the provider beyond the spend
            </>
          )}
        </Pair>
        <Pair name="Alerts go to">{recipients.length === 0 ? 'nobody' : recipients.join(', ')}</Pair>
        <Pair name="Owner">
          {ownerWords[owner.kind]} <Id of={owner.id} />
        </Pair>
      </dl>
      <SpendByDay owner={owner} />
      <History owner={owner} />
    </Drawer>
  );
}

const noTerms = {};

/** Asks before a budget is deactivated. */
export function EndBudget({ owner, onClose }: { readonly owner: Owner; readonly onClose: () => void }) {
  const client = useQueryClient();
  const end = useBudgetChange(
    owner,
    () => callsOf(owner).end(),
    ({ deactivated }) => {
      void client.invalidateQueries({ queryKey: budgetsKey });
      notify(
        <>
          {deactivated ? `${owner.name} no longer has a budget.` : `${owner.name} already had no budget.`}{' '}
          <AuditLink of={owner.id} />
        </>,
      );
      onClose();
    },
  );
  return (
    <ChangeDialog
      title={`Deactivate the budget of ${owner.name}`}
      act="Deactivate budget"
      tone="danger"
      change={end}
      draft={noTerms}
      rows={({ budget }) => budgetRows(budget, null)}
      onTheirs={onClose}
      onClose={onClose}
    >
      <p>
        From the next request on, nothing limits what {owner.name} spends, and no alert is sent. The budget
        stays in the history, and a new one can be set at any time.
      </p>
    </ChangeDialog>
  );
}
