import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, read } from '../../api/client.ts';
import { gatewayNow } from '../../api/clock.ts';
import { type ApiKey, readKey } from '../../api/owners.ts';
import { useVersionedChange, type VersionedChange } from '../../api/versioned-change.ts';
import { AuditLink } from '../../ui/audit-link.tsx';
import { ChangeDialog } from '../../ui/change-dialog.tsx';
import type { ConflictRow } from '../../ui/conflict.tsx';
import { faultOf, SelectField, TextField } from '../../ui/fields.tsx';
import { fieldOf, InstantField, instantOf } from '../../ui/instant-field.tsx';
import { notify } from '../../ui/notices.tsx';
import { instantText, keyState, modelsText } from './key-state.tsx';
import { ModelsField } from './models-field.tsx';
import type { ShownKey } from './secret-shown.tsx';

/** The changed fields of a key. Omitted ones stay as they are. */
interface KeyInput {
  readonly name?: string;
  readonly allowed_models?: string[];
  readonly expires_at?: string | null;
}

interface Props {
  readonly of: ApiKey;
  readonly onClose: () => void;
}

/** Both states of a key: theirs, and theirs with `draft` applied. */
const rowsOf = (
  theirs: ApiKey,
  draft: KeyInput,
  mineIs: string = keyState(theirs),
): readonly ConflictRow[] => {
  const mine = { ...theirs, ...draft };
  return [
    { title: 'Name', theirs: theirs.name, mine: mine.name },
    { title: 'Models', theirs: modelsText(theirs.allowed_models), mine: modelsText(mine.allowed_models) },
    { title: 'Expires', theirs: instantText(theirs.expires_at), mine: instantText(mine.expires_at) },
    { title: 'Status', theirs: keyState(theirs), mine: mineIs },
  ];
};

/** The secret before the current one works for a while after a rotation. */
const hasPrevious = ({ previous_expires_at: until }: ApiKey): boolean =>
  until !== null && Date.parse(until) > gatewayNow();

/** What another rotation does to a key that somebody has just rotated: callers may not have the current secret yet. */
const secretRow = (theirs: ApiKey): ConflictRow =>
  hasPrevious(theirs)
    ? {
        title: 'Secret before the current one',
        theirs: `works until ${instantText(theirs.previous_expires_at)}`,
        mine: 'stops working at once',
      }
    : { title: 'Secret before the current one', theirs: 'does not work', mine: 'does not work' };

const target = (key: ApiKey, ifMatch: string) => ({
  path: { api_key_id: key.api_key_id },
  header: { 'If-Match': ifMatch },
});

