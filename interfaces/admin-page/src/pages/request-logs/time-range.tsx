import { useState } from 'react';
import { useAddress } from '../../app/address.ts';
import { ApiError } from '../../api/client.ts';
import { FieldError } from '../../ui/fields.tsx';
import { fieldOfInstant, instantOfField, rangeOf, ranges } from './ranges.ts';

/** From when the list begins: a range that goes with the clock, or two instants. */
export function TimeFilter({ error }: { readonly error: Error | null }) {
  const { filters, set } = useAddress();
  const choice = rangeOf(filters);
  const choose = (range: string | undefined): void =>
    set({ range, from: undefined, to: undefined, page: undefined });
  const fault =
    error instanceof ApiError && (error.param === 'from' || error.param === 'to') ? error.message : undefined;
  return (
    <>
      <div className="segments" role="group" aria-label="Time">
        <Choice is={choice === 'all'} says="All" onChoose={() => choose(undefined)} />
        {ranges.map(({ key, label }) => (
          <Choice key={key} is={choice === key} says={label} onChoose={() => choose(key)} />
        ))}
        <Choice is={choice === 'custom'} says="Custom" onChoose={() => choose('custom')} />
      </div>
      {choice === 'custom' ? (
        <>
          <InstantFilter name="from" label="From (UTC)" />
          <InstantFilter name="to" label="To (UTC), not in it" />
          <FieldError fault={fault} />
        </>
      ) : null}
    </>
  );
}

const Choice = ({
  is,
  says,
  onChoose,
}: {
  readonly is: boolean;
  readonly says: string;
  readonly onChoose: () => void;
}) => (
  <button type="button" aria-pressed={is} onClick={onChoose}>
    {says}
  </button>
);

function InstantFilter({ name, label }: { readonly name: 'from' | 'to'; readonly label: string }) {
  const { filters, set } = useAddress();
  const inForce = fieldOfInstant(filters[name]);
  const [typed, setTyped] = useState<string | undefined>();
  return (
    <label className="filter">
      <span>{label}</span>
      <input
        type="datetime-local"
        step={1}
        value={typed ?? inForce}
        onChange={({ target }) => {
          const instant = instantOfField(target.value);
          setTyped(instant === undefined && target.value !== '' ? target.value : undefined);
          // Without a range of its own the address would fall back to all times.
          if (instant !== undefined || target.value === '')
            set({ [name]: instant, range: 'custom', page: undefined }, 'replace');
        }}
      />
    </label>
  );
}
