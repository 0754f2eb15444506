import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, read } from '../api/client.ts';
import { grouped } from '../ui/amounts.ts';
import { Page as Frame } from '../ui/page.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { RequestsLink } from '../ui/things.tsx';
import { Count, Money } from '../ui/values.tsx';
import { Attention } from './overview/attention.tsx';
import { NearestBudgets } from './overview/budgets.tsx';
import { Figures } from './overview/figures.tsx';
import { HourTable } from './overview/hour-table.tsx';
import { LatestAlerts } from './overview/latest-alerts.tsx';
import { isDone, Setup } from './overview/setup.tsx';
import { Top } from './overview/top.tsx';
import { ledgerWindowOf, type Overview } from './overview/overview-data.ts';

const everyMs = 30_000;
/** During setup, so that each step is ticked off soon after it was done. */
const setupEveryMs = 5_000;

/** What happened in the last 24 hours, and what needs attention. */
export function Page() {
  const found = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => read(api.GET('/api/v1/admin/overview', { signal })),
    refetchInterval: ({ state }) =>
      state.data !== undefined && !isUsed(state.data) ? setupEveryMs : everyMs,
  });
  return (
    <Frame title="Overview" facts={found.data === undefined ? undefined : <Facts of={found.data} />}>
      <Loaded query={found} what="the overview">
        {(of) => (isUsed(of) ? <Used of={of} /> : <Setup setup={of.setup} isOpen />)}
      </Loaded>
    </Frame>
  );
}

/** Something has been sent, so there are figures to show. */
const isUsed = ({ setup, last_day: day }: Overview): boolean =>
  setup.model_answered || day.request_count > 0 || day.logged_count > 0;

function Facts({ of }: { readonly of: Overview }) {
  if (!isUsed(of)) return <>Nothing has been sent through this gateway yet. These steps make it ready.</>;
  const { last_day: day, budgets } = of;
  return (
    <>
      Last 24 hours:{' '}
      <RequestsLink where={ledgerWindowOf(of)}>
        <Count of={day.request_count} /> requests
      </RequestsLink>
      , <Money usd={day.spend_usd} />;{' '}
      <Link to="/budgets" search={{ state: 'near' }}>
        <Count of={budgets.above_80_percent} /> of <Count of={budgets.total} /> budgets
      </Link>{' '}
      at 80 % or above
      {budgets.blocked === 0 ? '' : `, ${grouped(budgets.blocked)} hit the hard limit`}.
    </>
  );
}

const Used = ({ of }: { readonly of: Overview }) => (
  <>
    <Attention of={of} />
    <Figures of={of} />
    <HourTable of={of} />
    <div className="halves">
      <NearestBudgets budgets={of.budgets} />
      <Top of={of} />
      <LatestAlerts />
    </div>
    {isDone(of.setup) ? null : <Setup setup={of.setup} isOpen={false} />}
  </>
);
