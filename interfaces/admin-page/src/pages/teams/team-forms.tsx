import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, read } from '../../api/client.ts';
import { readTeam, type Team } from '../../api/owners.ts';
import { useVersionedChange, type VersionedChange } from '../../api/versioned-change.ts';
import { AuditLink } from '../../ui/audit-link.tsx';
import { ChangeDialog } from '../../ui/change-dialog.tsx';
import { faultOf, TextField } from '../../ui/fields.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { notify } from '../../ui/notices.tsx';
import { stateText } from '../owners/parts.tsx';

export function CreateTeam({
  onMade,
  onClose,
}: {
  readonly onMade: (made: Team) => void;
  readonly onClose: () => void;
}) {
  const client = useQueryClient();
  const [id, setId] = useState('');
  const [name, setName] = useState('');
  const create = useMutation({
    mutationFn: () =>
      read(
        api.POST('/api/v1/admin/teams', {
          body: { team_id: id.trim(), ...(name.trim() === '' ? {} : { name: name.trim() }) },
        }),
      ),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ['teams'] });
      notify(
        <>
          Team {made.name} was created. <AuditLink of={made.team_id} />
        </>,
      );
      onMade(made);
    },
  });
  return (
    <FormDialog
      title="New team"
      act="Create team"
      isPending={create.isPending}
      error={create.error}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextField
        label="Id"
        hint="Letters, digits and . _ : / @ -, such as “search”. It cannot be changed later."
        value={id}
        onChange={setId}
        fault={faultOf(create.error, 'team_id')}
        required
      />
      <TextField
        label="Name"
        hint="Empty: the id."
        value={name}
        onChange={setName}
        fault={faultOf(create.error, 'name')}
      />
      <p className="muted">It has no members, keys or budget at first.</p>
    </FormDialog>
  );
}

interface Draft {
  readonly name?: string;
}

export const patchTeam = (id: string, ifMatch: string, body: Draft & { readonly active?: boolean }) =>
  read(
    api.PATCH('/api/v1/admin/teams/{team_id}', {
      params: { path: { team_id: id }, header: { 'If-Match': ifMatch } },
      body,
    }),
  );

export function RenameTeam({ of: team, onClose }: { readonly of: Team; readonly onClose: () => void }) {
  const client = useQueryClient();
  const [from, setFrom] = useState(team);
  const [name, setName] = useState(team.name);
  const change: VersionedChange<Team, Draft> = useVersionedChange({
    from: team,
    change: (draft: Draft, ifMatch) => patchTeam(team.team_id, ifMatch, draft),
    present: () => readTeam(team.team_id),
    onDone: (changed) => {
      void client.invalidateQueries({ queryKey: ['teams'] });
      notify(
        <>
          The team is called {changed.name} now. <AuditLink of={changed.team_id} />
        </>,
      );
      onClose();
    },
  });
  return (
    <ChangeDialog
      title={`Rename team ${team.name}`}
      act="Save team"
      change={change}
      draft={name.trim() === from.name ? undefined : { name: name.trim() }}
      rows={(theirs, draft) => [
        { title: 'Name', theirs: theirs.name, mine: draft.name ?? theirs.name },
        { title: 'State', theirs: stateText(theirs.active), mine: stateText(theirs.active) },
      ]}
      onTheirs={(theirs) => {
        setFrom(theirs);
        setName(theirs.name);
      }}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="The name shown on pages and in reports; the id stays."
        value={name}
        onChange={setName}
        fault={faultOf(change.error, 'name')}
        required
      />
    </ChangeDialog>
  );
}
