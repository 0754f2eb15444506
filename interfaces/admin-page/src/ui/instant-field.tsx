import { gatewayNow } from '../api/clock.ts';
import { TextField } from './fields.tsx';

const dayMs = 86_400_000;
const spans = [
  ['In 30 days', 30],
  ['In 90 days', 90],
  ['In a year', 365],
] as const;

/** A time in UTC such as `2027-01-31T12:00`, or empty. */
export function InstantField({
  label,
  hint,
  value,
  onChange,
  fault,
}: {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly fault?: string | undefined;
}) {
  const isPast = value !== '' && Date.parse(instantOf(value) ?? '') <= gatewayNow();
  return (
    <div className="stack tight">
      <TextField
        label={`${label} (UTC)`}
        type="datetime-local"
        hint={isPast ? `${hint} It is in the past: it expires at once.` : hint}
        value={value}
        onChange={onChange}
        fault={fault}
      />
      <div className="row" role="group" aria-label={label}>
        {spans.map(([name, days]) => (
          <button
            key={name}
            type="button"
            className="button quiet"
            onClick={() => onChange(fieldOf(new Date(gatewayNow() + days * dayMs).toISOString()))}
          >
            {name}
          </button>
        ))}
        <button type="button" className="button quiet" disabled={value === ''} onClick={() => onChange('')}>
          Never
        </button>
      </div>
    </div>
  );
}

/** An instant of the API as the value of the field, without seconds. */
export const fieldOf = (instant: string | null): string => instant?.slice(0, 16) ?? '';

/** The value of the field in the form of the API; `null` means never. */
export const instantOf = (field: string): string | null =>
  field === '' ? null : `${field}${field.length === 16 ? ':00' : ''}Z`;
