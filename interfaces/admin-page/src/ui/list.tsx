import {
  keepPreviousData,
  type QueryKey,
  type UseQueryResult,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef } from 'react';
import { grouped } from './amounts.ts';
import { useAddress } from '../app/address.ts';
import { Icon } from './icons.tsx';
import { Empty, Failed, Waiting } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

/** A page of a list, as the API returns it. */
export interface ListPage<R> {
  readonly items: readonly R[];
  readonly page: number;
  readonly page_size: number;
  readonly total: number;
  readonly total_is_lower_bound: boolean;
  /** Set for a page beyond the end of a list whose rows were not counted: the last page that has rows. */
  readonly lastPage?: number;
}

/** The page of a list that the address names (`page`). The next one is prefetched. */
export function useList<R>(
  key: QueryKey,
  load: (page: number, signal: AbortSignal) => Promise<ListPage<R>>,
  /** Reloads the page at this interval, in milliseconds. */
  { refetchInterval = false }: { readonly refetchInterval?: number | false } = {},
) {
  const { filters } = useAddress();
  const page = pageOf(filters['page']);
  const client = useQueryClient();
  const query = useQuery({
    queryKey: [...key, page],
    queryFn: ({ signal }) => withLastPage((at) => load(at, signal), page),
    placeholderData: keepPreviousData,
    refetchInterval,
  });
  const hasNext = query.data !== undefined && query.data.page * query.data.page_size < query.data.total;
  useEffect(() => {
    if (hasNext)
      void client.prefetchQuery({
        queryKey: [...key, page + 1],
        queryFn: ({ signal }) => load(page + 1, signal),
      });
    // `load` is no dependency, because the key says what it reads.
  }, [client, hasNext, page, JSON.stringify(key)]);
  return query;
}

/** Loads the page. If it is beyond the end of a list whose rows were not counted, finds the last page. */
async function withLastPage<R>(
  load: (page: number) => Promise<ListPage<R>>,
  page: number,
): Promise<ListPage<R>> {
  const found = await load(page);
  if (found.items.length > 0 || !found.total_is_lower_bound) return found;
  let [last, beyond] = [Math.ceil(found.total / found.page_size), page];
  while (beyond - last > 1) {
    const middle = Math.floor((last + beyond) / 2);
    if ((await load(middle)).items.length > 0) last = middle;
    else beyond = middle;
  }
  return { ...found, lastPage: last };
}

/**
 * The row that is open. Once it was seen it stays, although newer rows may have moved it to another page since. One that
 * the page of the list does not have is loaded by its id, so that a link to it lasts (rule 52.11).
 */
export function useOpened<R>(
  list: UseQueryResult<ListPage<R>>,
  open: string | undefined,
  idOf: (row: R) => string,
  key: string,
  load: (id: string, signal: AbortSignal) => Promise<ListPage<R>>,
) {
  const seen = useRef<R>(undefined);
  seen.current = [...(list.data?.items ?? []), ...(seen.current === undefined ? [] : [seen.current])].find(
    (row) => idOf(row) === open,
  );
  const isElsewhere = open !== undefined && seen.current === undefined && list.isSuccess;
  const alone = useQuery({
    queryKey: [key, 'one', open],
    queryFn: ({ signal }) => load(open ?? '', signal),
    enabled: isElsewhere,
  });
  return {
    row: seen.current ?? alone.data?.items[0],
    error: list.error ?? alone.error,
    isPending: list.isPending || alone.isLoading,
    again: () => void (list.error === null ? alone : list).refetch(),
  };
}

/** What a drawer shows of the row that is open, in any state of loading. */
export function Opened<R>({
  opened: { row, error, isPending, again },
  what,
  children,
}: {
  readonly opened: ReturnType<typeof useOpened<R>>;
  /** What a row is, such as `alert`. */
  readonly what: string;
  readonly children: (row: R) => ReactNode;
}) {
  if (row !== undefined) return children(row);
  if (error !== null) return <Failed error={error} again={again} />;
  return isPending ? <Waiting for={`the ${what}`} /> : <p>{`There is no ${what} with this id.`}</p>;
}

/** The API has no pages beyond this many rows. */
const maxRows = 100_000;
/** The default size of a page. */
const usualRows = 50;

/**
 * The page that an address names, at most the last possible one. Anything that is not a page number names the first.
 */
export const pageOf = (text: string | undefined): number =>
  text !== undefined && /^[1-9]\d*$/.test(text) ? Math.min(Number(text), maxRows / usualRows) : 1;

/** A page of a list as a table, with a pager. */
export function ListTable<R>({
  list,
  empty,
  ...table
}: Omit<TableProps<R>, 'rows' | 'error' | 'again' | 'csvPage'> & {
  readonly list: UseQueryResult<ListPage<R>>;
}) {
  return (
    <>
      <Table
        {...table}
        rows={list.data?.items}
        csvPage={pageOfMany(list.data)}
        isStale={list.isPlaceholderData}
        error={list.error}
        again={() => void list.refetch()}
        empty={<NoRows list={list.data} empty={empty} />}
      />
      <Pager list={list.data} />
    </>
  );
}

/** The number of this page if the list has others; `undefined` otherwise. */
export const pageOfMany = (list: ListPage<unknown> | undefined): number | undefined =>
  list === undefined || (list.items.length === list.total && !list.total_is_lower_bound)
    ? undefined
    : list.page;

/** Shown instead of rows. If the list is not empty, its page is beyond the last one. */
export const NoRows = ({
  list,
  empty,
}: {
  readonly list: ListPage<unknown> | undefined;
  /** Shown when the list is empty. */
  readonly empty: ReactNode;
}) =>
  list === undefined || list.total === 0 ? (
    empty
  ) : (
    <Empty title="This page is past the end of the list">
      <p>The list got shorter, or never had this many pages. Previous goes to its last page.</p>
    </Empty>
  );

/** “1–50 of 1,204”, with buttons for the previous and the next page. */
export function Pager({ list }: { readonly list: ListPage<unknown> | undefined }) {
  const { set } = useAddress();
  if (list === undefined || list.total === 0) return null;
  const { page, page_size: size, total, lastPage = Math.ceil(total / size) } = list;
  const from = (page - 1) * size + 1;
  const to = from + list.items.length - 1;
  const isBeyond = list.items.length === 0;
  const previous = isBeyond ? Math.min(page - 1, lastPage) : page - 1;
  const isLast =
    (page * size >= total && !list.total_is_lower_bound) ||
    list.items.length < size ||
    (page + 1) * size > maxRows;
  const go = (next: number): void => set({ page: next === 1 ? undefined : String(next) });
  return (
    <nav className="pager" aria-label="Pages of the list">
      <button type="button" className="button" disabled={page <= 1} onClick={() => go(previous)}>
        <Icon name="previous" /> Previous
      </button>
      <span className="number">
        {isBeyond ? 'Nothing here' : `${grouped(from)}–${grouped(to)}`} of{' '}
        {list.total_is_lower_bound ? 'more than ' : ''}
        {grouped(total)}
      </span>
      <button type="button" className="button" disabled={isLast} onClick={() => go(page + 1)}>
        Next <Icon name="next" />
      </button>
    </nav>
  );
}