/** Changes the name of a key, its models and its expiry. */
export function ChangeKey({ of: key, onClose }: Props) {
  const client = useQueryClient();
  const [from, setFrom] = useState(key);
  const [name, setName] = useState(key.name);
  const [allowed, setAllowed] = useState<readonly string[] | undefined>(key.allowed_models);
  const [expires, setExpires] = useState(fieldOf(key.expires_at));
  const change: VersionedChange<ApiKey, KeyInput> = useVersionedChange({
    from: key,
    change: (body: KeyInput, ifMatch) =>
      read(api.PATCH('/api/v1/admin/api-keys/{api_key_id}', { params: target(key, ifMatch), body })),
    present: () => readKey(key.api_key_id),
    onDone: (changed) => {
      void client.invalidateQueries({ queryKey: ['keys'] });
      notify(
        <>
          Key “{changed.name}” was changed. <AuditLink of={changed.api_key_id} />
        </>,
      );
      onClose();
    },
  });
  const draft =
    allowed === undefined
      ? undefined
      : {
          ...(name === from.name ? {} : { name: name.trim() }),
          ...(modelsText(allowed) === modelsText(from.allowed_models)
            ? {}
            : { allowed_models: [...allowed] }),
          ...(expires === fieldOf(from.expires_at) ? {} : { expires_at: instantOf(expires) }),
        };
  return (
    <ChangeDialog
      title={`Change key “${key.name}”`}
      act="Save key"
      change={change}
      draft={draft === undefined || Object.keys(draft).length === 0 ? undefined : draft}
      rows={rowsOf}
      onTheirs={(theirs) => {
        setFrom(theirs);
        setName(theirs.name);
        setAllowed(theirs.allowed_models);
        setExpires(fieldOf(theirs.expires_at));
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
      <ModelsField allowed={allowed} onChange={setAllowed} fault={faultOf(change.error, 'allowed_models')} />
      <InstantField
        label="Expires"
        hint="Empty: never."
        value={expires}
        onChange={setExpires}
        fault={faultOf(change.error, 'expires_at')}
        ofNew={false}
      />
      <p className="muted">
        The change applies to requests with this key within 5 seconds; the secret stays the same.
      </p>
    </ChangeDialog>
  );
}

/** Revokes a key for good. */
export function RevokeKey({ of: key, onClose }: Props) {
  const client = useQueryClient();
  const change: VersionedChange<ApiKey, KeyInput> = useVersionedChange({
    from: key,
    change: (_wish: KeyInput, ifMatch) =>
      read(api.DELETE('/api/v1/admin/api-keys/{api_key_id}', { params: target(key, ifMatch) })),
    present: () => readKey(key.api_key_id),
    onDone: () => {
      void client.invalidateQueries({ queryKey: ['keys'] });
      notify(
        <>
          Key “{key.name}” was revoked. <AuditLink of={key.api_key_id} />
        </>,
      );
      onClose();
    },
  });
  return (
    <ChangeDialog
      title={`Revoke key “${key.name}”?`}
      act="Revoke key"
      tone="danger"
      change={change}
      draft={{}}
      rows={(theirs, draft) => rowsOf(theirs, draft, 'revoked')}
      onTheirs={onClose}
      onClose={onClose}
    >
      <p>
        It stops working within 5 seconds, for good. Requests in progress run to their end. What{' '}
        {key.owner_name} has spent with it stays in the reports.
      </p>
      <p className="muted">
        {key.last_used_on === null
          ? 'Nobody has used it yet.'
          : `It was last used on ${key.last_used_on} (UTC).`}
      </p>
    </ChangeDialog>
  );
}

const overlaps = [
  { value: '0', label: 'not at all: it stops within 5 seconds' },
  { value: '3600', label: 'for an hour' },
  { value: '86400', label: 'for a day' },
  { value: '604800', label: 'for a week' },
] as const;
type Overlap = (typeof overlaps)[number]['value'];

/** Gives a key a new secret. The old one stays valid for a while. */
export function RotateKey({
  of: key,
  onMade,
  onClose,
}: Props & { readonly onMade: (made: ShownKey) => void }) {
  const client = useQueryClient();
  const [overlap, setOverlap] = useState<Overlap>('86400');
  const change = useVersionedChange({
    from: key,
    change: (body: { readonly overlap_secs: number }, ifMatch) =>
      read(api.POST('/api/v1/admin/api-keys/{api_key_id}/rotate', { params: target(key, ifMatch), body })),
    present: () => readKey(key.api_key_id),
    onDone: (made) => {
      void client.invalidateQueries({ queryKey: ['keys'] });
      onMade({ name: made.name, apiKey: made.api_key, allowedModels: made.allowed_models });
    },
  });
  return (
    <ChangeDialog
      title={`Rotate key “${key.name}”`}
      act="Create a new secret"
      change={change}
      draft={{ overlap_secs: Number(overlap) }}
      rows={(theirs) => [...rowsOf(theirs, {}), secretRow(theirs)]}
      onTheirs={onClose}
      onClose={onClose}
    >
      <SelectField
        label="The current secret stays valid"
        value={overlap}
        onChange={setOverlap}
        options={overlaps}
        fault={faultOf(change.error, 'overlap_secs')}
      />
      <p className="muted">
        The key keeps its name, owner, models and limits. The new secret is shown once.
        {hasPrevious(key) ? ' The secret before the current one stops working at once.' : ''}
        {key.from_config
          ? ' The configuration file has this key: when the file is next applied, at a start or a reload, its secret is valid again and the new one is not. Change the secret there.'
          : ''}
      </p>
    </ChangeDialog>
  );
}
