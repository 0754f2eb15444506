import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Choice, ChoiceGroup } from './combobox.tsx';

/** What has this text, without blanks around it; of no text, what is offered before anything is typed. */
export type Search<C extends Choice> = (
  text: string,
  signal: AbortSignal,
) => Promise<readonly ChoiceGroup<C>[]>;

/** Typing has to pause for so long before anything is asked for. */
const pauseMs = 150;

/**
 * What was found for the text of a field. An answer belongs to its text: while the one to the present text is not
 * there, nothing is found, whatever comes late.
 *
 * @param of tells searches of different things apart.
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
    /** Nothing is known yet of what was typed. */
    isPending: groups === undefined && query.error === null,
    error: isAsked ? query.error : null,
    again: () => void query.refetch(),
  };
}
