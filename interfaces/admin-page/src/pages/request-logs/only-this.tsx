import type { ReactNode } from 'react';
import { useAddress } from '../../app/address.ts';
import { Icon } from '../../ui/icons.tsx';
import type { FilterName } from './request-filters.ts';

/**
 * A value of a row, and a button that selects the rows which have it. The button is no stop of the tab key, which would
 * make hundreds of a list; the detail of a row has links that do the same.
 */
export function OnlyThis({
  name,
  value,
  says,
  children,
}: {
  readonly name: FilterName;
  readonly value: string | null;
  /** What it selects, such as `model fast`. */
  readonly says: string;
  readonly children: ReactNode;
}) {
  const { filters, set } = useAddress();
  if (value === null || filters[name] === value) return children;
  return (
    <span className="only-this">
      {children}
      <button
        type="button"
        tabIndex={-1}
        title={`Only ${says}`}
        aria-label={`Only ${says}`}
        onClick={() => set({ [name]: value, page: undefined })}
      >
        <Icon name="filter" />
      </button>
    </span>
  );
}
