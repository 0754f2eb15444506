import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { paths } from './api.d.ts';
import type { Choice, ChoiceGroup } from '../ui/combobox.tsx';
import { api, read } from './client.ts';

type Found =
  paths['/api/v1/admin/search']['get']['responses']['200']['content']['application/json']['data']['items'][number];

export type HitKind = Found['kind'];

/** A thing that was found. */
export interface Hit extends Choice {
  readonly kind: HitKind;
  readonly id: string;
}

const titles: Readonly<Record<HitKind, string>> = {
  user: 'People',
  team: 'Teams',
  service_account: 'Service accounts',
  api_key: 'Keys',
  model: 'Models',
  provider: 'Providers',
  request_log: 'Requests',
};

/** Typing has to pause for so long before anything is asked for. */
const pauseMs = 150;

/**
 * What has this id or name, by kind. An answer belongs to its text: while the one to the present text is not there,
 * nothing is found, whatever comes late.
 */
export function useHits(text: string, kinds?: readonly HitKind[]) {
  const asked = text.trim();
  const [settled, setSettled] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSettled(asked), pauseMs);
    return () => clearTimeout(timer);
  }, [asked]);
  const isAsked = asked !== '' && settled === asked;
  const query = useQuery({
    queryKey: ['search', settled],
    queryFn: ({ signal }) =>
      read(api.GET('/api/v1/admin/search', { params: { query: { q: settled } }, signal })),
    enabled: isAsked,
    staleTime: 10_000,
  });
  const items = isAsked ? query.data?.items : undefined;
  return {
    groups: groupsOf((items ?? []).filter(({ kind }) => kinds?.includes(kind) ?? true)),
    /** Nothing is known yet of what was typed. */
    isPending: asked !== '' && items === undefined && query.error === null,
    error: isAsked ? query.error : null,
    again: () => void query.refetch(),
  };
}

/** By kind, in the order in which the first of each was found. */
function groupsOf(items: readonly Found[]): readonly ChoiceGroup<Hit>[] {
  const byKind = Map.groupBy(items, ({ kind }) => kind);
  return [...byKind].map(([kind, ofKind]) => ({
    title: titles[kind],
    choices: ofKind.map(({ id, title, detail }) => ({ key: `${kind}:${id}`, kind, id, title, detail })),
  }));
}
