import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { countsTowardSpend } from '../../domain/ledger/usage-cost-event.ts';
import { outcomeOf, statusOf } from '../../domain/shared/gateway-error.ts';
import { clientClosed, type RequestFailure } from '../../domain/shared/request-failure.ts';
import { upstreamError } from '../../domain/upstream/upstream-fault.ts';
import { errorTypeOf } from '../../infrastructure/telemetry/gen-ai.ts';
import { maxPoints } from '../../infrastructure/telemetry/instruments.ts';
import { labelSetBounds, labelTable } from '../../infrastructure/telemetry/label-table.ts';
import { type Metric, metricTable, requestLabels } from '../../infrastructure/telemetry/metric-table.ts';

const root = path.join(import.meta.dirname, '..', '..');
const read = (...parts: readonly string[]): string => readFileSync(path.join(root, ...parts), 'utf8');
const doc = read('docs', 'telemetry.md');

/** The rows below a table's head, cell by cell. */
function rowsBelow(head: string): readonly (readonly string[])[] {
  const lines = doc.slice(doc.indexOf(head)).split('\n').slice(2);
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(0, end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const code = (text: string): string => `\`${text}\``;
const kinds = {
  sum: 'counter',
  money: 'counter',
  histogram: 'histogram',
  level: 'up-down counter',
  gauge: 'gauge',
} as const satisfies Record<Metric['kind'], string>;

const labelsOf = ({ labels }: Metric): string => {
  const ofRequests = requestLabels.every((label) => labels.includes(label));
  const others = labels.filter((label) => !ofRequests || !requestLabels.some((each) => each === label));
  return [...(ofRequests ? ['request labels'] : []), ...others.map(code)].join(', ') || '–';
};

describe('docs/telemetry.md', () => {
  it('lists each metric with its unit and labels, as in the code', () => {
    expect(rowsBelow('| metric | kind | unit |')).toEqual(
      Object.entries<Metric>(metricTable).map(([name, metric]) => [
        code(name),
        kinds[metric.kind],
        metric.unit === '1' ? '1' : code(metric.unit),
        labelsOf(metric),
        metric.says,
      ]),
    );
    expect(doc).toContain(requestLabels.map(code).slice(0, -1).join(', '));
  });

  it('lists each label with its values and their bound', () => {
    expect(rowsBelow('| label | values |')).toEqual(
      Object.entries(labelTable).map(([label, { values, bound }]) => [code(label), values, String(bound)]),
    );
  });

  it('states how many sets of labels and how many points there are at most', () => {
    const { max, foldFrom } = labelSetBounds;
    expect(doc).toContain(`There are at most ${max} sets of request labels, and from ${foldFrom} on`);
    expect(doc).toContain(`A metric has at most ${maxPoints} points.`);
  });

  it('has for each closed list of values a bound that is its length', () => {
    expect(labelTable.error_code.bound).toBe(Object.keys(outcomeOf).length + 1);
    expect(labelTable.outcome.bound).toBe(
      new Set(['success', 'client_closed', ...Object.values(outcomeOf)]).size,
    );
    expect(labelTable.pricing_status.values).toBe(
      Object.keys(countsTowardSpend).sort(byTable).map(code).join(', '),
    );
    for (const label of [
      'operation',
      'owner_kind',
      'token_type',
      'reason',
      'upstream',
      'queue',
      'fate',
    ] as const)
      expect([label, labelTable[label].values.split('`').length >> 1]).toEqual([
        label,
        labelTable[label].bound,
      ]);
  });
});

const statuses = ['priced', 'unpriced', 'usage_missing', 'legacy_estimated'];
const byTable = (a: string, b: string): number => statuses.indexOf(a) - statuses.indexOf(b);

/** The names that the collector's `prometheus` exporter makes of a metric's name. */
function inPrometheus(name: string, { kind, unit }: Metric): readonly string[] {
  const suffix = unit === 's' ? '_seconds' : unit === 'By' ? '_bytes' : unit === '1' ? '_ratio' : '';
  const base = `${name.replaceAll('.', '_')}${suffix}`;
  if (kind === 'histogram') return ['_bucket', '_count', '_sum'].map((part) => `${base}${part}`);
  return [kind === 'sum' || kind === 'money' ? `${base}_total` : base];
}

const labelsByName = new Map(
  Object.entries<Metric>(metricTable).flatMap(([name, metric]) =>
    inPrometheus(name, metric).map((each): [string, ReadonlySet<string>] => [
      each,
      new Set(metric.labels.map((label) => label.replaceAll('.', '_'))),
    ]),
  ),
);

/** The metrics and labels that an expression uses and that do not exist. */
function faultsOf(expression: string): readonly string[] {
  const asked = [
    ...expression.matchAll(/\b((?:gateway|gen_ai|nodejs|db_client|process)_\w+)(?:\{([^}]*)\})?/g),
  ].map(([, name = '', selector = '']) => ({ name, selector, has: labelsByName.get(name) }));
  const metrics = asked.filter(({ has }) => has !== undefined);
  const labels = new Set(['le', 'instance', 'job', ...metrics.flatMap(({ has = new Set() }) => [...has])]);
  const grouped = [...expression.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((each) => each.trim()),
  );
  return [
    ...asked
      .filter(({ name, has }) => has === undefined && !labels.has(name))
      .map(({ name }) => `${name} is no metric`),
    ...metrics.flatMap(({ name, selector, has }) =>
      [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)]
        .filter(([, label = '']) => has?.has(label) !== true)
        .map(([, label]) => `${name} has no label ${label}`),
    ),
    ...grouped
      .filter((label) => !labels.has(label))
      .map((label) => `nothing asked for has the label ${label}`),
    ...(metrics.length === 0 ? [`${expression} asks for nothing`] : []),
  ];
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

describe('the buckets of the GenAI metrics', () => {
  const doubled = Array.from({ length: 14 }, (_, at) => 2 ** at / 100);
  const firstToken = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
  const perToken = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];

  it.each([
    ['gen_ai.client.operation.duration', doubled],
    ['gen_ai.server.request.duration', doubled],
    ['gen_ai.client.token.usage', Array.from({ length: 14 }, (_, at) => 4 ** at)],
    ['gen_ai.server.time_to_first_token', firstToken],
    ['gen_ai.server.time_per_output_token', perToken],
  ] as const)('have the bounds of the conventions: %s', (name, bounds) => {
    expect(metricTable[name].bounds).toEqual(bounds);
  });
});

