import {
  keepPreviousData,
  type QueryKey,
  type UseQueryResult,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { useAddress } from '../app/address.ts';
import { Icon } from './icons.tsx';
import { Empty } from './states.tsx';
import { Table, type TableProps } from './table.tsx';

/** A page of a list, as the API gives it. */
export interface ListPage<R> {
  readonly items: readonly R[];
  readonly page: number;
  readonly page_size: number;
  readonly total: number;
  readonly total_is_lower_bound: boolean;
  /** Of a page beyond the end of rows that nobody counted, the last one that has some. */
  readonly lastPage?: number;
}

/** The page of a list that the address names (`page`); the next one is fetched ahead. */
export function useList<R>(
  key: QueryKey,
  load: (page: number, signal: AbortSignal) => Promise<ListPage<R>>,
  /** Reads the page again every so many milliseconds. */
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
    // The key says what `load` reads.
  }, [client, hasNext, page, JSON.stringify(key)]);
  return query;
}

/** The page; of one beyond the end the last one is looked for, where nobody knows how many there are. */
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

/** Behind as many rows the API gives no page. */
const maxRows = 100_000;
/** Of a page, where nothing else is asked for. */
const usualRows = 50;

/** The page that an address names, at most the last that there can be; what is no number of a page names the first one. */
export const pageOf = (text: string | undefined): number =>
  text !== undefined && /^[1-9]\d*$/.test(text) ? Math.min(Number(text), maxRows / usualRows) : 1;

/** A page of a list as a table, with the way to the other pages. */
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

/** Which page of a longer list this is; undefined where the list has no other. */
export const pageOfMany = (list: ListPage<unknown> | undefined): number | undefined =>
  list === undefined || (list.items.length === list.total && !list.total_is_lower_bound)
    ? undefined
    : list.page;

/** What stands in place of rows: of a list that has some, its page is beyond the last one. */
export const NoRows = ({
  list,
  empty,
}: {
  readonly list: ListPage<unknown> | undefined;
  /** Where the list has none. */
  readonly empty: ReactNode;
}) =>
  list === undefined || list.total === 0 ? (
    empty
  ) : (
    <Empty title="The list ends before this page">
      <p>It has become shorter, or never had so many pages. Previous leads to its last page.</p>
    </Empty>
  );

/** “1–50 of 1,204”, and the way to the pages before and behind. */
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
        {isBeyond ? 'Nothing here' : `${from.toLocaleString('en')}–${to.toLocaleString('en')}`} of{' '}
        {list.total_is_lower_bound ? 'more than ' : ''}
        {total.toLocaleString('en')}
      </span>
      <button type="button" className="button" disabled={isLast} onClick={() => go(page + 1)}>
        Next <Icon name="next" />
      </button>
    </nav>
  );
}
