import { useEffect, useState } from 'react';
import { useAddress } from '../app/address.ts';
import { Icon } from './icons.tsx';

/** A filter that is typed: it takes effect when typing pauses. */
export function TextFilter({
  name,
  label,
  width,
  fault,
}: {
  readonly name: string;
  readonly label: string;
  readonly width?: 'wide';
  /** What is wrong with it. */
  readonly fault?: string | undefined;
}) {
  const { filters, set } = useAddress();
  const inForce = filters[name] ?? '';
  const [text, setText] = useState(inForce);
  useEffect(() => setText(inForce), [inForce]);
  useEffect(() => {
    if (text === inForce) return undefined;
    const timer = setTimeout(
      () => set({ [name]: text === '' ? undefined : text, page: undefined }, 'replace'),
      300,
    );
    return () => clearTimeout(timer);
  }, [text, inForce, name, set]);
  return (
    <label className="filter">
      <span>{label}</span>
      <input
        type="search"
        className={width}
        value={text}
        onChange={({ target }) => setText(target.value)}
        autoComplete="off"
        aria-invalid={fault !== undefined}
      />
      {fault === undefined ? null : (
        <span className="error-text" role="alert">
          {fault}
        </span>
      )}
    </label>
  );
}

/** A filter with a few values; the first one is no filter. */
export function ChoiceFilter({
  name,
  label,
  options,
  all = 'All',
}: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  /** What no filter is called. */
  readonly all?: string;
}) {
  const { filters, set } = useAddress();
  return (
    <label className="filter">
      <span>{label}</span>
      <select
        value={filters[name] ?? ''}
        onChange={({ target }) =>
          set({ [name]: target.value === '' ? undefined : target.value, page: undefined })
        }
      >
        <option value="">{all}</option>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The filters in force, each with its way out. */
export function FilterChips({ names }: { readonly names: Readonly<Record<string, string>> }) {
  const { filters, set } = useAddress();
  const active = Object.entries(filters).filter(([name]) => name in names);
  if (active.length === 0) return null;
  return (
    <ul className="chips" aria-label="Filters in force">
      {active.map(([name, value]) => (
        <li key={name}>
          <button
            type="button"
            className="chip"
            aria-label={`Remove the filter ${names[name]}: ${value}`}
            onClick={() => set({ [name]: undefined, page: undefined })}
          >
            {names[name]}: {value} <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
