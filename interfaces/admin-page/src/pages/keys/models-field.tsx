import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { readModelIds } from '../../api/owners.ts';
import { FieldError, TextField } from '../../ui/fields.tsx';
import { ErrorLine } from '../../ui/states.tsx';

/** The enabled models. */
export const useModelIds = () =>
  useQuery({ queryKey: ['model-ids'], queryFn: ({ signal }) => readModelIds(signal), staleTime: 60_000 });

/** Which models a key may use: all of them, also those to come, or some that are chosen. */
export function ModelsField({
  allowed,
  onChange,
  fault,
}: {
  /** Empty: all. `undefined`: some, but none is chosen yet. */
  readonly allowed: readonly string[] | undefined;
  readonly onChange: (allowed: readonly string[] | undefined) => void;
  readonly fault?: string | undefined;
}) {
  const [part, setPart] = useState('');
  const models = useModelIds();
  const isSome = allowed === undefined || allowed.length > 0;
  // What is allowed and no model any more stays to be seen, and can be taken away.
  const ids = [...new Set([...(models.data ?? []), ...(allowed ?? [])])].toSorted();
  const shown = ids.filter((id) => id.toLowerCase().includes(part.trim().toLowerCase()));
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
        All models, also those to come
      </label>
      <label className="row">
        <input
          type="radio"
          checked={isSome}
          onChange={() => {
            if (!isSome) onChange(undefined);
          }}
        />
        Only these{allowed === undefined || allowed.length === 0 ? '' : `: ${allowed.length} chosen`}
      </label>
      <ErrorLine error={models.error} />
      <FieldError fault={fault} />
      {isSome ? (
        <>
          {ids.length > 8 ? (
            <TextField label="Find a model" type="search" value={part} onChange={setPart} />
          ) : null}
          <div className="pick-scroll" role="group" aria-label="Models to choose" tabIndex={0}>
            {shown.map((id) => (
              <label key={id} className="pick-item">
                <input type="checkbox" checked={allowed?.includes(id) === true} onChange={() => toggle(id)} />
                <span>{id}</span>
              </label>
            ))}
          </div>
        </>
      ) : null}
    </fieldset>
  );
}
