import { gatewayNow } from '../api/clock.ts';
import { TextField } from './fields.tsx';

const daySecs = 86_400;
const spans = [
  ['In 7 days', 7],
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
  ofNew,
  maxSecs = null,
}: {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly fault?: string | undefined;
  /** For an object that is being created, whose expiry must be in the future. One that exists may expire at once. */
  readonly ofNew: boolean;
  /** How far ahead it may be; it must then be set (rule 44.22). `null`: there is no limit. */
  readonly maxSecs?: number | null;
}) {
  const isPast = value !== '' && Date.parse(instantOf(value) ?? '') <= gatewayNow();
  const pastNote = ofNew
    ? ' It is in the past: choose a later time.'
    : ' It is in the past: it expires at once.';
  return (
    <div className="stack tight">
      <TextField
        label={`${label} (UTC)`}
        type="datetime-local"
        hint={isPast ? hint + pastNote : hint}
        value={value}
        onChange={onChange}
        fault={fault}
        required={maxSecs !== null}
        min={ofNew ? fieldIn(0) : undefined}
        max={maxSecs === null ? undefined : fieldIn(maxSecs)}
      />
      <div className="row" role="group" aria-label={label}>
        {spans
          .filter(([, days]) => maxSecs === null || days * daySecs <= maxSecs)
          .map(([name, days]) => (
            <button
              key={name}
              type="button"
              className="button quiet"
              onClick={() => onChange(fieldIn(days * daySecs))}
            >
              {name}
            </button>
          ))}
        {maxSecs === null ? (
          <button type="button" className="button quiet" disabled={value === ''} onClick={() => onChange('')}>
            Never
          </button>
        ) : null}
      </div>
    </div>
  );
}

/** An instant of the API as the value of the field, without seconds. */
export const fieldOf = (instant: string | null): string => instant?.slice(0, 16) ?? '';

/** The value of the field for so many seconds from now, by the gateway's clock. */
export const fieldIn = (secs: number): string => fieldOf(new Date(gatewayNow() + secs * 1000).toISOString());

/** The value of the field in the form of the API; `null` means never. */
export const instantOf = (field: string): string | null =>
  field === '' ? null : `${field}${field.length === 16 ? ':00' : ''}Z`;
