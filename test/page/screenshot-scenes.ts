import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { sdkServer } from '../support/mcp-servers.ts';
import { run, type Stage } from './stage.ts';

const look = {
  type: 'function',
  function: {
    name: 'look_up',
    description: 'Looks a word up.',
    parameters: { type: 'object', properties: { word: { type: 'string' } } },
  },
};
const turn = (content: string) => ({ messages: [{ role: 'user', content }] });

interface Call {
  readonly key: keyof Stage['keys'];
  readonly path?: string;
  readonly body: object;
  readonly agent?: string;
}

const calls: readonly Call[] = [
  {
    key: 'person',
    body: { model: 'fast', ...turn('What is a ledger?') },
    agent: 'claude-cli/2.0.1 (external, cli)',
  },
  {
    key: 'person',
    body: { model: 'tools', ...turn('Look up “budget”.'), tools: [look] },
    agent: 'codex_cli_rs/0.46.0',
  },
  { key: 'person', body: { model: 'thinker', stream: true, ...turn('Think it over.') } },
  { key: 'team', body: { model: 'broken', ...turn('This one fails upstream.') } },
  { key: 'team', body: { model: 'nowhere', ...turn('Nobody knows this model.') } },
  {
    key: 'worker',
    path: 'messages',
    body: { model: 'fast', max_tokens: 100, ...turn('In the other shape.') },
  },
  { key: 'worker', path: 'responses', body: { model: 'fast', input: 'A response, please.' } },
  { key: 'worker', path: 'embeddings', body: { model: 'embed', input: ['one', 'two'] } },
  { key: 'team', body: { model: 'experimental', ...turn('Nobody knows its price.') } },
  { key: 'person', body: { model: 'fast', ...turn('Refused: '), temperature: 'hot' } },
];

/**
 * Creates a day of data: requests of every family, budgets that are nearly used up or exceeded, rate limits,
 * and changes by admins.
 */
export async function playScenes(stage: Stage): Promise<void> {
  await callAll(stage);
  const owners = (await stage.admin('GET', '/spend/budgets')) as {
    readonly users: readonly {
      readonly user_id: string;
      readonly name: string;
      readonly current_window: Spent;
    }[];
    readonly teams: readonly { readonly team_id: string; readonly current_window: Spent }[];
  };
  const people = owners.users.toSorted((one, other) => spent(other) - spent(one)).slice(0, 8);
  const parts = [3000, 1000, 500, 130, 118, 110, 104, 90];
  for (const [n, { user_id: id, ...window }] of people.entries())
    await stage.admin('PUT', `/spend/budgets/users/${id}`, {
      cadence: 'monthly',
      amount_10000: Math.round((spent(window) * (parts[n] ?? 200)) / 100),
      hard_limit: n % 3 !== 0,
    });
  for (const [n, { team_id: id }] of owners.teams.slice(0, 4).entries())
    await stage.admin('PUT', `/spend/budgets/teams/${id}`, {
      cadence: n % 2 === 0 ? 'weekly' : 'monthly',
      amount_10000: 5_000_000 * (n + 1),
      hard_limit: n % 2 === 0,
    });
  await meetTheBudget(stage, owners.users.find(({ name }) => name === 'Ada Lovelace')?.user_id ?? '');
  await limitThem(
    stage,
    people.map(({ user_id: id }) => id),
  );
  await stage.admin('POST', '/api-keys', {
    name: 'pipeline',
    owner_kind: 'team',
    owner_id: 'platform',
    allowed_models: ['fast', 'embed'],
    expires_at: new Date(Date.now() + 30 * 86_400_000).toISOString(),
  });
  await stage.admin('PATCH', '/teams/team-20', { active: false });
  await run(stage.databaseUrl, invocations);
  await callAll(stage);
}

interface Spent {
  readonly spend_usd_10000: number;
}
const spent = ({ current_window: window }: { readonly current_window: Spent }): number =>
  window.spend_usd_10000;

