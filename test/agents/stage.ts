import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { stringify } from 'yaml';
import { startEmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { startCommand } from '../e2e/processes.ts';
import { noteServer, serverId } from './mcp.ts';

/** The gateway's configuration of one run: it has a key of its own, so that its calls can be identified. */
export interface Part {
  readonly id: string;
  readonly key: string;
  readonly model: string;
  /** Directives of the simulated upstream. */
  readonly simulate: Readonly<Record<string, string>>;
  /** A hard budget a day, in 1/10000 USD. */
  readonly budget: number;
}

/** A call, from the gateway's log line and its request-log row. */
export interface SeenCall {
  readonly family: string;
  readonly stream: boolean;
  readonly status: number;
  readonly outcome: string;
  readonly error: string | undefined;
  readonly pricing: string | undefined;
  /** The number of its request-log rows. */
  readonly rows: number;
  readonly harness: string | undefined;
  readonly userAgent: string | undefined;
  readonly invokedTools: number | undefined;
  /** The number of MCP servers that it refers to. */
  readonly mcpServers: number | undefined;
}

/** The record of a call of an MCP tool. */
export interface SeenInvocation {
  readonly server: string;
  readonly tool: string;
  readonly status: string;
  readonly error: string | undefined;
}

/** A gateway as `gateway serve` starts it, in front of the simulated upstream, with its own PostgreSQL. */
export interface Stage {
  readonly url: string;
  /** The calls of one run, in their order; waits until no further call arrives. */
  readonly callsOf: (id: string) => Promise<readonly SeenCall[]>;
  readonly invocationsOf: (id: string) => Promise<readonly SeenInvocation[]>;
  /** The calls of the current run, which started after so many lines, if its key is unknown. */
  readonly strangersCalls: (since: number) => Promise<readonly SeenCall[]>;
  /** The number of log lines of requests. */
  readonly lines: () => number;
  readonly stop: () => Promise<void>;
}

const pricesPerMillion = { input_usd_per_million: '0.15', output_usd_per_million: '0.60' };

const configFor = (upstreamUrl: string, mcpUrl: string, parts: readonly Part[]) => ({
  server: { bind: '127.0.0.1:0' },
  providers: [{ id: 'simulated', type: 'compat', base_url: upstreamUrl, auth: { mode: 'none' } }],
  models: parts.map(({ model, simulate }) => ({
    id: model,
    routes: [
      {
        provider: 'simulated',
        upstream_model: 'simulated-fast',
        extra_headers: { 'x-simulate': new URLSearchParams(simulate).toString() },
        compatibility: { compat: { supports_stream_usage: true } },
      },
    ],
  })),
  pricing: { overrides: [{ provider: 'simulated', model: 'simulated-fast', ...pricesPerMillion }] },
  users: parts.map(({ id, budget }) => ({
    email: `${id}@example.com`,
    name: id,
    budget: { cadence: 'daily', amount_10000: budget, hard_limit: true },
  })),
  mcp_servers: [{ id: serverId, url: mcpUrl }],
  api_keys: parts.map(({ id, key }) => ({ name: id, owner: `user:${id}@example.com`, value: key })),
});

/** Starts everything below `folder`; if one part cannot start, the started parts are stopped again. */
export async function setStage(folder: string, parts: readonly Part[]): Promise<Stage> {
  const stack = new AsyncDisposableStack();
  try {
    const upstream = await startSimulatedUpstream({ port: 0 });
    stack.defer(() => upstream.close());
    const notes = await noteServer();
    stack.defer(() => notes.stop());
    const database = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database'), testing: true });
    stack.defer(() => database.stop());
    const config = path.join(folder, 'gateway.yaml');
    await writeFile(config, stringify(configFor(upstream.url, notes.url, parts)));
    const gateway = startCommand(['serve'], { GATEWAY_CONFIG: config, DATABASE_URL: database.url });
    stack.defer(async () => {
      gateway.child.kill('SIGTERM');
      await gateway.exited;
    });
    const [, url = ''] = await gateway.says(/"url":"([^"]+)"/);
    const client = new Client(database.url);
    await client.connect();
    stack.defer(() => client.end());
    return {
      url,
      callsOf: (id) => settled(() => callsIn(gateway.out(), client, id)),
      invocationsOf: (id) => invocationsIn(client, id),
      strangersCalls: (since) =>
        settled(async () =>
          requestLines(gateway.out())
            .slice(since)
            .filter((line) => line['api_key_id'] === undefined && line['family'] !== undefined)
            .map((line) => seenCall(line, [])),
        ),
      lines: () => requestLines(gateway.out()).length,
      stop: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** Milliseconds without a further call or row after which none is expected. */
const quietMs = 400;

async function settled(read: () => Promise<readonly SeenCall[]>): Promise<readonly SeenCall[]> {
  let calls = await read();
  for (;;) {
    await sleep(quietMs);
    const next = await read();
    if (JSON.stringify(next) === JSON.stringify(calls)) return next;
    calls = next;
  }
}

interface Row {
  readonly request_id: string;
  readonly api_key_id: string;
  readonly agent_harness_key: string | null;
  readonly user_agent_raw: string | null;
  readonly invoked_tool_count: number | null;
  readonly referenced_mcp_server_count: number | null;
}

async function callsIn(output: string, client: Client, id: string): Promise<readonly SeenCall[]> {
  const keys = await client.query<{ api_key_id: string }>('select api_key_id from api_keys where name = $1', [
    id,
  ]);
  const keyId = keys.rows[0]?.api_key_id;
  const { rows } = await client.query<Row>('select * from request_logs where api_key_id = $1', [keyId]);
  return requestLines(output)
    .filter((line) => line['api_key_id'] === keyId)
    .map((line) =>
      seenCall(
        line,
        rows.filter((row) => row.request_id === line['request_id']),
      ),
    );
}

async function invocationsIn(client: Client, id: string): Promise<readonly SeenInvocation[]> {
  const { rows } = await client.query<{
    server_id: string;
    tool_id: string;
    status: string;
    error_code: string | null;
  }>(
    `select i.server_id, i.tool_id, i.status, i.error_code
     from mcp_tool_invocations i join api_keys k using (api_key_id) where k.name = $1`,
    [id],
  );
  return rows.map((row) => ({
    server: row.server_id,
    tool: row.tool_id,
    status: row.status,
    error: row.error_code ?? undefined,
  }));
}

const seenCall = (line: Readonly<Record<string, unknown>>, rows: readonly Row[]): SeenCall => ({
  family: String(line['family']),
  stream: line['stream'] === true,
  status: Number(line['status']),
  outcome: String(line['outcome']),
  error: line['error_code'] as string | undefined,
  pricing: line['pricing_status'] as string | undefined,
  rows: rows.length,
  harness: rows[0]?.agent_harness_key ?? undefined,
  userAgent: rows[0]?.user_agent_raw ?? undefined,
  invokedTools: rows[0]?.invoked_tool_count ?? undefined,
  mcpServers: rows[0]?.referenced_mcp_server_count ?? undefined,
});

/** The gateway's log lines about requests; the last line may not be complete yet. */
const requestLines = (output: string): readonly Record<string, unknown>[] =>
  output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line['msg'] === 'request');
