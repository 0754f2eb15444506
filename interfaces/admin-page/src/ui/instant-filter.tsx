import { useEffect, useId, useRef, useState } from 'react';
import { useAddress } from '../app/address.ts';
import { FieldError } from './fields.tsx';
import { fieldOfInstant, instantOfField } from './instants.ts';

/** As for a filter that is typed: so long a pause, and what stands there is meant. */
const pauseMs = 300;

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
  along = {},
}: {
  readonly name: string;
  readonly label: string;
  /** What is wrong with it. */
  readonly fault?: string | undefined;
  /** In seconds: 1 asks for seconds, too. */
  readonly step?: number;
  /** What else the address says once an instant is in it. */
  readonly along?: Readonly<Record<string, string>>;
}) {
  const { filters, set } = useAddress();
  const faultId = useId();
  const inForce = fieldOfInstant(filters[name]);
  const [typed, setTyped] = useState(inForce);
  /** What this field has set itself comes back over the address, perhaps while somebody types on. */
  const known = useRef(inForce);
  useEffect(() => {
    if (inForce === known.current) return;
    known.current = inForce;
    setTyped(inForce);
  }, [inForce]);
  useEffect(() => {
    const instant = instantOfField(typed);
    if (typed === known.current || (instant === undefined && typed !== '')) return undefined;
    const timer = setTimeout(() => {
      known.current = typed;
      set({ [name]: instant, page: undefined, ...along }, 'replace');
    }, pauseMs);
    return () => clearTimeout(timer);
    // `along` is the same for as long as the field is there.
  }, [typed, name, set]);
  return (
    <div>
      <label className="filter">
        <span>{label}</span>
        <input
          type="datetime-local"
          className="instant"
          step={step}
          value={typed}
          aria-invalid={fault !== undefined}
          aria-describedby={fault === undefined ? undefined : faultId}
          onChange={({ target }) => setTyped(target.value)}
        />
      </label>
      <FieldError id={faultId} fault={fault} />
    </div>
  );
}
