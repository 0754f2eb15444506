import { useId } from 'react';
import { FieldError } from './fields.tsx';
import { fieldOfInstant, instantOfField } from './instants.ts';
import { type Spelling, useTypedFilter } from './typed-filter.ts';

const asInstant: Spelling = { shown: fieldOfInstant, meant: instantOfField };

/**
 * An instant in UTC, whatever the browser's own time is. Its parts are typed one after the other, each digit of them
 * being another instant: so it takes effect when typing pauses, and nothing is written into the field meanwhile, which
 * would begin the part anew and make February of a typed 12.
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
  /** What is wrong with it. */
  readonly fault?: string | undefined;
  /** In seconds: 1 asks for seconds, too. */
  readonly step?: number;
  /** What else the address says once it has taken effect; always the same object. */
  readonly along?: Readonly<Record<string, string>>;
}) {
  const faultId = useId();
  const [typed, type] = useTypedFilter(name, asInstant, along);
  return (
    <div>
      <label className="filter">
        <span>{label}</span>
        <input
          type="datetime-local"
          step={step}
          value={typed}
          aria-invalid={fault !== undefined}
          aria-describedby={fault === undefined ? undefined : faultId}
          onChange={({ target }) => type(target.value)}
        />
      </label>
      <FieldError id={faultId} fault={fault} />
    </div>
  );
}