async function callAll(stage: Stage): Promise<void> {
  for (const { key, path = 'chat/completions', body, agent } of calls) {
    const answer = await fetch(`${stage.url}/v1/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stage.keys[key]}`,
        'content-type': 'application/json',
        'x-gateway-service': 'checkout',
        'x-gateway-component': 'cart',
        'x-gateway-env': 'prod',
        'x-gateway-tags': 'customer=acme; feature=search',
        ...(agent === undefined ? {} : { 'user-agent': agent }),
      },
      body: JSON.stringify(body),
    });
    await answer.text();
  }
}

/** Sets a budget of one unit, which the next answer exceeds. */
async function meetTheBudget(stage: Stage, userId: string): Promise<void> {
  const path = `/spend/budgets/users/${userId}`;
  const terms = { cadence: 'daily', hard_limit: true };
  for (const amount_10000 of [500_000, 250_000, 1])
    await stage.admin('PUT', path, { ...terms, amount_10000 });
  await callAll(stage);
  await stage.admin('PUT', path, { ...terms, amount_10000: 20 });
}

async function limitThem(stage: Stage, people: readonly string[]): Promise<void> {
  for (const [n, id] of people.slice(0, 3).entries())
    await stage.admin('PUT', `/rate-limits/users/${id}`, { requests_per_minute: 60 * (n + 1) });
  await stage.admin('PUT', '/rate-limits/teams/platform', {
    requests_per_minute: 12,
    tokens_per_minute: 100_000,
  });
  await stage.admin('PUT', '/rate-limits/models/opus-like', {
    requests_in_flight: 20,
    tokens_per_minute: 2_000_000,
  });
}

/** Starts an MCP server with open and closed tools; `configured` has it and an unreachable one. */
export async function startMcpServers() {
  const running = await sdkServer(() => {
    const server = new McpServer({ name: 'files', version: '1' });
    for (const [name, title] of tools)
      server.registerTool(name, { title, inputSchema: {} }, () => ({ content: [] }));
    return server;
  });
  return {
    stop: running.stop,
    configured: [
      {
        id: 'files',
        display_name: 'Files',
        url: running.url,
        auth: { mode: 'bearer', token: 'a-token-of-the-server-0123456789' },
        allowed_owners: ['team:platform', 'user:ada@example.com', 'service_account:indexer'],
        allowed_tools: ['read*', 'search', 'list_*'],
        denied_tools: ['read_secret'],
      },
      { id: 'tickets', display_name: 'Tickets', url: 'http://127.0.0.1:1/mcp' },
    ],
  };
}

const tools = [
  ['read', 'Read a file'],
  ['read_secret', 'Read a secret'],
  ['search', 'Search in files'],
  ['list_directory', 'List a directory'],
  ['write', 'Write a file'],
  ['a_tool_whose_name_is_longer_than_what_providers_of_models_take_as_a_name', 'A long one'],
] as const;

/** Inserts MCP tool calls of the newest requests. */
const invocations = `
  insert into mcp_tool_invocations (
    mcp_tool_invocation_id, request_id, request_log_id, api_key_id, user_id, team_id, owner_kind, server_id,
    server_display_name, tool_id, tool_display_name, status, policy_result, latency_ms, error_code, arguments_json,
    result_json, arguments_truncated, result_truncated, occurred_at)
  select uuidv7(), request_id, request_log_id, api_key_id, user_id, case when user_id is null then team_id end,
         case when user_id is not null then 'user' when team_id is not null then 'team' end,
         case when n % 3 = 0 then 'files' else 'tickets' end, case when n % 3 = 0 then 'Files' else 'Tickets' end,
         case when n % 3 = 0 then 'files/' else 'tickets/' end || case when n % 2 = 0 then 'search' else 'read' end, null,
         case when n % 11 = 0 then 'timeout' when n % 7 = 0 then 'policy_denied' else 'success' end,
         case when n % 7 = 0 and n % 11 <> 0 then 'denied' else 'allowed' end, 20 + n * 13 % 900,
         case when n % 11 = 0 then 'timeout' end, '{"query": "refund policy"}', '{"found": 3}', false, n % 5 = 0, occurred_at
  from (select *, row_number() over (order by occurred_at desc) as n from request_logs order by occurred_at desc limit 60) l`;
