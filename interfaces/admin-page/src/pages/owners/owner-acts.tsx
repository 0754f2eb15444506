import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { grouped } from '../../ui/amounts.ts';
import type { OwnerKind } from '../../api/owners.ts';
import { useVersionedChange } from '../../api/versioned-change.ts';
import { AuditLink } from '../../ui/audit-link.tsx';
import { ChangeDialog } from '../../ui/change-dialog.tsx';
import { notify } from '../../ui/notices.tsx';
import { type Effects, effectsText } from './effects.ts';
import { stateText, useActiveKeys } from './parts.tsx';

interface Owner {
  readonly name: string;
  readonly active: boolean;
  readonly version: number;
}

const losses = {
  user: 'The person can no longer log in, and sessions end for good. Team memberships, budget and spend stay.',
  team: 'Calls with the keys of its service accounts are refused, too. Members, budget and spend stay.',
  service_account: 'What it has spent stays with its team.',
} as const satisfies Record<OwnerKind, string>;

/** `undefined`: not known yet. */
function keysText(name: string, count: number | undefined): string {
  if (count === undefined) return 'Calls with its keys are refused within 5 seconds.';
  if (count === 0) return `${name} has no active keys.`;
  const keys = count === 1 ? 'one active key' : `${grouped(count)} active keys`;
  return `${name} has ${keys}: calls with ${count === 1 ? 'it' : 'them'} are refused within 5 seconds.`;
}

interface Terms<O extends Owner> {
  readonly kind: OwnerKind;
  readonly id: string;
  readonly of: O;
  readonly change: (active: boolean, ifMatch: string) => Promise<{ readonly effects: Effects }>;
  readonly present: () => Promise<O>;
}

/** The actions on an owner: change its fields, see its keys, and deactivate it. */
export function OwnerActs<O extends Owner>({
  word,
  form,
  ...terms
}: Terms<O> & {
  /** The label of the button that opens the form. */
  readonly word: string;
  readonly form: (onClose: () => void) => ReactNode;
}) {
  const [act, setAct] = useState<'change' | 'activity'>();
  const done = (): void => setAct(undefined);
  const { kind, id, of: owner } = terms;
  return (
    <>
      <div className="actions">
        <button type="button" className="button" onClick={() => setAct('change')}>
          {word}
        </button>
        <Link className="button" to="/keys" search={{ owner_kind: kind, owner_id: id }}>
          Keys
        </Link>
        <button
          type="button"
          className={owner.active ? 'button danger' : 'button'}
          onClick={() => setAct('activity')}
        >
          {owner.active ? 'Deactivate…' : 'Activate…'}
        </button>
      </div>
      {act === 'change' ? form(done) : null}
      {act === 'activity' ? <ChangeActivity {...terms} onClose={done} /> : null}
    </>
  );
}

/** Deactivates an owner, or activates it again. Nobody is deleted. */
function ChangeActivity<O extends Owner>({
  kind,
  id,
  of: owner,
  change: act,
  present,
  onClose,
}: Terms<O> & { readonly onClose: () => void }) {
  const client = useQueryClient();
  const keys = useActiveKeys(kind, id);
  const wanted = !owner.active;
  const change = useVersionedChange({
    from: owner,
    change: ({ active }: { readonly active: boolean }, ifMatch) => act(active, ifMatch),
    present,
    onDone: ({ effects }) => {
      void client.invalidateQueries();
      notify(
        <>
          {owner.name} is {wanted ? 'active again' : 'no longer active'}.{effectsText(effects)}{' '}
          <AuditLink of={id} />
        </>,
      );
      onClose();
    },
  });
  return (
    <ChangeDialog
      title={wanted ? `Activate ${owner.name}?` : `Deactivate ${owner.name}?`}
      act={wanted ? 'Activate' : 'Deactivate'}
      tone={wanted ? 'primary' : 'danger'}
      change={change}
      draft={{ active: wanted }}
      rows={(theirs, mine) => [
        { title: 'Name', theirs: theirs.name, mine: theirs.name },
        { title: 'State', theirs: stateText(theirs.active), mine: stateText(mine.active) },
      ]}
      onTheirs={onClose}
      onClose={onClose}
    >
      <p>
        {wanted
          ? 'Keys that are not revoked or expired work again within 5 seconds. Sessions that ended stay ended.'
          : `${keysText(owner.name, keys.data?.total)} ${losses[kind]}`}
      </p>
      {wanted ? null : <p className="muted">It can be activated again at any time.</p>}
    </ChangeDialog>
  );
}
