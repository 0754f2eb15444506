import type { Column } from '../../ui/table.tsx';
import { Count, Dash, Duration, Id, NotAvailable, Time } from '../../ui/values.tsx';
import { OnlyThis } from './only-this.tsx';
import { Cost, FirstToken, OutcomeBadge, outcomeText, pricingText } from './outcome.tsx';
import { countText, isStream, requesterOf, type LoggedRow } from './request-log.ts';

export const requestColumns: readonly Column<LoggedRow>[] = [
  {
    key: 'time',
    title: 'Time (UTC)',
    cell: (log) => <Time at={log.occurred_at} />,
    text: (log) => log.occurred_at,
  },
  {
    key: 'outcome',
    title: 'Outcome',
    cell: (log) => (
      <OnlyThis name="status_code" value={String(log.status_code)} says={`status ${log.status_code}`}>
        <OutcomeBadge of={log} />
      </OnlyThis>
    ),
    text: outcomeText,
  },
  {
    key: 'model',
    title: 'Model → provider',
    cell: (log) => <Route of={log} />,
    text: (log) => routeText(log),
  },
  { key: 'owner', title: 'Owner', cell: (log) => <Owner of={log} />, text: (log) => requesterOf(log)?.name },
  {
    key: 'tokens',
    title: 'Tokens',
    align: 'end',
    cell: (log) => (
      <span title={`${countText(log.prompt_tokens)} in, ${countText(log.completion_tokens)} out`}>
        <Count of={log.total_tokens} />
      </span>
    ),
    text: (log) => log.total_tokens,
  },
  { key: 'cost', title: 'Cost', align: 'end', cell: (log) => <Cost of={log} />, text: (log) => log.cost_usd },
  {
    key: 'pricing',
    title: 'Pricing state',
    hidden: true,
    cell: (log) => pricingText(log) ?? <Dash />,
    text: pricingText,
  },
  {
    key: 'latency',
    title: 'Latency',
    align: 'end',
    cell: (log) => <Duration ms={log.latency_ms} />,
    text: (log) => log.latency_ms,
  },
  {
    key: 'first-token',
    title: 'First token',
    align: 'end',
    hidden: true,
    cell: (log) => <FirstToken of={log} />,
    text: (log) => log.first_token_ms,
  },
  {
    key: 'stream',
    title: 'Stream',
    cell: (log) => streamWords(isStream(log)) ?? <NotAvailable />,
    text: (log) => streamWords(isStream(log)),
  },
  {
    key: 'tools',
    title: 'Tools',
    align: 'end',
    cell: ({ tool_cardinality: tools }) => (
      <span
        title={`${countText(tools.exposed_tool_count)} offered, ${countText(tools.invoked_tool_count)} called`}
      >
        <Count of={tools.exposed_tool_count} /> / <Count of={tools.invoked_tool_count} />
      </span>
    ),
    text: ({ tool_cardinality: tools }) =>
      `${tools.exposed_tool_count ?? 'n/a'} / ${tools.invoked_tool_count ?? 'n/a'}`,
  },
  {
    key: 'service',
    title: 'Service / env',
    cell: (log) => <ServiceAndEnv of={log} />,
    text: ({ request_tags: tags }) => [tags.service, tags.env].filter((tag) => tag !== null).join(' / '),
  },
  {
    key: 'request-id',
    title: 'Request id',
    cell: (log) => (
      <OnlyThis name="request_id" value={log.request_id} says="this request id">
        <Id of={log.request_id} />
      </OnlyThis>
    ),
    text: (log) => log.request_id,
  },
  {
    key: 'harness',
    title: 'Harness',
    hidden: true,
    cell: (log) => (
      <OnlyThis
        name="agent_harness_key"
        value={log.agent_harness_key}
        says={`harness ${log.agent_harness_label}`}
      >
        {log.agent_harness_label ?? <Dash />}
      </OnlyThis>
    ),
    text: (log) => log.agent_harness_label,
  },
  {
    key: 'key',
    title: 'Key',
    hidden: true,
    cell: (log) => (
      <OnlyThis name="api_key_id" value={log.api_key_id} says={`key ${log.api_key_name}`}>
        {log.api_key_name ?? <Dash />}
      </OnlyThis>
    ),
    text: (log) => log.api_key_name,
  },
  {
    key: 'tags',
    title: 'Tags',
    hidden: true,
    cell: (log) => tagsText(log) ?? <Dash />,
    text: (log) => tagsText(log),
  },
];

const streamWords = (stream: boolean | undefined): string | undefined =>
  stream === undefined ? undefined : stream ? 'yes' : 'no';

const routeText = ({ model_key: model, provider_key: provider }: LoggedRow): string =>
  `${model ?? 'no model'} → ${provider ?? 'none'}`;

function tagsText({ request_tags: { component, bespoke } }: LoggedRow): string | undefined {
  const tags = [
    ...(component === null ? [] : [`component=${component}`]),
    ...bespoke.map(({ key, value }) => `${key}=${value}`),
  ];
  return tags.length === 0 ? undefined : tags.join('; ');
}

const Route = ({ of: { model_key: model, provider_key: provider } }: { readonly of: LoggedRow }) => (
  <>
    <OnlyThis name="model_key" value={model} says={`model ${model}`}>
      {model ?? <span className="muted">no model</span>}
    </OnlyThis>{' '}
    →{' '}
    <OnlyThis name="provider_key" value={provider} says={`provider ${provider}`}>
      {provider ?? <span className="muted">none</span>}
    </OnlyThis>
  </>
);

function Owner({ of: log }: { readonly of: LoggedRow }) {
  const owner = requesterOf(log);
  if (owner === undefined) return <Dash />;
  return (
    <OnlyThis name={owner.filter} value={owner.id} says={owner.name}>
      {owner.name}
    </OnlyThis>
  );
}

const ServiceAndEnv = ({
  of: {
    request_tags: { service, env },
  },
}: {
  readonly of: LoggedRow;
}) =>
  service === null && env === null ? (
    <Dash />
  ) : (
    <>
      <OnlyThis name="service" value={service} says={`service ${service}`}>
        {service ?? <Dash />}
      </OnlyThis>{' '}
      /{' '}
      <OnlyThis name="env" value={env} says={`environment ${env}`}>
        {env ?? <Dash />}
      </OnlyThis>
    </>
  );
