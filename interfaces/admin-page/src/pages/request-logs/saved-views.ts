import { fieldsOf, itemsOf, parsedJson } from '../../api/loose-json.ts';
import type { Filters } from '../../app/address.ts';

/** A named set of filters. */
export interface SavedView {
  readonly name: string;
  readonly filters: Filters;
}

const maxViews = 30;
export const maxViewNameChars = 60;

/** The views stored in the browser. Anything that is not a view is left out. */
const viewsOf = (kept: string | null): readonly SavedView[] =>
  itemsOf(parsedJson(kept ?? ''))
    .flatMap(viewOf)
    .slice(0, maxViews);

function viewOf(value: unknown): readonly SavedView[] {
  const { name, filters } = fieldsOf(value);
  if (typeof name !== 'string' || typeof filters !== 'object' || filters === null) return [];
  const texts = Object.entries(filters).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return [{ name, filters: Object.fromEntries(texts) }];
}

/** Adds a view, which replaces one of the same name. At the limit the oldest is dropped. */
export const withView = (views: readonly SavedView[], view: SavedView): readonly SavedView[] =>
  [...views.filter(({ name }) => name !== view.name), view].slice(-maxViews);

export const withoutView = (views: readonly SavedView[], name: string): readonly SavedView[] =>
  views.filter((view) => view.name !== name);

const keptAs = 'gateway.views.request-logs';

export const readViews = (storage: Pick<Storage, 'getItem'>): readonly SavedView[] =>
  viewsOf(storage.getItem(keptAs));

/** Changes the stored views and returns them. They are read again, because another tab may have changed them. */
export function changeViews(
  storage: Pick<Storage, 'getItem' | 'setItem'>,
  change: (views: readonly SavedView[]) => readonly SavedView[],
): readonly SavedView[] {
  const next = change(readViews(storage));
  storage.setItem(keptAs, JSON.stringify(next));
  return next;
}
