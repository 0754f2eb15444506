import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from './client.ts';

/** What carries a version that is another one after each change. */
interface Versioned {
  readonly version: number | string;
}

interface Terms<S extends Versioned, C, R> {
  /** The state that the person decided by. The one of the first rendering counts: what is read later was not seen. */
  readonly from: S;
  /** Makes the change to the version that `ifMatch` names, as the header `If-Match` wants it. */
  readonly change: (wish: C, ifMatch: string) => Promise<R>;
  /** What there is now; asked for after a conflict. */
  readonly present: () => Promise<S>;
  readonly onDone: (changed: R, wish: C) => void;
}

/** A change with `If-Match`, as a form uses it. */
export interface VersionedChange<S, C> {
  readonly submit: (wish: C) => void;
  readonly isPending: boolean;
  /** Why the change was not made; `null` also where somebody else was faster: then `theirs` tells. */
  readonly error: Error | null;
  /** What somebody else made of it in the meantime. */
  readonly theirs: S | undefined;
  /** What was wished when it turned out that somebody else was faster. */
  readonly mine: C | undefined;
  /** Gives up what was wished; the next change is one of theirs. Returns theirs, for the form. */
  readonly takeTheirs: () => S | undefined;
  /** Makes what was wished on top of theirs. */
  readonly applyMine: () => void;
}

/** A change of one version. Where another one is there by now, it is not made, and what there is now is shown. */
export function useVersionedChange<S extends Versioned, C, R>({
  from,
  change,
  present,
  onDone,
}: Terms<S, C, R>): VersionedChange<S, C> {
  const [base, setBase] = useState(from);
  const [conflict, setConflict] = useState<{ readonly theirs: S; readonly mine: C }>();
  const mutation = useMutation({
    mutationFn: async ({ wish, to }: { readonly wish: C; readonly to: S }): Promise<Outcome<S, R>> => {
      try {
        return { kind: 'changed', changed: await change(wish, `"${to.version}"`) };
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'conflict') throw error;
        const theirs = await present();
        // The same version, and refused all the same: the change itself is not allowed.
        if (theirs.version === to.version) throw error;
        return { kind: 'conflict', theirs };
      }
    },
    onSuccess: (outcome, { wish }) => {
      if (outcome.kind === 'conflict') return setConflict({ theirs: outcome.theirs, mine: wish });
      setConflict(undefined);
      onDone(outcome.changed, wish);
    },
  });
  return {
    submit: (wish) => mutation.mutate({ wish, to: base }),
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
      mutation.mutate({ wish: conflict.mine, to: conflict.theirs });
    },
  };
}

type Outcome<S, R> =
  | { readonly kind: 'changed'; readonly changed: R }
  | { readonly kind: 'conflict'; readonly theirs: S };
