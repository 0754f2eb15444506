import { unbilledReasons } from '../../application/ports/telemetry.ts';

/** Maximum number of values of a caller tag; later ones become `other`. */
export const maxTagValues = 100;
/** The same for models and for upstream models: more than any catalogue that people choose from. */
export const maxModelNames = 1000;
/** The same for providers. */
export const maxProviderNames = 100;
/** The same for MCP servers: more than may be configured at once, as those of earlier configurations count too. */
export const maxMcpServers = 100;
/**
 * Combinations of the labels that all requests have. From half the maximum on, caller tags become `other`: callers
 * choose them freely and could use up the room of all others.
 */
export const labelSetBounds = { foldFrom: 500, max: 1000 } as const;

/** Each label with its values and their maximum number. */
export const labelTable = {
  operation: {
    values: '`chat_completions`, `messages`, `responses`, `embeddings`, `count_tokens`',
    bound: 5,
  },
  stream: { values: '`true`, `false`', bound: 2 },
  model_key: { values: 'a model of the catalogue; `other` for an unknown name', bound: 1001 },
  provider_key: { values: 'a configured provider; `other` when no route was chosen', bound: 101 },
  owner_kind: { values: '`user`, `team` (also service accounts), `none` without a valid key', bound: 3 },
  caller_service: { values: '`x-gateway-service`; left out when absent', bound: 101 },
  caller_component: { values: '`x-gateway-component`; left out when absent', bound: 101 },
  caller_env: { values: '`x-gateway-env`; left out when absent', bound: 101 },
  agent_harness_key: { values: 'the program that the user agent names; `other`, `unknown`', bound: 16 },
  outcome: { values: '`success`, `client_closed`, `interrupted`, … (one per request)', bound: 12 },
  error_code: { values: 'the error’s code; left out on success', bound: 31 },
  token_type: { values: '`input`, `output`', bound: 2 },
  pricing_status: { values: '`priced`, `unpriced`, `usage_missing`, `legacy_estimated`', bound: 4 },
  reason: {
    values: unbilledReasons.map((reason) => `\`${reason}\``).join(', '),
    bound: unbilledReasons.length,
  },
  upstream: { values: '`drained`, `lost`', bound: 2 },
  subject_kind: { values: '`api_key`, `user`, `team`, `model`', bound: 4 },
  measure: { values: '`requests`, `tokens`, `in_flight`', bound: 3 },
  queue: { values: '`admission`, `settlement`', bound: 2 },
  fate: { values: '`kept`, `shed`', bound: 2 },
  delivery_status: { values: '`sent`, `failed`', bound: 2 },
  'mcp.method.name': { values: 'a method of the protocol; `other` for anything else', bound: 25 },
  mcp_server_id: { values: 'a configured MCP server; `other` for an unknown name', bound: 101 },
  invocation_status: { values: '`success`, `policy_denied`, … (as in the records)', bound: 7 },
  'gen_ai.operation.name': { values: '`chat`, `embeddings`, `count_tokens`', bound: 3 },
  'gen_ai.provider.name': {
    values: '`gcp.vertex_ai`, `aws.bedrock`, else the provider’s `pricing_provider_id`',
    bound: 101,
  },
  'gen_ai.request.model': {
    values: 'client metrics: the upstream’s name of the model; server metrics: the catalogue’s',
    bound: 1001,
  },
  'gen_ai.token.type': { values: '`input`, `output`', bound: 2 },
  'error.type': {
    values: 'the upstream’s status, `timeout`, else the error’s code; left out on success',
    bound: 724,
  },
  'db.client.connection.pool.name': { values: '`postgres`', bound: 1 },
  'db.client.connection.state': { values: '`idle`, `used`', bound: 2 },
  'cpu.mode': { values: '`user`, `system`', bound: 2 },
} as const satisfies Record<string, { readonly values: string; readonly bound: number }>;

export type Label = keyof typeof labelTable;
