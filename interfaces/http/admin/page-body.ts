import type { Page } from '../../../application/ports/page.ts';
import type { AdminData } from './json-text.ts';
import type { QueryPage as AskedPage } from './query.ts';

/** `{items, page, page_size, total, total_is_lower_bound}` (rule 40.2). */
export const presentPage = <A>(
  { page, pageSize }: AskedPage,
  { items, total, totalIsLowerBound }: Page<A>,
  present: (item: A) => AdminData,
): AdminData => ({
  items: items.map(present),
  page,
  page_size: pageSize,
  total,
  total_is_lower_bound: totalIsLowerBound,
});
