import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, read } from '../../api/client.ts';
import { type OwnerChoice, type OwnerKind, ownerKinds, ownerWords, searchOwners } from '../../api/owners.ts';
import { faultOf, SelectField, TextField } from '../../ui/fields.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { InstantField, instantOf } from '../../ui/instant-field.tsx';
import { Pick } from '../../ui/pick.tsx';
import { ModelsField } from './models-field.tsx';
import type { ShownKey } from './secret-shown.tsx';

export interface OwnerDraft {
  readonly kind: OwnerKind;
  readonly chosen: OwnerChoice | undefined;
}

const kindOptions = ownerKinds.map((value) => ({ value, label: ownerWords[value] }));

/** Creates a key. Its secret is passed on to be shown. */
export function CreateKey({
  owner: known,
  onMade,
  onClose,
}: {
  /** The owner whose keys the list shows. */
  readonly owner: OwnerDraft;
  readonly onMade: (made: ShownKey) => void;
  readonly onClose: () => void;
}) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [owner, setOwner] = useState(known);
  const [allowed, setAllowed] = useState<readonly string[] | undefined>([]);
  const [expires, setExpires] = useState('');
  const create = useMutation({
    mutationFn: (body: { readonly owner_id: string; readonly allowed_models: readonly string[] }) =>
      read(
        api.POST('/api/v1/admin/api-keys', {
          body: {
            name: name.trim(),
            owner_kind: owner.kind,
            owner_id: body.owner_id,
            allowed_models: [...body.allowed_models],
            expires_at: instantOf(expires),
          },
        }),
      ),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ['keys'] });
      onMade({ name: made.name, apiKey: made.api_key, allowedModels: made.allowed_models });
    },
  });
  const isReady = owner.chosen !== undefined && allowed !== undefined;
  const submit = (): void => {
    if (owner.chosen !== undefined && allowed !== undefined)
      create.mutate({ owner_id: owner.chosen.id, allowed_models: allowed });
  };
  return (
    <FormDialog
      title="New key"
      act="Create key"
      isPending={create.isPending}
      isReady={isReady}
      error={create.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="What it is for, such as “ci” or “laptop”."
        value={name}
        onChange={setName}
        fault={faultOf(create.error, 'name')}
        required
      />
      <SelectField
        label="Kind of owner"
        value={owner.kind}
        onChange={(kind) => setOwner({ kind, chosen: undefined })}
        options={kindOptions}
        fault={faultOf(create.error, 'owner_kind')}
      />
      <Pick
        key={owner.kind}
        label="Owner"
        of={`active ${owner.kind}`}
        search={searchOwners(owner.kind)}
        chosen={owner.chosen}
        onChoose={(chosen) => setOwner({ ...owner, chosen })}
        fault={faultOf(create.error, 'owner_id')}
      />
      <ModelsField allowed={allowed} onChange={setAllowed} fault={faultOf(create.error, 'allowed_models')} />
      <InstantField
        label="Expires"
        hint="Empty: never."
        value={expires}
        onChange={setExpires}
        fault={faultOf(create.error, 'expires_at')}
        ofNew
      />
      <p className="muted">
        {payerText(owner)} pays for the requests made with it. The key works at once; it is shown once.
      </p>
    </FormDialog>
  );
}

const payerText = ({ kind, chosen }: OwnerDraft): string =>
  kind === 'service_account' ? 'The team of this service account' : (chosen?.title ?? 'Its owner');