describe('deploy/telemetry', () => {
  const rules = (
    parse(read('deploy', 'telemetry', 'alerts.yaml')) as {
      groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
    }
  ).groups.flatMap((group) => group.rules);
  const dashboard = JSON.parse(read('deploy', 'telemetry', 'grafana-dashboard.json')) as {
    panels: readonly Panel[];
    templating: { list: readonly { name: string; definition?: string }[] };
  };
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    'the alert %s uses only metrics and labels that exist',
    (_name, rule) => {
      expect(faultsOf(rule.expr)).toEqual([]);
      const grouped = [...rule.expr.matchAll(/\bby\s*\(([^)]*)\)/g)].map(([, list = '']) => list).join();
      for (const [, label = ''] of JSON.stringify(rule.annotations).matchAll(/\$labels\.(\w+)/g))
        expect(grouped).toContain(label);
    },
  );

  it.each(['GatewayLosesSpend', 'GatewayInternalErrors'])(
    'the alert %s also fires at the first event, with which its series begins',
    (name) => {
      const { expr = '' } = rules.find(({ alert }) => alert === name) ?? {};
      const [, series = ''] = /increase\((.+?)\[15m\]\)/.exec(expr) ?? [];
      expect(expr.replaceAll(/\s+/g, ' ')).toContain(`(${series} unless ${series} offset 15m) > 0`);
    },
  );

  it('the alert GatewayUpstreamErrors counts faults of the provider, and not the requests that it rejects', () => {
    const { expr = '' } = rules.find(({ alert }) => alert === 'GatewayUpstreamErrors') ?? {};
    const [, types = ''] = /error_type=~"([^"]+)"/.exec(expr) ?? [];
    const counts = (error: RequestFailure): boolean =>
      new RegExp(`^(?:${types})$`).test(errorTypeOf(error) ?? '');
    const refused = (status: number): boolean =>
      counts(upstreamError({ kind: 'status', status, message: '', headers: {} }));
    expect([301, 401, 402, 403, 408, 429, 500, 503, 529].filter((each) => !refused(each))).toEqual([]);
    expect([400, 404, 405, 413, 415, 422].filter(refused)).toEqual([]);
    const phases = ['connect', 'first_byte', 'idle', 'total'] as const;
    for (const phase of phases) expect(counts(upstreamError({ kind: 'timeout', phase }))).toBe(true);
    expect(counts(upstreamError({ kind: 'transport' }))).toBe(true);
    expect(counts(upstreamError({ kind: 'protocol', message: '' }))).toBe(true);
    expect(counts(upstreamError({ kind: 'no_room' }))).toBe(false);
    expect(counts(clientClosed)).toBe(false);
  });

  it('the alert GatewayRefusesForLoad counts exactly the refusals for load with status 503', () => {
    const { expr = '' } = rules.find(({ alert }) => alert === 'GatewayRefusesForLoad') ?? {};
    const [, outcome = '', unless = ''] = /outcome="(\w+)",error_code!~"([^"]+)"/.exec(expr) ?? [];
    const codes = Object.keys(outcomeOf).filter((each): each is keyof typeof outcomeOf =>
      Object.entries(outcomeOf).some(([of, label]) => of === each && label === outcome),
    );
    const left = codes.filter((each) => !new RegExp(`^(?:${unless})$`).test(each));
    expect(left).toEqual(codes.filter((each) => statusOf[each] === 503));
    expect(left).toContain('store_unavailable');
  });

  it.each(panels.map((panel) => [panel.title, panel] as const))(
    'the panel «%s» uses only metrics and labels that exist',
    (_title, panel) => {
      expect(panel.targets?.length).toBeGreaterThan(0);
      for (const { expr, legendFormat } of panel.targets ?? []) {
        expect(faultsOf(expr.replaceAll('$__rate_interval', '5m').replaceAll('$__range', '1h'))).toEqual([]);
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
          expect([expr.includes(label) || label === 'instance', label]).toEqual([true, label]);
      }
    },
  );

  it('the dashboard shows requests, latency, tokens, spend and outcomes by model, provider, owner and caller tag', () => {
    const all = JSON.stringify(panels);
    for (const shown of [
      'gateway_requests_total',
      'gateway_request_duration_seconds',
      'gateway_tokens_total',
      'gateway_spend_total',
      'gateway_request_outcomes_total',
    ])
      expect(all).toContain(shown);
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual([
      'datasource',
      'model',
      'provider',
      'owner',
      'service',
      'env',
    ]);
    for (const { definition } of dashboard.templating.list)
      if (definition !== undefined) {
        const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
        expect(labelsByName.get(metric)?.has(label)).toBe(true);
      }
  });

  it('the check of expressions finds metrics and labels that do not exist', () => {
    expect(faultsOf('sum(gateway_nothing_total)')).toHaveLength(2);
    expect(faultsOf('gateway_requests_total{outcome="success"}')).toEqual([
      'gateway_requests_total has no label outcome',
    ]);
    expect(faultsOf('sum by (fate) (gateway_requests_total)')).toHaveLength(1);
  });

  it('the collector receives OTLP on the port of the example configuration, and Prometheus scrapes its exporter', () => {
    const collector = parse(read('deploy', 'telemetry', 'collector.yaml')) as {
      receivers: { otlp: { protocols: { http: { endpoint: string } } } };
      exporters: { prometheus: { endpoint: string } };
      service: { pipelines: Record<string, { receivers: string[]; exporters: string[] }> };
    };
    const port = (address: string): string => address.slice(address.lastIndexOf(':') + 1);
    const example = parse(read('config', 'example.yaml')) as { server: { otel_endpoint: string } };
    expect(port(collector.receivers.otlp.protocols.http.endpoint)).toBe(
      new URL(example.server.otel_endpoint).port,
    );
    const scraped = read('deploy', 'telemetry', 'prometheus.yaml');
    expect(scraped).toContain(`collector:${port(collector.exporters.prometheus.endpoint)}`);
    expect(scraped).toContain('alerts.yaml');
    for (const [, pipeline] of Object.entries(collector.service.pipelines)) {
      expect(pipeline.receivers).toEqual(['otlp']);
      for (const exporter of pipeline.exporters) expect(Object.keys(collector.exporters)).toContain(exporter);
    }
  });
});
