import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { grouped } from '../ui/amounts.ts';
import { api, read } from '../api/client.ts';
import { kindPaths, kindTitles } from '../api/search.ts';
import { useAddress } from '../app/address.ts';
import { wordOf } from '../app/words.ts';
import { ChoiceFilter, FilterChips } from '../ui/filters.tsx';
import { ListTable, useList } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import type { Column } from '../ui/table.tsx';
import { Dash, FromConfig, Id, Time } from '../ui/values.tsx';
import { Total } from './owners/list-parts.tsx';
import { ChangeLimit, NewLimit, RemoveLimit } from './rate-limits/change.tsx';
import {
  keyOf,
  kindNames,
  type Limit,
  limitsKey,
  type Measure,
  measures,
  measureTitles,
  nameOf,
  subjectKinds,
  takenOf,
} from './rate-limits/limits.ts';

type Act = { readonly kind: 'new' } | { readonly kind: 'change' | 'remove'; readonly limit: Limit };

/** How often the current use is reloaded. */
const refreshMs = 5_000;

/** Rate limits of keys, people, teams and models, with their current use. */
export function Page() {
  const { filters } = useAddress();
  const [act, setAct] = useState<Act>();
  const { kind } = filters;
  const limits = useList(
    [...limitsKey, kind],
    (page, signal) => {
      const subjectKind = wordOf('kind', subjectKinds, kind);
      return read(
        api.GET('/api/v1/admin/rate-limits', {
          params: { query: { page, ...(subjectKind === undefined ? {} : { subject_kind: subjectKind }) } },
          signal,
        }),
      );
    },
    { refetchInterval: refreshMs },
  );
  const close = (): void => setAct(undefined);
  const full = limits.data?.items.filter(isFull).length ?? 0;
  return (
    <Frame
      title="Rate limits"
      facts={
        limits.data === undefined ? null : (
          <>
            <Total of={limits} one="limit" many="limits" />, {full} of those shown full right now. Bars show
            the current use; a request counts against every limit that applies to it.
          </>
        )
      }
      actions={
        <button type="button" className="button primary" onClick={() => setAct({ kind: 'new' })}>
          Set a rate limit
        </button>
      }
      filters={
        <ChoiceFilter
          name="kind"
          label="Limit of"
          options={subjectKinds.map((each) => [each, kindTitles[each]] as const)}
        />
      }
    >
      <FilterChips names={{ kind: 'Limit of' }} />
      <ListTable
        caption="Rate limits"
        columns={columnsWith(setAct)}
        list={limits}
        rowKey={keyOf}
        onOpen={(limit) => setAct({ kind: 'change', limit })}
        empty={<NoLimits isFiltered={kind !== undefined} />}
      />
      {act?.kind === 'new' ? <NewLimit onClose={close} /> : null}
      {act?.kind === 'change' ? <ChangeLimit limit={act.limit} onClose={close} /> : null}
      {act?.kind === 'remove' ? <RemoveLimit limit={act.limit} onClose={close} /> : null}
    </Frame>
  );
}

const isFull = (limit: Limit): boolean =>
  measures.some((measure) => {
    const most = limit[measure];
    return most !== null && takenOf(limit, measure) >= most;
  });

const NoLimits = ({ isFiltered }: { readonly isFiltered: boolean }) => (
  <Empty title={isFiltered ? 'Nothing of this kind has a rate limit' : 'Nothing has a rate limit'}>
    <p>Set one here, or in the configuration file:</p>
    <pre>
      {
        'api_keys:\n  - { name: dev, owner: "user:a@example.com", value: "${DEV_KEY}", limits: { requests_per_minute: 60 } }'
      }
    </pre>
  </Empty>
);

/** The current use of a measure: “12 of 60”, with a bar. */
function Taken({ limit, measure }: { readonly limit: Limit; readonly measure: Measure }) {
  const most = limit[measure];
  if (most === null) return <Dash />;
  const taken = takenOf(limit, measure);
  const share = Math.min(1, taken / most);
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : '';
  return (
    <span className="taken">
      <span className="number">
        {grouped(taken)} of {grouped(most)}
        {share >= 1 ? ', full' : ''}
      </span>
      <span
        className={`meter ${tone}`}
        role="meter"
        aria-label={`${measureTitles[measure]} of ${nameOf(limit)}`}
        aria-valuemin={0}
        aria-valuemax={most}
        aria-valuenow={Math.min(taken, most)}
      >
        <span style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}

const columnsWith = (act: (act: Act) => void): readonly Column<Limit>[] => [
  {
    key: 'subject',
    title: 'Limit of',
    cell: (limit) => (
      <Link to={kindPaths[limit.subject_kind]} search={{ open: limit.subject_id }}>
        {nameOf(limit)}
      </Link>
    ),
    text: nameOf,
  },
  {
    key: 'kind',
    title: 'Kind',
    cell: ({ subject_kind: kind }) => kindNames[kind],
    text: ({ subject_kind: kind }) => kind,
  },
  ...measures.map(
    (measure): Column<Limit> => ({
      key: measure,
      title: measureTitles[measure],
      cell: (limit) => <Taken limit={limit} measure={measure} />,
      text: (limit) => (limit[measure] === null ? null : `${takenOf(limit, measure)} of ${limit[measure]}`),
    }),
  ),
  {
    key: 'set',
    title: 'Set (UTC)',
    cell: ({ updated_at: at, from_config: isFromConfig }) => (
      <>
        <Time at={at} /> <FromConfig is={isFromConfig} />
      </>
    ),
    text: ({ updated_at: at }) => at,
  },
  {
    key: 'id',
    title: 'Id',
    hidden: true,
    cell: ({ subject_id: id }) => <Id of={id} />,
    text: ({ subject_id: id }) => id,
  },
  {
    key: 'act',
    title: 'Change',
    cell: (limit) => (
      <span className="row tight">
        <button
          type="button"
          className="button link"
          aria-label={`Change the rate limit of ${nameOf(limit)}`}
          onClick={() => act({ kind: 'change', limit })}
        >
          Change
        </button>
        <button
          type="button"
          className="button link"
          aria-label={`Remove the rate limit of ${nameOf(limit)}`}
          onClick={() => act({ kind: 'remove', limit })}
        >
          Remove
        </button>
      </span>
    ),
  },
];
