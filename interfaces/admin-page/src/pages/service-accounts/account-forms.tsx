import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, read } from '../../api/client.ts';
import {
  type OwnerChoice,
  ownerChoice,
  readServiceAccount,
  searchOwners,
  type ServiceAccount,
} from '../../api/owners.ts';
import { useVersionedChange, type VersionedChange } from '../../api/versioned-change.ts';
import { AuditLink } from '../../ui/audit-link.tsx';
import { ChangeDialog } from '../../ui/change-dialog.tsx';
import { faultOf, TextField } from '../../ui/fields.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { notify } from '../../ui/notices.tsx';
import { Pick } from '../../ui/pick.tsx';
import { stateText } from '../owners/parts.tsx';

const searchTeams = searchOwners('team');

export function CreateServiceAccount({
  team: known,
  onMade,
  onClose,
}: {
  /** The team whose service accounts the list shows. */
  readonly team: OwnerChoice | undefined;
  readonly onMade: (made: ServiceAccount) => void;
  readonly onClose: () => void;
}) {
  const client = useQueryClient();
  const [id, setId] = useState('');
  const [name, setName] = useState('');
  const [team, setTeam] = useState(known);
  const create = useMutation({
    mutationFn: (payer: OwnerChoice) =>
      read(
        api.POST('/api/v1/admin/service-accounts', {
          body: {
            service_account_id: id.trim(),
            ...(name.trim() === '' ? {} : { name: name.trim() }),
            team_id: payer.id,
          },
        }),
      ),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ['service-accounts'] });
      notify(
        <>
          Service account {made.name} was created. <AuditLink of={made.service_account_id} />
        </>,
      );
      onMade(made);
    },
  });
  const submit = (): void => {
    if (team !== undefined) create.mutate(team);
  };
  return (
    <FormDialog
      title="New service account"
      act="Create service account"
      isPending={create.isPending}
      isReady={team !== undefined}
      error={create.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Id"
        hint="Letters, digits and . _ : / @ -, such as “indexer”. It cannot be changed later."
        value={id}
        onChange={setId}
        fault={faultOf(create.error, 'service_account_id')}
        required
      />
      <TextField
        label="Name"
        hint="Empty: the id."
        value={name}
        onChange={setName}
        fault={faultOf(create.error, 'name')}
      />
      <Pick
        label="Team that pays"
        of="active team"
        search={searchTeams}
        chosen={team}
        onChoose={setTeam}
        fault={faultOf(create.error, 'team_id')}
      />
    </FormDialog>
  );
}

interface Draft {
  readonly name?: string;
  readonly team_id?: string;
}

export const patchServiceAccount = (
  id: string,
  ifMatch: string,
  body: Draft & { readonly active?: boolean },
) =>
  read(
    api.PATCH('/api/v1/admin/service-accounts/{service_account_id}', {
      params: { path: { service_account_id: id }, header: { 'If-Match': ifMatch } },
      body,
    }),
  );

const teamOf = ({ team_id: id, team_name: name }: ServiceAccount): OwnerChoice => ownerChoice(id, name, id);

export function ChangeServiceAccount({
  of: account,
  onClose,
}: {
  readonly of: ServiceAccount;
  readonly onClose: () => void;
}) {
  const client = useQueryClient();
  const [from, setFrom] = useState(account);
  const [name, setName] = useState(account.name);
  const [team, setTeam] = useState<OwnerChoice | undefined>(teamOf(account));
  const change: VersionedChange<ServiceAccount, Draft> = useVersionedChange({
    from: account,
    change: (draft: Draft, ifMatch) => patchServiceAccount(account.service_account_id, ifMatch, draft),
    present: () => readServiceAccount(account.service_account_id),
    onDone: (changed) => {
      void client.invalidateQueries({ queryKey: ['service-accounts'] });
      notify(
        <>
          {changed.name} was changed. <AuditLink of={changed.service_account_id} />
        </>,
      );
      onClose();
    },
  });
  const draft = {
    ...(name.trim() === from.name ? {} : { name: name.trim() }),
    ...(team === undefined || team.id === from.team_id ? {} : { team_id: team.id }),
  };
  return (
    <ChangeDialog
      title={`Change ${account.name}`}
      act="Save service account"
      change={change}
      draft={team === undefined || Object.keys(draft).length === 0 ? undefined : draft}
      rows={rowsOf}
      onTheirs={(theirs) => {
        setFrom(theirs);
        setName(theirs.name);
        setTeam(teamOf(theirs));
      }}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        fault={faultOf(change.error, 'name')}
        required
      />
      <Pick
        label="Team that pays"
        of="active team"
        search={searchTeams}
        chosen={team}
        onChoose={setTeam}
        fault={faultOf(change.error, 'team_id')}
      />
      {draft.team_id === undefined ? null : (
        <p className="muted">
          Within 5 seconds, new requests count for {team?.title}. What was spent stays with {from.team_name}.
        </p>
      )}
    </ChangeDialog>
  );
}

function rowsOf(theirs: ServiceAccount, draft: Draft) {
  const state = stateText(theirs.active);
  return [
    { title: 'Name', theirs: theirs.name, mine: draft.name ?? theirs.name },
    { title: 'Team', theirs: theirs.team_id, mine: draft.team_id ?? theirs.team_id },
    { title: 'State', theirs: state, mine: state },
  ];
}
