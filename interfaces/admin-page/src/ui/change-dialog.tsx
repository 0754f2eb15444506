import type { FormEvent, ReactNode } from 'react';
import type { VersionedChange } from '../api/versioned-change.ts';
import { Conflict, type ConflictRow } from './conflict.tsx';
import { Dialog } from './dialog.tsx';
import { FormActions } from './form-dialog.tsx';
import { ErrorLine } from './states.tsx';

/** A change of one object: the fields, what will happen, and after a conflict both states. */
export function ChangeDialog<S, C>({
  title,
  act,
  tone,
  change,
  draft,
  rows,
  onTheirs,
  onTry,
  onClose,
  children,
}: {
  readonly title: string;
  /** The label of the button, such as `Save team`. */
  readonly act: string;
  /** `danger` for destructive changes. */
  readonly tone?: 'primary' | 'danger';
  readonly change: VersionedChange<S, C>;
  /** The current content of the form; `undefined` when it cannot be saved. */
  readonly draft: C | undefined;
  /** Both states, member by member. */
  readonly rows: (theirs: S, mine: C) => readonly ConflictRow[];
  /** Called when theirs was taken, so that the form shows it. */
  readonly onTheirs: (theirs: S) => void;
  /** For a form that reports its own faults once it is submitted. Its button is always enabled. */
  readonly onTry?: () => void;
  readonly onClose: () => void;
  /** The fields, and a sentence that says what will happen. */
  readonly children: ReactNode;
}) {
  const { theirs, mine } = change;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onTry?.();
    if (draft !== undefined && theirs === undefined) change.submit(draft);
  };
  const take = (): void => {
    const taken = change.takeTheirs();
    if (taken !== undefined) onTheirs(taken);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit} noValidate={onTry !== undefined}>
        {theirs === undefined ? children : null}
        <ErrorLine error={change.error} />
        {theirs === undefined || mine === undefined ? (
          <FormActions
            act={act}
            tone={tone}
            isPending={change.isPending}
            isReady={draft !== undefined || onTry !== undefined}
            onClose={onClose}
          />
        ) : (
          <Conflict
            rows={rows(theirs, mine)}
            takeTheirs={take}
            applyMine={change.applyMine}
            isPending={change.isPending}
          />
        )}
      </form>
    </Dialog>
  );
}
