import { useId } from 'react';
import { FieldError } from './fields.tsx';
import { fieldOfInstant, instantOfField } from './instants.ts';
import { type Spelling, useTypedFilter } from './typed-filter.ts';

const asInstant: Spelling = { shown: fieldOfInstant, meant: instantOfField };

/**
 * An instant in UTC, whatever the browser's time zone. Its parts are typed one after the other, and every digit makes
 * another instant. So it takes effect when typing pauses, and nothing is written into the field meanwhile: that would
 * restart the part, and a typed 12 would become February.
 */
export function InstantFilter({
  name,
  label,
  fault,
  step,
  along,
}: {
  readonly name: string;
  readonly label: string;
  /** The error of this field. */
  readonly fault?: string | undefined;
  /** In seconds: with 1, the field has seconds too. */
  readonly step?: number;
  /** Further changes of the address when it takes effect. Must always be the same object. */
  readonly along?: Readonly<Record<string, string>>;
}) {
  const faultId = useId();
  const [typed, type, leave] = useTypedFilter(name, asInstant, along);
  return (
    <div className="typed-filter">
      <label className="filter">
        <span>{label}</span>
        <input
          type="datetime-local"
          step={step}
          value={typed}
          aria-invalid={fault !== undefined}
          aria-describedby={fault === undefined ? undefined : faultId}
          onChange={({ target }) => type(target.value)}
          onBlur={leave}
        />
      </label>
      <FieldError id={faultId} fault={fault} />
    </div>
  );
}
