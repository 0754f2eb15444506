import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, read } from '../../api/client.ts';
import type { Filters } from '../../app/address.ts';
import type { Point, Series } from '../../ui/series.ts';
import { Stacked } from '../../ui/stacked.tsx';
import { Empty, Failed, StaleNotice, Waiting } from '../../ui/states.tsx';
import { inLedger, RequestsLink } from '../../ui/things.tsx';
import { ofDay, ofOwners, spendQuery } from './window.ts';

/** A bar for each day, split by the five owners or the five models with the highest spend. */
export function DailyChart({ filters, by }: { readonly filters: Filters; readonly by: 'owner' | 'model' }) {
  const {
    data,
    error,
    refetch,
    isPlaceholderData: isStale,
  } = useQuery({
    queryKey: ['spend-days', filters],
    queryFn: ({ signal }) =>
      read(api.GET('/api/v1/admin/spend/days', { params: { query: spendQuery(filters) }, signal })),
    placeholderData: keepPreviousData,
  });
  if (error !== null) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined)
    return (
      <div className="chart-frame">
        <Waiting for="the spend of each day" />
      </div>
    );
  const named: readonly Series[] =
    by === 'owner'
      ? data.chart_owners.map((each) => ({
          key: `${each.owner_kind} ${each.owner_id}`,
          name: each.owner_name,
        }))
      : data.chart_models.map(({ model_key: model }) => ({ key: model, name: model }));
  if (named.length === 0)
    return (
      <Empty title="Nothing was spent in this period">
        <p>The first request to a model with a price will show here.</p>
      </Empty>
    );
  const others: Series = {
    key: 'others',
    name: by === 'owner' ? 'All other owners' : 'All other models',
    isRest: true,
  };
  const points = data.days.map((day): Point => {
    const cut = by === 'owner' ? day.owners : day.models;
    return {
      key: day.day,
      tick: day.day.slice(5),
      title: day.day,
      parts: [...cut.values, cut.rest].map(({ spend_usd: usd }) => ({ height: Number(usd), text: usd })),
      total: day.spend_usd,
    };
  });
  return (
    <>
      {isStale ? <StaleNotice what="the spend of each day" /> : null}
      <div className={isStale ? 'loaded stale' : 'loaded'}>
        <Stacked
          label={by === 'owner' ? 'Spend per day by owner' : 'Spend per day by model'}
          unit="USD"
          when="Day"
          series={[...named, others]}
          points={points}
          linkOf={({ key }) => (
            <RequestsLink where={{ ...ofDay(key), ...ofOwners(filters), ...inLedger }}>{key}</RequestsLink>
          )}
        />
      </div>
    </>
  );
}
