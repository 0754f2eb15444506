import { useId } from 'react';
import { useAddress } from '../app/address.ts';
import { FieldError } from './fields.tsx';

/** An instant to the minute, in UTC, whatever the browser's own time is. */
export function InstantFilter({
  name,
  label,
  fault,
}: {
  readonly name: string;
  readonly label: string;
  /** What is wrong with it. */
  readonly fault?: string | undefined;
}) {
  const { filters, set } = useAddress();
  const faultId = useId();
  return (
    <div>
      <label className="filter">
        <span>{label} (UTC)</span>
        <input
          type="datetime-local"
          className="instant"
          value={minuteOf(filters[name])}
          aria-invalid={fault !== undefined}
          aria-describedby={fault === undefined ? undefined : faultId}
          onChange={({ target }) =>
            set({
              [name]: target.value === '' ? undefined : `${target.value.slice(0, 16)}:00Z`,
              page: undefined,
            })
          }
        />
      </label>
      <FieldError id={faultId} fault={fault} />
    </div>
  );
}

function minuteOf(text: string | undefined): string {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? '' : new Date(at).toISOString().slice(0, 16);
}
