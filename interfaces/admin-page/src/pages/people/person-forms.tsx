import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, read } from '../../api/client.ts';
import { type Person, readPerson } from '../../api/owners.ts';
import { useVersionedChange, type VersionedChange } from '../../api/versioned-change.ts';
import { AuditLink } from '../../ui/audit-link.tsx';
import { ChangeDialog } from '../../ui/change-dialog.tsx';
import { CheckField, faultOf, SelectField, TextField } from '../../ui/fields.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { notify } from '../../ui/notices.tsx';
import { stateText } from '../owners/parts.tsx';

type Role = Person['role'];

export const roleWords: Readonly<Record<Role, string>> = { user: 'user', platform_admin: 'platform admin' };
export const roles = ['user', 'platform_admin'] as const;
const roleOptions = roles.map((value) => ({ value, label: roleWords[value] }));

const roleHint =
  'A platform admin sees and changes everything here. A user has keys, and no access to this page.';
/** Whoever is made an admin has no password yet. */
const adminHint = (email: string): string =>
  `${roleHint} An admin logs in through the identity provider, or with a password, which ` +
  `“npx gateway admin create --email ${email === '' ? 'E' : email}” sets.`;
const loggingHint =
  'Whether requests with the person’s own keys are kept in the request logs. Spend is always counted.';

export function CreatePerson({
  onMade,
  onClose,
}: {
  readonly onMade: (made: Person) => void;
  readonly onClose: () => void;
}) {
  const client = useQueryClient();
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('user');
  const [isLogged, setLogged] = useState(true);
  const create = useMutation({
    mutationFn: () =>
      read(
        api.POST('/api/v1/admin/users', {
          body: {
            email: email.trim(),
            ...(name.trim() === '' ? {} : { name: name.trim() }),
            role,
            request_logging_enabled: isLogged,
          },
        }),
      ),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ['people'] });
      notify(
        <>
          {made.name} was created. <AuditLink of={made.user_id} />
        </>,
      );
      onMade(made);
    },
  });
  return (
    <FormDialog
      title="New person"
      act="Create person"
      isPending={create.isPending}
      error={create.error}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextField
        label="E-mail"
        hint="It cannot be changed later. Sign-ins through the identity provider are matched by it."
        type="email"
        value={email}
        onChange={setEmail}
        fault={faultOf(create.error, 'email')}
        required
      />
      <TextField
        label="Name"
        hint="Empty: the e-mail address."
        value={name}
        onChange={setName}
        fault={faultOf(create.error, 'name')}
      />
      <SelectField
        label="Role"
        hint={role === 'platform_admin' ? adminHint(email.trim()) : roleHint}
        value={role}
        onChange={setRole}
        options={roleOptions}
        fault={faultOf(create.error, 'role')}
      />
      <CheckField label="Log requests" hint={loggingHint} checked={isLogged} onChange={setLogged} />
    </FormDialog>
  );
}

/** The changed fields of a person. Omitted ones stay as they are. */
interface Draft {
  readonly name?: string;
  readonly role?: Role;
  readonly request_logging_enabled?: boolean;
}

export const patchPerson = (id: string, ifMatch: string, body: Draft & { readonly active?: boolean }) =>
  read(
    api.PATCH('/api/v1/admin/users/{user_id}', {
      params: { path: { user_id: id }, header: { 'If-Match': ifMatch } },
      body,
    }),
  );

export function ChangePerson({ of: person, onClose }: { readonly of: Person; readonly onClose: () => void }) {
  const client = useQueryClient();
  const [from, setFrom] = useState(person);
  const [name, setName] = useState(person.name);
  const [role, setRole] = useState(person.role);
  const [isLogged, setLogged] = useState(person.request_logging_enabled);
  const change: VersionedChange<Person, Draft> = useVersionedChange({
    from: person,
    change: (draft: Draft, ifMatch) => patchPerson(person.user_id, ifMatch, draft),
    present: () => readPerson(person.user_id),
    onDone: (changed) => {
      void client.invalidateQueries({ queryKey: ['people'] });
      notify(
        <>
          {changed.name} was changed. <AuditLink of={changed.user_id} />
        </>,
      );
      onClose();
    },
  });
  const draft = {
    ...(name === from.name ? {} : { name: name.trim() }),
    ...(role === from.role ? {} : { role }),
    ...(isLogged === from.request_logging_enabled ? {} : { request_logging_enabled: isLogged }),
  };
  return (
    <ChangeDialog
      title={`Change ${person.name}`}
      act="Save person"
      change={change}
      draft={Object.keys(draft).length === 0 ? undefined : draft}
      rows={rowsOf}
      onTheirs={(theirs) => {
        setFrom(theirs);
        setName(theirs.name);
        setRole(theirs.role);
        setLogged(theirs.request_logging_enabled);
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
      <SelectField
        label="Role"
        hint={roleHintOf(from, role)}
        value={role}
        onChange={setRole}
        options={roleOptions}
        fault={faultOf(change.error, 'role')}
      />
      <CheckField label="Log requests" hint={loggingHint} checked={isLogged} onChange={setLogged} />
    </ChangeDialog>
  );
}

function roleHintOf({ role: before, email }: Person, role: Role): string {
  if (role === before) return roleHint;
  return role === 'platform_admin'
    ? adminHint(email)
    : 'From their next call on, the person can no longer see this page, and their API tokens stop working.';
}

const onOff = (is: boolean): string => (is ? 'on' : 'off');

function rowsOf(theirs: Person, draft: Draft) {
  const mine = { ...theirs, ...draft };
  return [
    { title: 'Name', theirs: theirs.name, mine: mine.name },
    { title: 'Role', theirs: roleWords[theirs.role], mine: roleWords[mine.role] },
    {
      title: 'Log requests',
      theirs: onOff(theirs.request_logging_enabled),
      mine: onOff(mine.request_logging_enabled),
    },
    { title: 'State', theirs: stateText(theirs.active), mine: stateText(theirs.active) },
  ];
}
