import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { grouped } from '../../ui/amounts.ts';
import { CopyButton } from '../../ui/values.tsx';
import { prettyJson } from './json-text.ts';
import { Marked } from './marked-text.tsx';
import { maxFound, placesOf } from './search-text.ts';

const shownChars = 100_000;

/** Stored JSON as it is, with a line for each member, to search and copy. */
export function RawJson({ text, label }: { readonly text: string; readonly label: string }) {
  const pretty = useMemo(() => prettyJson(text), [text]);
  const [words, setWords] = useState('');
  const [at, setAt] = useState(0);
  const [isWhole, setWhole] = useState(false);
  const places = useMemo(() => placesOf(pretty, words), [pretty, words]);
  const current = places.length === 0 ? undefined : at % places.length;
  const currentPlace = current === undefined ? 0 : (places[current] ?? 0);
  const shown = isWhole ? pretty.length : Math.min(pretty.length, Math.max(shownChars, currentPlace + 2_000));
  const mark = useRef<HTMLElement>(null);
  const id = useId();
  useEffect(() => {
    mark.current?.scrollIntoView({ block: 'nearest' });
  }, [current, words]);
  const step = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || places.length === 0) return;
    event.preventDefault();
    setAt((at + (event.shiftKey ? places.length - 1 : 1)) % places.length);
  };
  return (
    <section className="stack raw" aria-label={label}>
      <div className="row">
        <h3>{label}</h3>
        <span className="spring" />
        <label className="row">
          <span className="muted">Search</span>
          <input
            type="search"
            value={words}
            aria-describedby={id}
            onChange={({ target }) => {
              setWords(target.value);
              setAt(0);
            }}
            onKeyDown={step}
          />
        </label>
        <span id={id} className="muted number" role="status">
          {words === '' ? '' : foundText(current, places.length)}
        </span>
        <CopyButton text={pretty} label={`Copy ${label.toLowerCase()}`} />
      </div>
      <pre tabIndex={0} aria-label={`${label}, JSON`}>
        {words === '' ? (
          <Marked text={pretty.slice(0, shown)} />
        ) : (
          <Highlighted
            text={pretty}
            until={shown}
            places={places}
            chars={words.length}
            current={current}
            mark={mark}
          />
        )}
      </pre>
      {shown < pretty.length ? (
        <button type="button" className="button link" onClick={() => setWhole(true)}>
          Show all {grouped(pretty.length)} characters
        </button>
      ) : null}
    </section>
  );
}

const foundText = (current: number | undefined, count: number): string =>
  current === undefined
    ? 'Not found'
    : `${grouped(current + 1)} of ${count === maxFound ? 'at least ' : ''}${grouped(count)} (Enter: next)`;

function Highlighted({
  text,
  until,
  places,
  chars,
  current,
  mark,
}: {
  readonly text: string;
  /** The text after this is not shown. */
  readonly until: number;
  readonly places: readonly number[];
  readonly chars: number;
  readonly current: number | undefined;
  readonly mark: React.RefObject<HTMLElement | null>;
}) {
  const shown = places.filter((place) => place + chars <= until);
  return (
    <>
      {shown.map((place, index) => (
        <span key={place}>
          {text.slice(index === 0 ? 0 : (shown[index - 1] ?? 0) + chars, place)}
          <mark ref={index === current ? mark : undefined} className={index === current ? 'current' : ''}>
            {text.slice(place, place + chars)}
          </mark>
        </span>
      ))}
      {text.slice(shown.length === 0 ? 0 : (shown.at(-1) ?? 0) + chars, until)}
    </>
  );
}
