import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Choice, ChoiceGroup } from './combobox.tsx';

/** Finds choices for a trimmed text. For an empty one, what is offered before anything is typed. */
export type Search<C extends Choice> = (
  text: string,
  signal: AbortSignal,
) => Promise<readonly ChoiceGroup<C>[]>;

/** How long typing must pause before a search. */
const pauseMs = 150;

/**
 * The choices for the text of a field. They belong to their text: until the answer for the current text arrives there
 * are none, and answers for other texts are not shown.
 *
 * @param of distinguishes searches for different things.
 */
export function useSearch<C extends Choice>(of: string, text: string, search: Search<C>) {
  const asked = text.trim();
  const [settled, setSettled] = useState(asked);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(asked), pauseMs);
    return () => clearTimeout(timer);
  }, [asked]);
  const isAsked = settled === asked;
  const query = useQuery({
    queryKey: ['search', of, settled],
    queryFn: ({ signal }) => search(settled, signal),
    enabled: isAsked,
    staleTime: 10_000,
  });
  const groups = isAsked ? query.data : undefined;
  return {
    groups: groups ?? [],
    /** Nothing is known yet about the typed text. */
    isPending: groups === undefined && query.error === null,
    error: isAsked ? query.error : null,
    again: () => void query.refetch(),
  };
}
