import type { UseQueryResult } from '@tanstack/react-query';
import type { ListPage } from '../../ui/list.tsx';
import { Empty } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { Copyable, Count, FromConfig, Time } from '../../ui/values.tsx';
import { ActiveBadge, stateText } from './parts.tsx';

/** The name, and whether the configuration file owns the object. */
export const nameColumn: Column<{ readonly name: string; readonly from_config: boolean }> = {
  key: 'name',
  title: 'Name',
  cell: ({ name, from_config: isFromConfig }) => (
    <>
      {name} <FromConfig is={isFromConfig} />
    </>
  ),
  text: ({ name }) => name,
};

export const stateColumn: Column<{ readonly active: boolean }> = {
  key: 'active',
  title: 'State',
  cell: ({ active }) => <ActiveBadge is={active} />,
  text: ({ active }) => stateText(active),
};

export const createdColumn: Column<{ readonly created_at: string }> = {
  key: 'created',
  title: 'Created',
  cell: ({ created_at: at }) => <Time at={at} dateOnly />,
  text: ({ created_at: at }) => at,
};

/** “31 teams”, which may begin a sentence. */
export const Total = ({
  of: { data: list, isPlaceholderData: isStale },
  one,
  many,
}: {
  readonly of: Pick<UseQueryResult<ListPage<unknown>>, 'data' | 'isPlaceholderData'>;
  readonly one: string;
  readonly many: string;
}) =>
  list === undefined ? null : (
    <>
      {list.total_is_lower_bound ? 'More than ' : ''}
      <Count of={list.total} /> {list.total === 1 ? one : many}
      {isStale ? ' (refreshing…)' : ''}
    </>
  );

export const NoOwners = ({
  isFiltered,
  many,
  line,
}: {
  readonly isFiltered: boolean;
  readonly many: string;
  /** A shell command or configuration that would create the first one. */
  readonly line: string;
}) =>
  isFiltered ? (
    <Empty title={`No ${many} match`}>
      <p>Remove a filter to see more.</p>
    </Empty>
  ) : (
    <Empty title={`There are no ${many} yet`}>
      <p>Create the first one with the button above, or like this:</p>
      <Copyable block label="What creates it" text={line} />
    </Empty>
  );
