import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { aKey, basicConfig, queries } from '../support/gateway.ts';
import { simulatedScene } from './simulated-scene.ts';

const key = aKey();
const mcpServers = [
  { id: 'files', url: 'http://127.0.0.1:9/mcp', denied_tools: ['write'] },
  { id: 'search', url: 'http://127.0.0.1:9/mcp' },
];
const scene = simulatedScene((upstream) => basicConfig(upstream, key, { more: { mcp_servers: mcpServers } }));
const query = queries(scene.databaseUrl);

const chatTool = (name: string) => ({ type: 'function', function: { name, parameters: {} } });
const messages = [{ role: 'user', content: 'hello' }];
const names = ['mcp__files__read', 'files__write', 'search__find', 'own_tool'];

async function logged(path: string, body: object, requestId: string = randomUUID()) {
  const answer = await fetch(`${scene.gateway().url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-request-id': requestId,
    },
    body: JSON.stringify({ model: 'fast', ...body }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  const [row] = await query(
    `select exposed_tool_count, referenced_mcp_server_count, filtered_tool_count, request_log_id
     from request_logs where request_id = '${requestId}'`,
  );
  return { requestId, row };
}

async function overhead(requestId: string): Promise<readonly object[]> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const rows = await query<object>(
      `select request_log_id, server_count, tool_count, tool_definition_bytes::int, tool_definition_tokens, tool_result_tokens
       from request_mcp_token_overheads where request_id = '${requestId}'`,
    );
    if (rows.length > 0) return rows;
    await sleep(20);
  }
  return [];
}

const counted = { exposed_tool_count: 4, referenced_mcp_server_count: 2, filtered_tool_count: 1 };

describe('a model request with tools of configured MCP servers', () => {
  it.each<[string, { readonly tools: readonly object[]; readonly [member: string]: unknown }]>([
    ['/v1/chat/completions', { messages, tools: names.map(chatTool) }],
    [
      '/v1/responses',
      { input: 'hello', tools: names.map((name) => ({ type: 'function', name, parameters: {} })) },
    ],
    [
      '/v1/responses',
      {
        input: 'hello',
        tools: [
          ...['files__write', 'search__find', 'mcp__files__read'].map((name) => ({
            type: 'function',
            name,
            parameters: {},
          })),
          { type: 'namespace', name: 'mcp__own', tools: [{ type: 'function', name: 'x', parameters: {} }] },
        ],
      },
    ],
    [
      '/v1/messages',
      { messages, max_tokens: 10, tools: names.map((name) => ({ name, input_schema: { type: 'object' } })) },
    ],
    [
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: 'x'.repeat(1_200_000) }], tools: names.map(chatTool) },
    ],
  ])('at %s counts the servers, and the tools that the policy denies (%#)', async (path, body) => {
    const { requestId, row } = await logged(path, body);
    expect(row).toMatchObject(counted);
    expect(await overhead(requestId)).toEqual([
      {
        request_log_id: row?.['request_log_id'],
        server_count: 2,
        tool_count: 3,
        tool_definition_bytes: body.tools
          .slice(0, 3)
          .reduce((sum, tool) => sum + JSON.stringify(tool).length, 0),
        tool_definition_tokens: null,
        tool_result_tokens: null,
      },
    ]);
  });

  it('without such tools logs zero counts and no overhead row', async () => {
    const { requestId, row } = await logged('/v1/chat/completions', { messages });
    expect(row).toMatchObject({
      exposed_tool_count: 0,
      referenced_mcp_server_count: 0,
      filtered_tool_count: 0,
    });
    await sleep(100);
    expect(
      await query(`select 1 from request_mcp_token_overheads where request_id = '${requestId}'`),
    ).toEqual([]);
  });

  it('is linked to the tool calls with the same request id, made before it or after it', async () => {
    const requestId = randomUUID();
    const call = async (): Promise<void> => {
      const answer = await fetch(`${scene.gateway().url}/mcp/files`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-11-25',
          'x-request-id': requestId,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read' } }),
      });
      await answer.text();
    };
    const links = async (count: number): Promise<readonly unknown[]> => {
      for (let tries = 0; tries < 1000; tries += 1) {
        const rows = await query(
          `select request_log_id from mcp_tool_invocations
           where request_id = '${requestId}' and request_log_id is not null`,
        );
        if (rows.length >= count) return rows;
        await sleep(20);
      }
      return [];
    };
    await call();
    for (let tries = 0; tries < 1000; tries += 1) {
      if ((await query(`select from mcp_tool_invocations where request_id = '${requestId}'`)).length > 0)
        break;
      await sleep(20);
    }
    const { row } = await logged('/v1/chat/completions', { messages, tools: names.map(chatTool) }, requestId);
    const own = { request_log_id: row?.['request_log_id'] };
    expect(await links(1)).toEqual([own]);
    await call();
    expect(await links(2)).toEqual([own, own]);
  });

  it('is counted in the tool cardinality rollups', async () => {
    const [sums] = await query(
      `select sum(referenced_mcp_server_sum)::int as servers, sum(referenced_mcp_server_rows)::int as rows,
              sum(filtered_tool_sum)::int as filtered, sum(filtered_tool_rows)::int as filtered_rows
       from tool_cardinality_rollups`,
    );
    const [logs] = await query(
      `select sum(referenced_mcp_server_count)::int as servers, count(referenced_mcp_server_count)::int as rows,
              sum(filtered_tool_count)::int as filtered, count(filtered_tool_count)::int as filtered_rows
       from request_logs`,
    );
    expect(sums).toEqual(logs);
    expect(logs).toMatchObject({ servers: 12, rows: 7, filtered: 6 });
  });
});
