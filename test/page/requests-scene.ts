import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { basicConfig, type ConfigFile } from '../support/gateway.ts';
import { pageScene } from './page-scene.ts';

const model = (id: string, simulate: string, upstream = 'simulated-fast') => ({
  id,
  routes: [{ provider: 'up', upstream_model: upstream, extra_headers: { 'x-simulate': simulate } }],
});

export const tool = {
  type: 'function',
  function: {
    name: 'look_up',
    description: 'Looks an order up',
    parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  },
};

const config = (upstreamUrl: string, key: string): ConfigFile =>
  basicConfig(upstreamUrl, key, {
    more: {
      models: [
        model('fast', 'usage=last'),
        model('thinker', 'usage=last&reasoning'),
        model('broken', 'status=500&message=The model is on fire'),
        model('unpriced', 'usage=last', 'simulated-other'),
        model('silent', 'usage=none'),
        model('caller', 'usage=last&tools'),
      ],
      service_accounts: [{ id: 'worker', name: 'Nightly worker', team: 'platform' }],
    },
  });

/** A gateway with models that answer, reason, fail, call tools, or have no known cost. */
export function requestsScene() {
  const scene = pageScene(config);

  /** Sends a body to a path of the public API, reads the complete response, and returns its status. */
  async function ask(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
    const answer = await fetch(`${scene.gateway().url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': scene.key, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  const logIdOf = async (requestId: string): Promise<string> => {
    const [row] = await scene.query<{ id: string }>(
      'select request_log_id as id from request_logs where request_id = $1 order by occurred_at desc limit 1',
      [requestId],
    );
    if (row === undefined) throw new Error(`no request ${requestId}`);
    return row.id;
  };

  /** Waits until the payload of a request is stored, which happens after its response. */
  async function stored(requestId: string): Promise<string> {
    for (let tries = 0; tries < 400; tries += 1) {
      const [row] = await scene.query<{ id: string }>(
        'select request_log_id as id from request_logs where request_id = $1 and has_payload',
        [requestId],
      );
      if (row !== undefined) return row.id;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`no payload of ${requestId}`);
  }

  /** Inserts a call of an MCP tool into the database; returns its id. */
  async function mcpCall(over: Readonly<Record<string, string | number | boolean | null>>): Promise<string> {
    const row = {
      mcp_tool_invocation_id: randomUUID(),
      request_id: 'r-mcp',
      server_id: 'files',
      server_display_name: 'Files',
      tool_id: 'files/read',
      tool_display_name: 'Read a file',
      status: 'success',
      policy_result: 'allowed',
      latency_ms: 12,
      arguments_json: '{"arguments": {"path": "/etc/motd"}}',
      result_json: null,
      arguments_truncated: false,
      result_truncated: false,
      occurred_at: new Date().toISOString(),
      ...over,
    };
    const names = Object.keys(row);
    await scene.query(
      `insert into mcp_tool_invocations (${names.join(', ')}) values (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
      Object.values(row),
    );
    return row.mcp_tool_invocation_id;
  }

  return { ...scene, ask, logIdOf, stored, mcpCall };
}

export const rowsOf = (page: Page) => page.getByRole('table').locator('tbody tr');

/** Waits for a list of exactly `n` rows. */
export async function count(page: Page, n: number): Promise<void> {
  const timeout = 20_000;
  if (n > 0)
    await rowsOf(page)
      .nth(n - 1)
      .waitFor({ timeout });
  await rowsOf(page).nth(n).waitFor({ state: 'detached', timeout });
}
