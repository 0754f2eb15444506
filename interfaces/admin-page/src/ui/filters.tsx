import { type ReactNode, useId, useState } from 'react';
import { useAddress } from '../app/address.ts';
import { FieldError, faultOf, isFaultOf } from './fields.tsx';
import { Icon } from './icons.tsx';
import { type Spelling, useTypedFilter } from './typed-filter.ts';

/** Nothing that is filtered has blanks around it, but what is pasted may. */
const asText: Spelling = { shown: (value = '') => value, meant: (typed) => typed.trim() };

/** A text filter. It takes effect when typing pauses. */
export function TextFilter({
  name,
  label,
  isWide = false,
  error = null,
  known = [],
}: {
  readonly name: string;
  readonly label: string;
  readonly isWide?: boolean;
  /** The error of the list. A fault of this filter is shown below it. */
  readonly error?: Error | null;
  /** Values to choose from; others may be typed. */
  readonly known?: readonly string[];
}) {
  const id = useId();
  const fault = faultOf(error, name);
  const [typed, type, leave] = useTypedFilter(name, asText);
  return (
    <div className="typed-filter">
      <label className="filter">
        <span>{label}</span>
        <input
          type="search"
          className={isWide ? 'wide' : undefined}
          value={typed}
          onChange={({ target }) => type(target.value)}
          onBlur={leave}
          autoComplete="off"
          list={known.length === 0 ? undefined : `${id}-known`}
          aria-invalid={fault !== undefined}
          aria-describedby={fault === undefined ? undefined : `${id}-fault`}
        />
      </label>
      {known.length === 0 ? null : (
        <datalist id={`${id}-known`}>
          {known.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
      <FieldError id={`${id}-fault`} fault={fault} />
    </div>
  );
}

/**
 * A filter with a few values, the first of which means no filter. An unknown value in the address is shown as it is.
 */
export function ChoiceFilter({
  name,
  label,
  options,
  all = 'All',
}: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  /** The label for no filter. */
  readonly all?: string;
}) {
  const { filters, set } = useAddress();
  const chosen = filters[name] ?? '';
  const isKnown = chosen === '' || options.some(([value]) => value === chosen);
  return (
    <label className="filter">
      <span>{label}</span>
      <select
        value={chosen}
        onChange={({ target }) =>
          set({ [name]: target.value === '' ? undefined : target.value, page: undefined })
        }
      >
        <option value="">{all}</option>
        {isKnown ? null : <option value={chosen}>{chosen}</option>}
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Filters that are shown on demand, and as soon as one of them has a fault (rule 52.23). */
export function MoreFilters({
  names,
  error,
  children,
}: {
  readonly names: readonly string[];
  /** The error of the list. */
  readonly error: Error | null;
  readonly children: ReactNode;
}) {
  const { filters } = useAddress();
  const [isOpen, setOpen] = useState(false);
  const used = names.filter((name) => filters[name] !== undefined).length;
  return (
    <details
      className="more-filters"
      open={isOpen || isFaultOf(error, names)}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary className="button quiet">More filters{used === 0 ? '' : ` (${used})`}</summary>
      <div className="filters">{children}</div>
    </details>
  );
}

/** The active filters, each with a button that removes it. */
export function FilterChips({
  names,
  says = (_, value) => value,
  turnedRound = () => undefined,
}: {
  readonly names: Readonly<Record<string, string>>;
  /** How a value is shown: an id by its name. */
  readonly says?: (name: string, value: string) => string;
  /** The filter that selects everything that this one does not; `undefined` when there is none. */
  readonly turnedRound?: (name: string) => string | undefined;
}) {
  const { filters, set } = useAddress();
  const active = Object.entries(filters).filter(([name]) => Object.hasOwn(names, name));
  if (active.length === 0) return null;
  return (
    <ul className="chips" aria-label="Active filters">
      {active.map(([name, value]) => (
        <li key={name}>
          <button
            type="button"
            className="chip"
            aria-label={`Remove the filter ${names[name]}: ${says(name, value)}`}
            onClick={() => set({ [name]: undefined, page: undefined })}
          >
            {names[name]}: {says(name, value)} <Icon name="close" />
          </button>
          <Turn
            from={name}
            to={turnedRound(name)}
            value={value}
            says={`${names[name]}: ${says(name, value)}`}
          />
        </li>
      ))}
    </ul>
  );
}

function Turn({
  from,
  to,
  value,
  says,
}: {
  readonly from: string;
  readonly to: string | undefined;
  readonly value: string;
  readonly says: string;
}) {
  const { set } = useAddress();
  if (to === undefined) return null;
  const title = `Invert ${says}`;
  return (
    <button
      type="button"
      className="chip"
      title={title}
      aria-label={title}
      onClick={() => set({ [from]: undefined, [to]: value, page: undefined })}
    >
      <Icon name="turn" />
    </button>
  );
}
