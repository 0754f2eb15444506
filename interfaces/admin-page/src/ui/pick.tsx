import { useState } from 'react';
import { type Choice, Combobox } from './combobox.tsx';
import { FieldError } from './fields.tsx';
import { ErrorLine } from './states.tsx';
import { type Search, useSearch } from './use-search.ts';

/** Picks one object out of many by search: a field, and then the chosen object with a way to choose another. */
export function Pick<C extends Choice>({
  label,
  of,
  search,
  chosen,
  onChoose,
  fault,
  autoFocus = false,
}: {
  readonly label: string;
  /** Distinguishes searches for different things. */
  readonly of: string;
  readonly search: Search<C>;
  readonly chosen: C | undefined;
  readonly onChoose: (choice: C | undefined) => void;
  readonly fault?: string | undefined;
  readonly autoFocus?: boolean;
}) {
  const [isAgain, setAgain] = useState(false);
  if (chosen === undefined)
    return (
      <PickField
        label={label}
        of={of}
        search={search}
        onChoose={onChoose}
        fault={fault}
        autoFocus={autoFocus || isAgain}
      />
    );
  const chooseAnother = (): void => {
    setAgain(true);
    onChoose(undefined);
  };
  return (
    <div className="field">
      <span className="field-name">{label}</span>
      <div className="row">
        <span>
          {chosen.title} {chosen.detail === null ? null : <span className="muted">{chosen.detail}</span>}
        </span>
        <button type="button" className="button" onClick={chooseAnother}>
          Choose another
        </button>
      </div>
      <FieldError fault={fault} />
    </div>
  );
}

function PickField<C extends Choice>({
  of,
  search,
  ...field
}: {
  readonly label: string;
  readonly of: string;
  readonly search: Search<C>;
  readonly onChoose: (choice: C) => void;
  readonly fault: string | undefined;
  readonly autoFocus: boolean;
}) {
  const [text, setText] = useState('');
  const found = useSearch(of, text, search);
  const isNothing = text.trim() !== '' && found.error === null && found.groups.length === 0;
  return (
    <div>
      <Combobox
        {...field}
        text={text}
        onText={setText}
        groups={found.groups}
        placeholder="Type a part of the id or name"
      />
      <ErrorLine error={found.error} />
      <p className="muted" role="status">
        {found.isPending ? 'Searching…' : isNothing ? 'Nothing has this id or name.' : ''}
      </p>
    </div>
  );
}
