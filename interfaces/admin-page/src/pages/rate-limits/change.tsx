import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { grouped } from '../../ui/amounts.ts';
import { ApiError } from '../../api/client.ts';
import { fieldsOf, wholeOf } from '../../api/loose-json.ts';
import { type Hit, searchThings } from '../../api/search.ts';
import { useVersionedChange } from '../../api/versioned-change.ts';
import { AuditLink } from '../../ui/audit-link.tsx';
import { ChangeDialog } from '../../ui/change-dialog.tsx';
import { faultOf } from '../../ui/fields.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { notify } from '../../ui/notices.tsx';
import { Pick } from '../../ui/pick.tsx';
import { type Texts, termsIn, textsOf, TermFields } from './fields.tsx';
import {
  type Limit,
  type LimitTerms,
  limitsKey,
  measures,
  measureTitles,
  nameOf,
  removeLimit,
  setLimit,
  type Subject,
  subjectKinds,
} from './limits.ts';

const searchSubjects = searchThings(subjectKinds);

/** Announces a change, and reloads the list. */
function useDone(onClose: () => void) {
  const client = useQueryClient();
  return async (text: string, { subject_id: id }: Subject): Promise<void> => {
    await client.invalidateQueries({ queryKey: limitsKey });
    notify(
      <>
        {text} <AuditLink of={id} />
      </>,
    );
    onClose();
  };
}

/** A limit for a subject that is found by search. */
export function NewLimit({ onClose }: { readonly onClose: () => void }) {
  const [hit, setHit] = useState<Hit>();
  const [texts, setTexts] = useState<Texts>(textsOf());
  const [isTried, setTried] = useState(false);
  const done = useDone(onClose);
  const kind = subjectKinds.find((each) => each === hit?.kind);
  const read = termsIn(texts);
  const save = useMutation({
    mutationFn: ({ subject, terms }: { readonly subject: Subject; readonly terms: LimitTerms }) =>
      setLimit(subject, terms),
    onSuccess: (limit) => done(`${nameOf(limit)} has a rate limit.`, limit),
  });
  const submit = (): void => {
    setTried(true);
    if (kind === undefined || hit === undefined || !('terms' in read)) return;
    save.mutate({ subject: { subject_kind: kind, subject_id: hit.id }, terms: read.terms });
  };
  return (
    <FormDialog
      title="Set a rate limit"
      act="Save rate limit"
      isPending={save.isPending}
      error={save.error}
      onSubmit={submit}
      checksItself
      onClose={onClose}
    >
      <Pick
        label="Key, person, team or model"
        of="limited"
        search={searchSubjects}
        autoFocus
        chosen={hit}
        onChoose={setHit}
        fault={isTried && hit === undefined ? 'Choose what to limit.' : undefined}
      />
      <TermFields
        texts={texts}
        onTexts={setTexts}
        faultOf={(measure) =>
          (isTried && 'faults' in read ? read.faults[measure] : undefined) ?? faultOf(save.error, measure)
        }
      />
      <p className="note">
        {hit === undefined ? 'A limit' : `The limit of ${hit.title}`} is in force on every replica within 5
        seconds. Requests over it are refused with 429 <code>rate_limited</code>. An existing limit is
        replaced.
      </p>
    </FormDialog>
  );
}

/** A change by version. After a conflict the refusal itself contains the current state. */
function useLimitChange<C, R>(
  limit: Limit,
  change: (draft: C, version: string | undefined) => Promise<R>,
  onDone: (changed: R) => void,
) {
  const found = useRef<unknown>(undefined);
  return useVersionedChange<Limit, C, R>({
    from: limit,
    change: async (draft, ifMatch) => {
      try {
        // A limit that no longer exists has no version to name.
        return await change(draft, ifMatch === '"0"' ? undefined : ifMatch);
      } catch (error) {
        if (error instanceof ApiError) found.current = error.present;
        throw error;
      }
    },
    present: () => Promise.resolve(presentOf(limit, found.current)),
    onDone,
  });
}

/** The current state. If there is none the limit no longer exists, which counts as version 0. */
function presentOf(limit: Limit, told: unknown): Limit {
  const fields = fieldsOf(told);
  return {
    ...limit,
    requests_per_minute: wholeOf(fields['requests_per_minute']) ?? null,
    tokens_per_minute: wholeOf(fields['tokens_per_minute']) ?? null,
    requests_in_flight: wholeOf(fields['requests_in_flight']) ?? null,
    version: wholeOf(fields['version']) ?? 0,
  };
}

const rowsOf = (theirs: LimitTerms, mine: LimitTerms) =>
  measures.map((measure) => ({
    title: measureTitles[measure],
    theirs: textOf(theirs[measure]),
    mine: textOf(mine[measure]),
  }));

const none: LimitTerms = { requests_per_minute: null, tokens_per_minute: null, requests_in_flight: null };
const textOf = (most: number | null): string => (most === null ? 'not limited' : grouped(most));

export function ChangeLimit({ limit, onClose }: { readonly limit: Limit; readonly onClose: () => void }) {
  const [texts, setTexts] = useState<Texts>(textsOf(limit));
  const done = useDone(onClose);
  const read = termsIn(texts);
  const change = useLimitChange<LimitTerms, Limit>(
    limit,
    (terms, version) => setLimit(limit, terms, version),
    (changed) => void done(`The rate limit of ${nameOf(changed)} was changed.`, changed),
  );
  return (
    <ChangeDialog
      title={`Change the rate limit of ${nameOf(limit)}`}
      act="Save rate limit"
      change={change}
      draft={'terms' in read ? read.terms : undefined}
      rows={rowsOf}
      onTheirs={(theirs) => setTexts(textsOf(theirs))}
      onClose={onClose}
    >
      <TermFields
        texts={texts}
        onTexts={setTexts}
        faultOf={(measure) =>
          ('faults' in read ? read.faults[measure] : undefined) ?? faultOf(change.error, measure)
        }
      />
      <p className="note">
        In force on every replica within 5 seconds; what was already counted in this minute stays counted.
        {limit.from_config
          ? ' The configuration file has this limit: a change holds until the file is next applied.'
          : ''}
      </p>
    </ChangeDialog>
  );
}

export function RemoveLimit({ limit, onClose }: { readonly limit: Limit; readonly onClose: () => void }) {
  const done = useDone(onClose);
  const change = useLimitChange<LimitTerms, unknown>(
    limit,
    (_, version) =>
      // Somebody else has already removed it.
      version === undefined ? Promise.resolve(undefined) : removeLimit(limit, version),
    () => void done(`${nameOf(limit)} no longer has a rate limit.`, limit),
  );
  return (
    <ChangeDialog
      title={`Remove the rate limit of ${nameOf(limit)}`}
      act="Remove rate limit"
      tone="danger"
      change={change}
      draft={none}
      rows={rowsOf}
      onTheirs={onClose}
      onClose={onClose}
    >
      <p>
        Within 5 seconds, requests of {nameOf(limit)} are no longer refused for this limit, on any replica.
        {limit.from_config
          ? ' The configuration file has it, and sets it again when the file is next applied.'
          : ''}
      </p>
    </ChangeDialog>
  );
}
