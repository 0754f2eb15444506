import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, read } from '../../api/client.ts';
import { gatewayNow } from '../../api/clock.ts';
import type { AdminToken } from '../../api/owners.ts';
import { useSession } from '../../app/session.tsx';
import { AuditLink } from '../../ui/audit-link.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { faultOf, SelectField, TextField } from '../../ui/fields.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { fieldIn, InstantField, instantOf } from '../../ui/instant-field.tsx';
import { ListTable, useList } from '../../ui/list.tsx';
import { notify } from '../../ui/notices.tsx';
import { SecretDialog } from '../../ui/secret.tsx';
import { Empty } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { createdColumn } from '../owners/list-parts.tsx';
import { Badge, Copyable, Id, Time } from '../../ui/values.tsx';

type Scope = AdminToken['scope'];

const scopeOptions = [
  { value: 'read', label: 'read: calls that change nothing' },
  { value: 'write', label: 'write: all calls except those that manage tokens' },
] as const satisfies readonly { readonly value: Scope; readonly label: string }[];

type TokenState = 'active' | 'revoked' | 'expired' | 'admin gone';

function tokenState({ active, revoked_at: revokedAt, expires_at: expiresAt }: AdminToken): TokenState {
  if (revokedAt !== null) return 'revoked';
  if (active) return 'active';
  return expiresAt !== null && Date.parse(expiresAt) <= gatewayNow() ? 'expired' : 'admin gone';
}

const tones = { active: 'good', revoked: 'bad', expired: 'warn', 'admin gone': 'warn' } as const;

/** Tokens of the admin API, for scripts. */
export function Tokens() {
  const [isCreating, setCreating] = useState(false);
  const [ending, setEnding] = useState<AdminToken>();
  const [made, setMade] = useState<{ readonly name: string; readonly token: string }>();
  const list = useList(['tokens'], (page, signal) =>
    read(api.GET('/api/v1/admin/tokens', { params: { query: { page } }, signal })),
  );
  return (
    <section className="stack" aria-labelledby="tokens">
      <div className="row">
        <h2 id="tokens">API tokens of all admins</h2>
        <span className="spring" />
        <button type="button" className="button" onClick={() => setCreating(true)}>
          New token
        </button>
      </div>
      <p className="muted">
        Scripts use them to call the admin API. A token can do what its admin can, but only while that person
        is an active platform admin.
      </p>
      <ListTable
        caption="API tokens"
        columns={columnsWith(setEnding)}
        list={list}
        rowKey={(token) => token.admin_token_id}
        empty={
          <Empty title="There are no API tokens yet">
            <p>Create one with the button above, and use it like this:</p>
            <Copyable block label="Command" text={callText('$GATEWAY_TOKEN')} />
          </Empty>
        }
      />
      {isCreating ? (
        <CreateToken
          onMade={(token) => {
            setCreating(false);
            setMade(token);
          }}
          onClose={() => setCreating(false)}
        />
      ) : null}
      {ending === undefined ? null : <RevokeToken of={ending} onClose={() => setEnding(undefined)} />}
      {made === undefined ? null : (
        <SecretDialog
          title={`Token “${made.name}” was created`}
          label="API token"
          secret={made.token}
          onClose={() => setMade(undefined)}
        >
          {(onCopied) => (
            <Copyable
              block
              label="In a shell"
              text={`export GATEWAY_TOKEN='${made.token}'\n${callText('$GATEWAY_TOKEN')}`}
              onCopied={onCopied}
            />
          )}
        </SecretDialog>
      )}
    </section>
  );
}

const callText = (token: string): string =>
  `curl -H "authorization: Bearer ${token}" ${window.location.origin}/api/v1/admin/users`;

