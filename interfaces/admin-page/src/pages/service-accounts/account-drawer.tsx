import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { readServiceAccount, type ServiceAccount } from '../../api/owners.ts';
import { Pair } from '../../ui/pair.tsx';
import { FromConfig, Time } from '../../ui/values.tsx';
import { ChangeActivity } from '../owners/change-activity.tsx';
import { ActiveBadge, Elsewhere, OwnerDrawer, WholeId } from '../owners/parts.tsx';
import { ChangeServiceAccount, patchServiceAccount } from './account-forms.tsx';

export const ServiceAccountDrawer = ({
  id,
  onClose,
}: {
  readonly id: string;
  readonly onClose: () => void;
}) => (
  <OwnerDrawer
    what="Service account"
    queryKey={['service-accounts', 'one', id]}
    load={(signal) => readServiceAccount(id, signal)}
    titleOf={({ name }) => `Service account ${name}`}
    onClose={onClose}
  >
    {(account) => <Detail of={account} />}
  </OwnerDrawer>
);

function Detail({ of: account }: { readonly of: ServiceAccount }) {
  const [act, setAct] = useState<'change' | 'activity'>();
  const done = (): void => setAct(undefined);
  const id = account.service_account_id;
  return (
    <>
      <div className="actions">
        <button type="button" className="button" onClick={() => setAct('change')}>
          Change…
        </button>
        <Link className="button" to="/keys" search={{ owner_kind: 'service_account', owner_id: id }}>
          Keys
        </Link>
        <button
          type="button"
          className={account.active ? 'button danger' : 'button'}
          onClick={() => setAct('activity')}
        >
          {account.active ? 'Deactivate…' : 'Activate…'}
        </button>
      </div>
      <dl className="pairs">
        <Pair name="State">
          <ActiveBadge is={account.active} /> <FromConfig is={account.from_config} />
        </Pair>
        <Pair name="Team that pays">
          <Link to="/teams" search={{ open: account.team_id }}>
            {account.team_name}
          </Link>
        </Pair>
        <Pair name="Id">
          <WholeId of={id} />
        </Pair>
        <Pair name="Created">
          <Time at={account.created_at} />
        </Pair>
      </dl>
      <Elsewhere kind="service_account" id={id} payer={{ kind: 'team', id: account.team_id }} />
      {act === 'change' ? <ChangeServiceAccount of={account} onClose={done} /> : null}
      {act === 'activity' ? (
        <ChangeActivity
          kind="service_account"
          id={id}
          of={account}
          change={(active, ifMatch) => patchServiceAccount(id, ifMatch, { active })}
          present={() => readServiceAccount(id)}
          onClose={done}
        />
      ) : null}
    </>
  );
}
