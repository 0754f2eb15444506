import type { Page } from '../../../application/ports/page.ts';
import type { QueryPage as AskedPage } from './query.ts';

/** A page as {@link pageOf} types it. */
export const presentPage = <A, B>(
  { page, pageSize }: AskedPage,
  { items, total, totalIsLowerBound }: Page<A>,
  present: (item: A) => B,
) => ({
  items: items.map(present),
  page,
  page_size: pageSize,
  total,
  total_is_lower_bound: totalIsLowerBound,
});
