import { useAddress } from '../../app/address.ts';
import { ApiError } from '../../api/client.ts';
import { FieldError } from '../../ui/fields.tsx';
import { InstantFilter } from '../../ui/instant-filter.tsx';
import { rangeOf, ranges } from './ranges.ts';

/** Keeps the choice at `custom`: without it, clearing both instants would fall back to all times. */
const custom = { range: 'custom' };

/** The time range of the list: one that ends now, or two instants. */
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
          <InstantFilter name="from" label="From (UTC)" step={1} along={custom} />
          <InstantFilter name="to" label="To (UTC, exclusive)" step={1} along={custom} />
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
