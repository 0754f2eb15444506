import { Link } from '@tanstack/react-router';
import { readServiceAccount, type ServiceAccount } from '../../api/owners.ts';
import { Pair } from '../../ui/pair.tsx';
import { FromConfig, Time } from '../../ui/values.tsx';
import { OwnerActs } from '../owners/owner-acts.tsx';
import { ActiveBadge, OwnerLinks, OpenedDrawer, WholeId } from '../owners/parts.tsx';
import { ChangeServiceAccount, patchServiceAccount } from './account-forms.tsx';

export const ServiceAccountDrawer = ({
  id,
  onClose,
}: {
  readonly id: string;
  readonly onClose: () => void;
}) => (
  <OpenedDrawer
    what="Service account"
    queryKey={['service-accounts', 'one', id]}
    load={(signal) => readServiceAccount(id, signal)}
    titleOf={({ name }) => `Service account ${name}`}
    onClose={onClose}
  >
    {(account) => <Detail of={account} />}
  </OpenedDrawer>
);

function Detail({ of: account }: { readonly of: ServiceAccount }) {
  const id = account.service_account_id;
  return (
    <>
      <OwnerActs
        kind="service_account"
        id={id}
        of={account}
        word="Change…"
        form={(done) => <ChangeServiceAccount of={account} onClose={done} />}
        change={(active, ifMatch) => patchServiceAccount(id, ifMatch, { active })}
        present={() => readServiceAccount(id)}
      />
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
        <Pair name="Created (UTC)">
          <Time at={account.created_at} />
        </Pair>
      </dl>
      <OwnerLinks kind="service_account" id={id} payer={{ kind: 'team', id: account.team_id }} />
    </>
  );
}
