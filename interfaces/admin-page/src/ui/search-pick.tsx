import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import type { OwnerChoice } from '../api/owners.ts';
import { TextField } from './fields.tsx';
import { ErrorLine, Waiting } from './states.tsx';

/** One thing out of many, found by typing a part of its name; what is found are buttons. */
export function SearchPick({
  label,
  of,
  search,
  chosen,
  onChoose,
  fault,
  autoFocus = false,
}: {
  readonly label: string;
  /** Tells searches of different things apart. */
  readonly of: string;
  readonly search: (text: string, signal: AbortSignal) => Promise<readonly OwnerChoice[]>;
  readonly chosen: OwnerChoice | undefined;
  readonly onChoose: (choice: OwnerChoice | undefined) => void;
  readonly fault?: string | undefined;
  readonly autoFocus?: boolean;
}) {
  const [text, setText] = useState('');
  const asked = useDeferredValue(text.trim());
  const found = useQuery({
    queryKey: ['search-pick', of, asked],
    queryFn: ({ signal }) => search(asked, signal),
    enabled: chosen === undefined,
    // What was found stays until more is: a list that went away at each letter would take the focus along.
    placeholderData: keepPreviousData,
  });
  if (chosen !== undefined)
    return (
      <div className="field">
        <span className="label">{label}</span>
        <div className="row">
          <span>
            {chosen.label} <span className="muted">{chosen.detail}</span>
          </span>
          <button type="button" className="button quiet" onClick={() => onChoose(undefined)}>
            Choose another
          </button>
        </div>
        {fault === undefined ? null : (
          <span className="error-text" role="alert">
            {fault}
          </span>
        )}
      </div>
    );
  return (
    <fieldset className="pick">
      <legend>{label}</legend>
      <TextField
        label={`Search: ${label.toLowerCase()}`}
        type="search"
        value={text}
        onChange={setText}
        fault={fault}
        autoFocus={autoFocus}
      />
      <ErrorLine error={found.error} />
      {found.data === undefined ? <Waiting for={label.toLowerCase()} /> : null}
      {found.data?.length === 0 ? <p className="muted">Nothing active has this in its name.</p> : null}
      <ul className="pick-list">
        {found.data?.map((choice) => (
          <li key={choice.value}>
            <button type="button" className="menu-item" onClick={() => onChoose(choice)}>
              <span>{choice.label}</span> <span className="muted">{choice.detail}</span>
            </button>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}
