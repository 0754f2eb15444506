import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

/** The query parameters of the address, by name. */
export type Filters = Readonly<Record<string, string>>;

/**
 * The filters of the page, with a function that changes them. `undefined` removes one; the rest of the address stays.
 */
export function useAddress(): {
  readonly filters: Filters;
  readonly set: (changes: Readonly<Record<string, string | undefined>>, how?: 'push' | 'replace') => void;
} {
  const filters: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const set = useCallback(
    (changes: Readonly<Record<string, string | undefined>>, how: 'push' | 'replace' = 'push') =>
      void navigate({
        to: '.',
        search: (before: Filters) => merged(before, changes),
        replace: how === 'replace',
        resetScroll: false,
      }),
    [navigate],
  );
  return { filters, set };
}

const merged = (before: Filters, changes: Readonly<Record<string, string | undefined>>): Filters =>
  Object.fromEntries(
    Object.entries({ ...before, ...changes }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
