import { type AdminAuthConfig, adminAuthCodec, toAdminAuth } from './admin-auth-config.ts';
import {
  type AccountingConfig,
  accountingCodec,
  type PricingConfig,
  pricingCodec,
  type RequestLoggingConfig,
  requestLoggingCodec,
  toAccounting,
  toPricing,
  toRequestLogging,
} from './accounting-config.ts';
import {
  type McpLoggingConfig,
  mcpLoggingCodec,
  type McpServerConfig,
  mcpServerCodec,
  toMcpServer,
} from './mcp-config.ts';
import { type ExportConfig, exportCodec, toExport } from './export-config.ts';
import { type DatabaseConfig, databaseCodec, toDatabase } from './database-config.ts';
import { type ModelConfig, modelCodec, toModel } from './model-config.ts';
import { list, object, optional, withDefault } from './object-codecs.ts';
import {
  type ApiKeyConfig,
  apiKeyCodec,
  type ServiceAccountConfig,
  serviceAccountCodec,
  type TeamConfig,
  teamCodec,
  toApiKey,
  toServiceAccount,
  toTeam,
  toUser,
  type UserConfig,
  userCodec,
} from './owner-config.ts';
import { type ProviderConfig, providerCodec, toProvider } from './provider-config.ts';
import type { TypeOf } from './scalar-codecs.ts';
import {
  type BudgetAlertsConfig,
  budgetAlertsCodec,
  type MailConfig,
  mailCodec,
  type ServerConfig,
  serverCodec,
  toBudgetAlerts,
  toMail,
  toServer,
} from './server-config.ts';

/**
 * The whole file: its keys, defaults, units and bounds. Validation, the JSON Schema and the search for secrets all use
 * this one value. Lists are bounded well above what people write by hand, and below what would slow down a start.
 */
export const gatewayCodec = object({
  server: withDefault(serverCodec, {}, 'The listener, its bounds and the telemetry export.'),
  database: withDefault(databaseCodec, {}, 'Where the tables are stored.'),
  admin_auth: withDefault(adminAuthCodec, {}, 'How people sign in to the admin API.'),
  mail: optional(mailCodec, 'How budget alerts are mailed; without it no mail is sent.'),
  budget_alerts: withDefault(budgetAlertsCodec, {}, 'How often the gateway polls for budget alerts to mail.'),
  request_logging: withDefault(
    requestLoggingCodec,
    {},
    'What is logged of requests, and for how long it is kept.',
  ),
  export: withDefault(exportCodec, {}, 'Object storage that request logs and the ledger are exported to.'),
  accounting: withDefault(
    accountingCodec,
    {},
    'How the ledger treats duplicate request ids, blocked costs and client disconnects.',
  ),
  pricing: withDefault(pricingCodec, {}, 'Prices in addition to the bundled catalogue.'),
  providers: withDefault(list(providerCodec, 1000), [], 'Upstream services.'),
  models: withDefault(
    list(modelCodec, 10_000),
    [],
    'Models that callers may request, and the routes that serve them.',
  ),
  // Each server is asked when a caller opens a session with all of them.
  mcp_servers: withDefault(
    list(mcpServerCodec, 64),
    [],
    'MCP servers that callers reach through the gateway.',
  ),
  mcp_logging: withDefault(mcpLoggingCodec, {}, 'How long records of MCP tool calls are kept.'),
  teams: withDefault(list(teamCodec, 10_000), [], 'Owners of keys and budgets.'),
  service_accounts: withDefault(
    list(serviceAccountCodec, 10_000),
    [],
    'Callers that are not people; their team pays.',
  ),
  users: withDefault(
    list(userCodec, 100_000),
    [],
    'People: owners of keys and budgets, and platform admins.',
  ),
  api_keys: withDefault(list(apiKeyCodec, 100_000), [], 'API keys that the file defines.'),
});

/** The decoded file, still with the names of the file. */
export type GatewayWire = TypeOf<typeof gatewayCodec>;

/** The configuration as the code uses it: camelCase, units in names, defaults filled in. */
export interface GatewayConfig {
  /** `GATEWAY_DATA_DIR`: the directory of an embedded database and the journal. */
  readonly dataDir: string;
  readonly server: ServerConfig;
  readonly database: DatabaseConfig;
  readonly adminAuth: AdminAuthConfig;
  /** Without it alerts are never mailed (`mail_not_configured`). */
  readonly mail: MailConfig | undefined;
  readonly budgetAlerts: BudgetAlertsConfig;
  readonly requestLogging: RequestLoggingConfig;
  readonly export: ExportConfig;
  readonly accounting: AccountingConfig;
  readonly pricing: PricingConfig;
  readonly providers: readonly ProviderConfig[];
  readonly models: readonly ModelConfig[];
  readonly mcpServers: readonly McpServerConfig[];
  readonly mcpLogging: McpLoggingConfig;
  readonly teams: readonly TeamConfig[];
  readonly serviceAccounts: readonly ServiceAccountConfig[];
  readonly users: readonly UserConfig[];
  readonly apiKeys: readonly ApiKeyConfig[];
}

/** Converts the names of the file to those of the code. */
export const toConfig = (wire: GatewayWire, dataDir: string): GatewayConfig => ({
  server: toServer(wire.server),
  database: toDatabase(wire.database, dataDir),
  dataDir,
  adminAuth: toAdminAuth(wire.admin_auth),
  mail: wire.mail === undefined ? undefined : toMail(wire.mail),
  budgetAlerts: toBudgetAlerts(wire.budget_alerts),
  requestLogging: toRequestLogging(wire.request_logging),
  export: toExport(wire.export),
  accounting: toAccounting(wire.accounting),
  pricing: toPricing(wire.pricing),
  providers: wire.providers.map(toProvider),
  models: wire.models.map(toModel),
  mcpServers: wire.mcp_servers.map(toMcpServer),
  mcpLogging: { retention: wire.mcp_logging.retention },
  teams: wire.teams.map(toTeam),
  serviceAccounts: wire.service_accounts.map(toServiceAccount),
  users: wire.users.map(toUser),
  apiKeys: wire.api_keys.map(toApiKey),
});
