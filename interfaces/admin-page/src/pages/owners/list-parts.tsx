import type { UseQueryResult } from '@tanstack/react-query';
import type { ListPage } from '../../ui/list.tsx';
import { Empty } from '../../ui/states.tsx';
import { Copyable, Count } from '../../ui/values.tsx';

/** “31 teams”. */
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
      {isStale ? '; reading again…' : ''}
    </>
  );

export const NoOwners = ({
  isFiltered,
  many,
  line,
}: {
  readonly isFiltered: boolean;
  readonly many: string;
  /** What would make the first one, in a shell or in the configuration file. */
  readonly line: string;
}) =>
  isFiltered ? (
    <Empty title={`No ${many} are like that`}>
      <p>Take a filter away to see more.</p>
    </Empty>
  ) : (
    <Empty title={`There are no ${many} yet`}>
      <p>Create the first one with the button above, or so:</p>
      <Copyable block label="What creates it" text={line} />
    </Empty>
  );
