import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from './client.ts';

/** An object whose version changes with each change. */
interface Versioned {
  readonly version: number | string;
}

interface Terms<S extends Versioned, C, R> {
  /**
   * The state that the person decided on. Only the value of the first render counts, because nobody saw a later one.
   */
  readonly from: S;
  /** Makes the change to the version in `ifMatch`, the value of the `If-Match` header. */
  readonly change: (draft: C, ifMatch: string) => Promise<R>;
  /** Reads the current state after a conflict. */
  readonly present: () => Promise<S>;
  readonly onDone: (changed: R, draft: C) => void;
}

/** A change with `If-Match`, for use by a form. */
export interface VersionedChange<S, C> {
  readonly submit: (draft: C) => void;
  readonly isPending: boolean;
  /** Why the change was not made. `null` after a conflict too: then `theirs` is set. */
  readonly error: Error | null;
  /** The state that somebody else saved in the meantime. */
  readonly theirs: S | undefined;
  /** One's own change, which met the conflict. */
  readonly mine: C | undefined;
  /** Discards one's own change and makes theirs the base of the next one. Returns theirs, for the form. */
  readonly takeTheirs: () => S | undefined;
  /** Applies one's own change on top of theirs. */
  readonly applyMine: () => void;
}

/**
 * A change to one version of an object. If the object has another version by now, it is not changed, and its current
 * state is returned in `theirs`.
 */
export function useVersionedChange<S extends Versioned, C, R>({
  from,
  change,
  present,
  onDone,
}: Terms<S, C, R>): VersionedChange<S, C> {
  const [base, setBase] = useState(from);
  const [conflict, setConflict] = useState<{ readonly theirs: S; readonly mine: C }>();
  const mutation = useMutation({
    mutationFn: async ({ draft, to }: { readonly draft: C; readonly to: S }): Promise<Outcome<S, R>> => {
      try {
        return { kind: 'changed', changed: await change(draft, `"${to.version}"`) };
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'conflict') throw error;
        const theirs = await present();
        // The version is the same, so the change itself is not allowed.
        if (theirs.version === to.version) throw error;
        return { kind: 'conflict', theirs };
      }
    },
    onSuccess: (outcome, { draft }) => {
      if (outcome.kind === 'conflict') return setConflict({ theirs: outcome.theirs, mine: draft });
      setConflict(undefined);
      onDone(outcome.changed, draft);
    },
  });
  return {
    submit: (draft) => mutation.mutate({ draft, to: base }),
    isPending: mutation.isPending,
    error: mutation.error,
    theirs: conflict?.theirs,
    mine: conflict?.mine,
    takeTheirs: () => {
      if (conflict === undefined) return undefined;
      setBase(conflict.theirs);
      setConflict(undefined);
      return conflict.theirs;
    },
    applyMine: () => {
      if (conflict === undefined) return;
      setBase(conflict.theirs);
      mutation.mutate({ draft: conflict.mine, to: conflict.theirs });
    },
  };
}

type Outcome<S, R> =
  | { readonly kind: 'changed'; readonly changed: R }
  | { readonly kind: 'conflict'; readonly theirs: S };
