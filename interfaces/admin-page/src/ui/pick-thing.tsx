import { useState } from 'react';
import { type Hit, type HitKind, useHits } from '../api/search.ts';
import { Combobox } from './combobox.tsx';
import { ErrorLine } from './states.tsx';

/** A thing that is chosen by search: a field, and then what was chosen with the way back. */
export function PickThing({
  label,
  kinds,
  chosen,
  onChoose,
  fault,
}: {
  readonly label: string;
  readonly kinds: readonly HitKind[];
  readonly chosen: Hit | undefined;
  readonly onChoose: (hit: Hit | undefined) => void;
  readonly fault?: string | undefined;
}) {
  const [text, setText] = useState('');
  const hits = useHits(text, kinds);
  if (chosen !== undefined)
    return (
      <div className="field">
        <span className="field-name">{label}</span>
        <div className="row">
          <span>
            {chosen.title} {chosen.detail === null ? null : <span className="muted">{chosen.detail}</span>}
          </span>
          <button type="button" className="button" onClick={() => onChoose(undefined)}>
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
  const isNothing = text.trim() !== '' && !hits.isPending && hits.groups.length === 0;
  return (
    <div>
      <Combobox
        label={label}
        text={text}
        onText={setText}
        groups={hits.groups}
        onChoose={onChoose}
        fault={fault}
        placeholder="Type a part of the id or name"
        autoFocus
      />
      <ErrorLine error={hits.error} />
      <p className="muted" role="status">
        {hits.isPending
          ? 'Searching…'
          : isNothing && hits.error === null
            ? 'Nothing has this id or name.'
            : ''}
      </p>
    </div>
  );
}
