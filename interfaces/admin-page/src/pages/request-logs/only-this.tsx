import type { ReactNode } from 'react';
import { useAddress } from '../../app/address.ts';
import { Icon, type IconName } from '../../ui/icons.tsx';
import { type FilterName, turnedRound } from './request-filters.ts';

/**
 * A value of a row, with a button that selects the rows that have it, and one for all others. The tab key skips these
 * buttons, of which a list has hundreds. The details of a row have links that do the same, and a filter's chip inverts
 * it.
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
  const others = turnedRound(name);
  const select = (filter: string) => (): void => set({ [filter]: value, page: undefined });
  return (
    <span className="only-this">
      {children}
      <span className="of-value">
        <Selects title={`Only ${says}`} icon="filter" onClick={select(name)} />
        {others === undefined ? null : (
          <Selects title={`All but ${says}`} icon="without" onClick={select(others)} />
        )}
      </span>
    </span>
  );
}

const Selects = ({
  title,
  icon,
  onClick,
}: {
  readonly title: string;
  readonly icon: IconName;
  readonly onClick: () => void;
}) => (
  <button type="button" tabIndex={-1} title={title} aria-label={title} onClick={onClick}>
    <Icon name={icon} />
  </button>
);
