import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';

export interface RecordRow {
  readonly server_id: string;
  readonly tool_id: string;
  readonly status: string;
  readonly policy_result: string;
  readonly error_code: string | null;
  readonly request_id: string;
  readonly user_id: string | null;
  readonly arguments_json: unknown;
  readonly result_json: unknown;
}

/** A gateway with MCP servers, and the official client. */
export function mcpScene() {
  const database = withDatabase();
  const query = queries(database.url);
  const key = aKey();
  const otherKey = aKey();
  const clients: Client[] = [];
  const gateways: TestGateway[] = [];
  afterAll(async () => {
    for (const client of clients) await client.close().catch(() => undefined);
    for (const gateway of gateways) await gateway.stop();
  });

  const config = (servers: readonly object[], more: ConfigFile = {}): ConfigFile =>
    basicConfig('http://127.0.0.1:1/v1', key, {
      user: { team: 'platform' },
      more: {
        mcp_servers: servers,
        service_accounts: [{ id: 'worker', team: 'platform' }],
        api_keys: [
          { name: 'dev', owner: 'user:a@example.com', value: key },
          { name: 'worker', owner: 'service_account:worker', value: otherKey },
        ],
        ...more,
      },
    });

  return {
    key,
    otherKey,
    config,
    query,
    databaseUrl: database.url,
    gateway: async (
      servers: readonly object[],
      more: ConfigFile = {},
      environment: Readonly<Record<string, string>> = {},
    ): Promise<TestGateway> => {
      const gateway = await startGateway(config(servers, more), database.url(), environment);
      gateways.push(gateway);
      return gateway;
    },
    client: async (
      gateway: TestGateway,
      server: string,
      { with: credential = key, capabilities = {}, headers = {} }: ClientTerms = {},
    ): Promise<Client> => {
      const client = new Client({ name: 'test', version: '1' }, { capabilities });
      clients.push(client);
      await client.connect(transportOf(gateway, server, credential, headers));
      return client;
    },
    /** The records that match, once there are at least `count` of them. */
    records: async (count: number, where = 'true'): Promise<readonly RecordRow[]> => {
      for (let tries = 0; tries < 1000; tries += 1) {
        const rows = await query<RecordRow>(
          `select * from mcp_tool_invocations where ${where} order by occurred_at, mcp_tool_invocation_id`,
        );
        if (rows.length >= count) return rows;
        await sleep(20);
      }
      return query<RecordRow>(`select * from mcp_tool_invocations where ${where}`);
    },
  };
}

export interface ClientTerms {
  readonly with?: string;
  readonly capabilities?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export const transportOf = (
  gateway: Pick<TestGateway, 'url'>,
  server: string,
  key: string,
  headers: Readonly<Record<string, string>> = {},
) =>
  // The SDK's own types do not agree with exactOptionalPropertyTypes.
  new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp${server === '' ? '' : `/${server}`}`), {
    requestInit: { headers: { authorization: `Bearer ${key}`, ...headers } },
  }) as unknown as Parameters<Client['connect']>[0];
