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
    says: 'Requests to the model endpoints.',
  },
  'gateway.request.outcomes': {
    kind: 'sum',
    unit: '{request}',
    labels: [...requestLabels, 'outcome', 'error_code'],
    says: 'Finished requests by outcome; each is counted once.',
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
    says: 'Tokens that upstreams reported, billed or not; output as billed.',
  },
  'gateway.spend': {
    kind: 'money',
    unit: '{USD}',
    labels: requestLabels,
    says: 'Priced spend in the ledger, or in the journal and not yet in the ledger.',
  },
  'gateway.spend.unbilled': {
    kind: 'money',
    unit: '{USD}',
    labels: [...requestLabels, 'reason'],
    says: 'Priced cost of reported usage that has no ledger row: blocked by a hard limit, from a duplicate or a failed request, lost because the database did not take it, or from extra work of the provider (compaction, advice of another model, generated images).',
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
    says: 'Answers that reported usage without usable counts.',
  },
  'gateway.request.tools.exposed': {
    kind: 'histogram',
    unit: '{tool}',
    labels: requestLabels,
    bounds: tools,
    says: 'Tools offered by a request.',
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
    says: 'Requests whose `x-request-id` was already accounted: answered, but not charged again.',
  },
  'gateway.client_disconnects': {
    kind: 'sum',
    unit: '{request}',
    labels: [...requestLabels, 'upstream'],
    says: 'Callers that disconnected before their answer was complete; the upstream’s answer was drained or lost.',
  },
  'gateway.rate_limit.refusals': {
    kind: 'sum',
    unit: '{request}',
    labels: [...requestLabels, 'subject_kind', 'measure'],
    says: 'Requests refused by a rate limit, by whose limit it is and what it counts.',
  },
  'gen_ai.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    labels: [...genAiLabelNames, 'error.type'],
    bounds: durations,
    says: 'Time of an upstream call.',
  },
  'gen_ai.client.token.usage': {
    kind: 'histogram',
    unit: '{token}',
    labels: [...genAiLabelNames, 'gen_ai.token.type'],
    bounds: tokens,
    says: 'Tokens of an upstream call, where reported.',
  },
  'gen_ai.server.request.duration': {
    kind: 'histogram',
    unit: 's',
    labels: [...genAiLabelNames, 'error.type'],
    bounds: durations,
    says: 'Time of a request for which a route was chosen.',
  },
  'gen_ai.server.time_to_first_token': {
    kind: 'histogram',
    unit: 's',
    labels: genAiLabelNames,
    bounds: firstToken,
    says: 'Time from a request’s arrival to the first chunk with content; successful streams only.',
  },
  'gen_ai.server.time_per_output_token': {
    kind: 'histogram',
    unit: 's',
    labels: genAiLabelNames,
    bounds: perToken,
    says: 'Time per output token after the first; successful streams with known usage only.',
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
    says: 'Messages of MCP callers by outcome; each is counted once.',
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
    says: 'The part of it spent in the call to the MCP server.',
  },
} as const satisfies Record<string, Metric>;

/** The metrics of the process, read when metrics are exported. */
export const processMetrics = {
  'gateway.requests.in_flight': {
    kind: 'level',
    unit: '{request}',
    labels: [],
    says: 'Model requests in flight.',
  },
  'gateway.queue.depth': {
    kind: 'level',
    unit: '{request}',
    labels: ['queue'],
    says: 'Requests waiting to be taken into a database statement.',
  },
  'gateway.journal.size': {
    kind: 'level',
    unit: 'By',
    labels: [],
    says: 'Settlements on this process’s disk that wait for the database.',
  },
  'gateway.journal.limit': {
    kind: 'level',
    unit: 'By',
    labels: [],
    says: 'Capacity of the journal; when it is full, requests are refused.',
  },
  'gateway.payloads': {
    kind: 'sum',
    unit: '{payload}',
    labels: ['fate'],
    says: 'Payload bodies stored with the request log, and those dropped for lack of room.',
  },
  'gateway.payloads.queued': {
    kind: 'level',
    unit: 'By',
    labels: [],
    says: 'Payload bodies waiting to be written.',
  },
  'gateway.mcp.records': {
    kind: 'sum',
    unit: '{record}',
    labels: ['fate'],
    says: 'Records of MCP tool calls stored, and those dropped for lack of room.',
  },
  'gateway.alert_mails': {
    kind: 'sum',
    unit: '{mail}',
    labels: ['delivery_status'],
    says: 'Budget alert mails that the mail server accepted, and those that failed; the log says why.',
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
    says: 'Statements waiting for a connection.',
  },
  'nodejs.eventloop.delay.p50': {
    kind: 'gauge',
    unit: 's',
    labels: [],
    says: 'Median delay of timers since the previous export.',
  },
  'nodejs.eventloop.delay.p99': {
    kind: 'gauge',
    unit: 's',
    labels: [],
    says: '99th percentile of that delay.',
  },
  'nodejs.eventloop.delay.max': { kind: 'gauge', unit: 's', labels: [], says: 'Maximum of that delay.' },
  'nodejs.eventloop.utilization': {
    kind: 'gauge',
    unit: '1',
    labels: [],
    says: 'Share of time that the event loop was busy since the previous export.',
  },
  'process.cpu.time': { kind: 'sum', unit: 's', labels: ['cpu.mode'], says: 'CPU time of this process.' },
  'process.memory.usage': { kind: 'level', unit: 'By', labels: [], says: 'Resident memory of this process.' },
} as const satisfies Record<string, Metric>;

/** Every metric that the gateway exports; the same table is in docs/telemetry.md. */
export const metricTable = { ...requestMetrics, ...mcpMetrics, ...processMetrics };

export type MetricName = keyof typeof metricTable;
