import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, read } from '../api/client.ts';
import { useAddress } from '../app/address.ts';
import { filtersNamed } from '../app/words.ts';
import { ChoiceFilter } from '../ui/filters.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { CountedRequests, inLedger, ofWindow } from '../ui/things.tsx';
import { Money } from '../ui/values.tsx';
import { BudgetList } from './spend/budget-list.tsx';
import { DailyChart } from './spend/daily-chart.tsx';
import { Priced, type SpendReport } from './spend/priced.tsx';
import { ModelTable, OwnerTable } from './spend/tables.tsx';
import { ofOwners, spendFilters, spendQuery, until } from './spend/window.ts';

/** What was spent, by whom and on which models, and the budgets. */
export function Page() {
  const { filters } = useAddress();
  const query = filtersNamed(filters, spendFilters);
  const report = useQuery({
    queryKey: ['spend-report', query],
    queryFn: ({ signal }) =>
      read(api.GET('/api/v1/admin/spend/report', { params: { query: spendQuery(query) }, signal })),
    placeholderData: keepPreviousData,
  });
  const { data } = report;
  return (
    <Frame
      title="Spend"
      facts={data === undefined ? undefined : <Facts of={data} />}
      filters={
        <>
          <ChoiceFilter name="days" label="Days" all="7 days" options={[['30', '30 days']]} />
          <ChoiceFilter
            name="owner_kind"
            label="Owners"
            options={[
              ['user', 'People'],
              ['team', 'Teams'],
            ]}
          />
          <ChoiceFilter name="by" label="Chart" all="By owner" options={[['model', 'By model']]} />
        </>
      }
    >
      <DailyChart filters={query} by={filters['by'] === 'model' ? 'model' : 'owner'} />
      <BudgetList kind={query['owner_kind'] ?? 'all'} />
      <Loaded query={report} what="the spend">
        {(spend) => (
          <>
            <OwnerTable report={spend} />
            <ModelTable report={spend} />
          </>
        )}
      </Loaded>
    </Frame>
  );
}

function Facts({ of }: { readonly of: SpendReport }) {
  const { totals } = of;
  const where = { ...ofWindow(of), ...ofOwners(of) };
  return (
    <>
      <Money usd={totals.spend_usd} /> in{' '}
      <CountedRequests of={totals.request_count} where={{ ...where, ...inLedger }} /> requests of the ledger,
      from {of.window_start.slice(0, 10)} to {until(of.window_end)} (UTC)
      {totals.unpriced_count === 0 ? null : (
        <>
          ; <Priced state="unpriced" of={totals.unpriced_count} where={where} /> had no price
        </>
      )}
      {totals.usage_missing_count === 0 ? null : (
        <>
          ; for <Priced state="usage_missing" of={totals.usage_missing_count} where={where} /> the provider
          reported no usage
        </>
      )}
    </>
  );
}
