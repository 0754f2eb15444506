import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { readModelIds } from '../../api/owners.ts';
import { type Hit, searchThings } from '../../api/search.ts';
import { grouped } from '../../ui/amounts.ts';
import type { ChoiceGroup } from '../../ui/combobox.tsx';
import { FieldError, TextField } from '../../ui/fields.tsx';
import { ErrorLine } from '../../ui/states.tsx';
import { useSearch } from '../../ui/use-search.ts';

/** The enabled models. */
export const useModelIds = () =>
  useQuery({ queryKey: ['model-ids'], queryFn: ({ signal }) => readModelIds(signal), staleTime: 60_000 });

const searchModels = searchThings(['model']);
const idsIn = ({ choices }: ChoiceGroup<Hit>): readonly string[] => choices.map(({ id }) => id);

/** How many models are shown at once. */
const maxShown = 200;

function sayOf(isSearching: boolean, matching: number, areAll: boolean): string {
  if (matching === 0) return isSearching ? 'Searching…' : 'No model id contains this.';
  if (matching <= maxShown && areAll) return '';
  return matching <= maxShown
    ? 'There may be more: type more of the id.'
    : `The first ${maxShown} of ${areAll ? '' : 'more than '}${grouped(matching)}: type a part of the id.`;
}

/** The models that a key may use: all of them, including future ones, or a selection. */
export function ModelsField({
  allowed,
  onChange,
  fault,
}: {
  /** Empty: all. `undefined`: a selection from which nothing is chosen yet. */
  readonly allowed: readonly string[] | undefined;
  readonly onChange: (allowed: readonly string[] | undefined) => void;
  readonly fault?: string | undefined;
}) {
  const [part, setPart] = useState('');
  const models = useModelIds();
  const areAll = models.data?.areAll ?? true;
  const found = useSearch('models', areAll ? '' : part, searchModels);
  const isSome = allowed === undefined || allowed.length > 0;
  // An allowed id that is no longer a model stays visible, so that it can be removed.
  const ids = [
    ...new Set([...(models.data?.ids ?? []), ...found.groups.flatMap(idsIn), ...(allowed ?? [])]),
  ].toSorted();
  const matching = ids.filter((id) => id.toLowerCase().includes(part.trim().toLowerCase()));
  const shown = matching.slice(0, maxShown);
  const toggle = (id: string): void => {
    const next = new Set(allowed);
    if (!next.delete(id)) next.add(id);
    onChange(next.size === 0 ? undefined : [...next].toSorted());
  };
  return (
    <fieldset className="pick">
      <legend>Models</legend>
      <label className="row">
        <input type="radio" checked={!isSome} onChange={() => onChange([])} />
        All models, including future ones
      </label>
      <label className="row">
        <input
          type="radio"
          checked={isSome}
          onChange={() => {
            if (!isSome) onChange(undefined);
          }}
        />
        Only these{allowed === undefined || allowed.length === 0 ? '' : `: ${grouped(allowed.length)} chosen`}
      </label>
      <ErrorLine error={models.error ?? found.error} />
      <FieldError fault={fault} />
      {isSome ? (
        <>
          {ids.length > 8 ? (
            <TextField label="Find a model" type="search" value={part} onChange={setPart} />
          ) : null}
          <div className="pick-scroll" role="group" aria-label="Models to choose from" tabIndex={0}>
            {shown.map((id) => (
              <label key={id} className="pick-item">
                <input type="checkbox" checked={allowed?.includes(id) === true} onChange={() => toggle(id)} />
                <span>{id}</span>
              </label>
            ))}
          </div>
          <p className="muted" role="status">
            {sayOf(found.isPending, matching.length, areAll)}
          </p>
        </>
      ) : null}
    </fieldset>
  );
}
