import { useAddress } from '../../app/address.ts';
import { faultOf } from '../../ui/fields.tsx';
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
          <InstantFilter
            name="from"
            label="From (UTC)"
            fault={faultOf(error, 'from')}
            step={1}
            along={custom}
          />
          <InstantFilter
            name="to"
            label="To (UTC, exclusive)"
            fault={faultOf(error, 'to')}
            step={1}
            along={custom}
          />
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
