import type { Label } from './label-table.ts';

/**
 * `sum` only grows; `money` is a sum in picodollars; `level` goes up and down and can be added across processes,
 * `gauge` cannot.
 */
export type MetricKind = 'sum' | 'money' | 'histogram' | 'level' | 'gauge';

export interface Metric {
  readonly kind: MetricKind;
  /** In UCUM notation. */
  readonly unit: string;
  readonly labels: readonly Label[];
  readonly bounds?: readonly number[];
  readonly says: string;
}

/** The labels of all metrics of a request; opt-in bespoke tags are added as `caller_tag.<key>`. */
export const requestLabels = [
  'operation',
  'stream',
  'model_key',
  'provider_key',
  'owner_kind',
  'caller_service',
  'caller_component',
  'caller_env',
] as const satisfies readonly Label[];

/** These become `other` first when there are too many label sets, because callers choose them freely. */
export const tagLabels = [
  'caller_service',
  'caller_component',
  'caller_env',
] as const satisfies readonly Label[];

export const genAiLabelNames = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
] as const satisfies readonly Label[];

/** Bucket bounds in seconds, from the GenAI conventions. */
const durations = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const tokens = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
const firstToken = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const perToken = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const tools = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256];

/** The metrics of requests. */
export const requestMetrics = {
  'gateway.requests': {
    kind: 'sum',
    unit: '{request}',
    labels: [...requestLabels, 'agent_harness_key'],
    says: 'Requests to the paths that serve models.',
  },
  'gateway.request.outcomes': {
    kind: 'sum',
    unit: '{request}',
    labels: [...requestLabels, 'outcome', 'error_code'],
    says: 'How requests ended, once each.',
  },
  'gateway.request.duration': {
    kind: 'histogram',
    unit: 's',
    labels: [...requestLabels, 'outcome'],
    bounds: [0.005, ...durations, 163.84, 327.68, 655.36],
    says: 'Time from a request’s arrival to its settlement.',
  },
  'gateway.tokens': {
    kind: 'sum',
    unit: '{token}',
    labels: [...requestLabels, 'token_type'],
    says: 'Tokens that upstreams reported, billed or not; output as it is billed.',
  },
  'gateway.spend': {
    kind: 'money',
    unit: '{USD}',
    labels: requestLabels,
    says: 'Priced spend that is in the ledger, or in the journal on its way there.',
  },
  'gateway.spend.unbilled': {
    kind: 'money',
    unit: '{USD}',
    labels: [...requestLabels, 'reason'],
    says: 'Priced cost of usage that was seen and has no ledger row: blocked by a hard limit, of a duplicate, of a failed request, lost with the database, or of what the provider did beside the answer: compaction, advice of another model.',
  },
  'gateway.usage.records': {
    kind: 'sum',
    unit: '{record}',
    labels: [...requestLabels, 'pricing_status'],
    says: 'Ledger rows.',
  },
  'gateway.usage.unusable': {
    kind: 'sum',
    unit: '{request}',
    labels: requestLabels,
    says: 'Answers that reported usage without counts that can be used.',
  },
  'gateway.request.tools.exposed': {
    kind: 'histogram',
    unit: '{tool}',
    labels: requestLabels,
    bounds: tools,
    says: 'Tools that a request offers.',
  },
  'gateway.request.tools.invoked': {
    kind: 'histogram',
    unit: '{tool}',
    labels: requestLabels,
    bounds: tools,
    says: 'Tool calls in the answer to a request.',
  },
  'gateway.duplicates': {
    kind: 'sum',
    unit: '{request}',
    labels: requestLabels,
    says: 'Requests whose `x-request-id` was accounted already: answered, and not charged again.',
  },
  'gateway.client_disconnects': {
    kind: 'sum',
    unit: '{request}',
    labels: [...requestLabels, 'upstream'],
    says: 'Callers that left before their answer was complete: the upstream’s answer was read to its end, or is lost.',
  },
  'gateway.rate_limit.refusals': {
    kind: 'sum',
    unit: '{request}',
    labels: [...requestLabels, 'subject_kind', 'measure'],
    says: 'Requests that a rate limit refused: whose limit it is, and what it counts.',
  },
  'gen_ai.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    labels: [...genAiLabelNames, 'error.type'],
    bounds: durations,
    says: 'Calls upstream.',
  },
  'gen_ai.client.token.usage': {
    kind: 'histogram',
    unit: '{token}',
    labels: [...genAiLabelNames, 'gen_ai.token.type'],
    bounds: tokens,
    says: 'Tokens of a call upstream, where it reported them.',
  },
  'gen_ai.server.request.duration': {
    kind: 'histogram',
    unit: 's',
    labels: [...genAiLabelNames, 'error.type'],
    bounds: durations,
    says: 'Requests for which a route was chosen.',
  },
  'gen_ai.server.time_to_first_token': {
    kind: 'histogram',
    unit: 's',
    labels: genAiLabelNames,
    bounds: firstToken,
    says: 'Time from a request’s arrival to the first chunk with content; successful streams.',
  },
  'gen_ai.server.time_per_output_token': {
    kind: 'histogram',
    unit: 's',
    labels: genAiLabelNames,
    bounds: perToken,
    says: 'Time per output token after the first; successful streams whose usage is known.',
  },
} as const satisfies Record<string, Metric>;