const columnsWith = (revoke: (token: AdminToken) => void): readonly Column<AdminToken>[] => [
  { key: 'name', title: 'Name', cell: ({ name }) => name, text: ({ name }) => name },
  {
    key: 'status',
    title: 'Status',
    cell: (token) => <Badge tone={tones[tokenState(token)]}>{tokenState(token)}</Badge>,
    text: tokenState,
  },
  { key: 'scope', title: 'Scope', cell: ({ scope }) => scope, text: ({ scope }) => scope },
  {
    key: 'admin',
    title: 'Admin',
    cell: ({ created_by: admin }) => (
      <Link to="/people" search={{ open: admin.user_id }}>
        {admin.name}
      </Link>
    ),
    text: ({ created_by: admin }) => admin.name,
  },
  {
    key: 'public_id',
    title: 'Public id',
    cell: (token) => <Id of={token.public_id} />,
    text: (token) => token.public_id,
  },
  createdColumn,
  {
    key: 'expires',
    title: 'Expires',
    cell: (token) =>
      token.expires_at === null ? <span className="muted">never</span> : <Time at={token.expires_at} />,
    text: (token) => token.expires_at,
  },
  {
    key: 'last_used',
    title: 'Last used',
    cell: (token) => token.last_used_on ?? <span className="muted">never</span>,
    text: (token) => token.last_used_on,
  },
  {
    key: 'revoke',
    title: 'Revoke',
    cell: (token) => (
      <button
        type="button"
        className="button quiet"
        aria-label={`Revoke the token ${token.name}`}
        disabled={token.revoked_at !== null}
        onClick={() => revoke(token)}
      >
        Revoke…
      </button>
    ),
  },
];

const limitedLife = (maxSecs: number): string =>
  `At most ${maxSecs / 86_400} days ahead: the identity provider decides who is an admin, and is asked only at a login.`;

function CreateToken({
  onMade,
  onClose,
}: {
  readonly onMade: (made: { readonly name: string; readonly token: string }) => void;
  readonly onClose: () => void;
}) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [scope, setScope] = useState<Scope>('read');
  const { tokenMaxSecs } = useSession();
  const [expires, setExpires] = useState(() => (tokenMaxSecs === null ? '' : fieldIn(tokenMaxSecs)));
  const create = useMutation({
    mutationFn: () =>
      read(
        api.POST('/api/v1/admin/tokens', {
          body: { name: name.trim(), scope, expires_at: instantOf(expires) },
        }),
      ),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ['tokens'] });
      onMade(made);
    },
  });
  return (
    <FormDialog
      title="New API token"
      act="Create token"
      isPending={create.isPending}
      error={create.error}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="What uses it, such as “terraform”."
        value={name}
        onChange={setName}
        fault={faultOf(create.error, 'name')}
        required
      />
      <SelectField
        label="Scope"
        value={scope}
        onChange={setScope}
        options={scopeOptions}
        fault={faultOf(create.error, 'scope')}
      />
      <InstantField
        label="Expires"
        hint={tokenMaxSecs === null ? 'Empty: never.' : limitedLife(tokenMaxSecs)}
        value={expires}
        onChange={setExpires}
        fault={faultOf(create.error, 'expires_at')}
        ofNew
        maxSecs={tokenMaxSecs}
      />
      <p className="muted">It acts in your name: the audit names you and the token. It is shown once.</p>
    </FormDialog>
  );
}

function RevokeToken({ of: token, onClose }: { readonly of: AdminToken; readonly onClose: () => void }) {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () =>
      read(
        api.DELETE('/api/v1/admin/tokens/{admin_token_id}', {
          params: { path: { admin_token_id: token.admin_token_id } },
        }),
      ),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ['tokens'] });
      notify(
        <>
          Token “{token.name}” was revoked. <AuditLink of={token.admin_token_id} />
        </>,
      );
      onClose();
    },
  });
  return (
    <Confirm
      title={`Revoke token “${token.name}”?`}
      act="Revoke token"
      onAct={() => revoke.mutate()}
      onClose={onClose}
      isPending={revoke.isPending}
      error={revoke.error}
    >
      <p>
        It stops working at once, for good.{' '}
        {token.last_used_on === null
          ? 'Nobody has used it yet.'
          : `It was last used on ${token.last_used_on} (UTC).`}
      </p>
    </Confirm>
  );
}