/** Bucket bounds in seconds, from the MCP conventions. */
const callDurations = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** The metrics of MCP traffic. */
export const mcpMetrics = {
  'gateway.mcp.calls': {
    kind: 'sum',
    unit: '{call}',
    labels: ['mcp.method.name', 'mcp_server_id', 'invocation_status'],
    says: 'Messages of MCP callers, and how they ended, once each.',
  },
  'mcp.server.operation.duration': {
    kind: 'histogram',
    unit: 's',
    labels: ['mcp.method.name', 'mcp_server_id', 'error.type'],
    bounds: callDurations,
    says: 'Time from the arrival of an MCP message to the end of its answer.',
  },
  'mcp.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    labels: ['mcp.method.name', 'mcp_server_id', 'error.type'],
    bounds: callDurations,
    says: 'The part of it that the MCP server took.',
  },
} as const satisfies Record<string, Metric>;

/** The metrics of the process, read when metrics are exported. */
export const processMetrics = {
  'gateway.requests.in_flight': {
    kind: 'level',
    unit: '{request}',
    labels: [],
    says: 'Model requests that are being served.',
  },
  'gateway.queue.depth': {
    kind: 'level',
    unit: '{request}',
    labels: ['queue'],
    says: 'Requests that no statement has taken up yet.',
  },
  'gateway.journal.size': {
    kind: 'level',
    unit: 'By',
    labels: [],
    says: 'Settlements that wait for the database on this process’s disk.',
  },
  'gateway.journal.limit': {
    kind: 'level',
    unit: 'By',
    labels: [],
    says: 'What the journal may hold; beyond it requests are refused.',
  },
  'gateway.payloads': {
    kind: 'sum',
    unit: '{payload}',
    labels: ['fate'],
    says: 'Payload bodies that were kept beside the request log, and those for which there was no room.',
  },
  'gateway.payloads.queued': {
    kind: 'level',
    unit: 'By',
    labels: [],
    says: 'Payload bodies that wait to be written.',
  },
  'gateway.mcp.records': {
    kind: 'sum',
    unit: '{record}',
    labels: ['fate'],
    says: 'Records of MCP tool calls that were kept, and those for which there was no room.',
  },
  'gateway.alert_mails': {
    kind: 'sum',
    unit: '{mail}',
    labels: ['delivery_status'],
    says: 'Budget alert mails that the mail server took, and those that were not sent; the log says why.',
  },
  'db.client.connection.count': {
    kind: 'level',
    unit: '{connection}',
    labels: ['db.client.connection.pool.name', 'db.client.connection.state'],
    says: 'Connections to PostgreSQL.',
  },
  'db.client.connection.max': {
    kind: 'level',
    unit: '{connection}',
    labels: ['db.client.connection.pool.name'],
    says: 'Connections that this process may open.',
  },
  'db.client.connection.pending_requests': {
    kind: 'level',
    unit: '{request}',
    labels: ['db.client.connection.pool.name'],
    says: 'Statements that wait for a connection.',
  },
  'nodejs.eventloop.delay.p50': {
    kind: 'gauge',
    unit: 's',
    labels: [],
    says: 'How late timers ran since the export before.',
  },
  'nodejs.eventloop.delay.p99': { kind: 'gauge', unit: 's', labels: [], says: 'The same.' },
  'nodejs.eventloop.delay.max': { kind: 'gauge', unit: 's', labels: [], says: 'The same.' },
  'nodejs.eventloop.utilization': {
    kind: 'gauge',
    unit: '1',
    labels: [],
    says: 'Share of time that the event loop was busy since the export before.',
  },
  'process.cpu.time': { kind: 'sum', unit: 's', labels: ['cpu.mode'], says: 'CPU of this process.' },
  'process.memory.usage': { kind: 'level', unit: 'By', labels: [], says: 'Resident memory of this process.' },
} as const satisfies Record<string, Metric>;

/** Every metric that the gateway exports; the same table is in docs/telemetry.md. */
export const metricTable = { ...requestMetrics, ...mcpMetrics, ...processMetrics };

export type MetricName = keyof typeof metricTable;
