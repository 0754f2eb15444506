import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { checkMcpServers } from '../../composition/mcp-check.ts';
import { toMcpServer } from '../../infrastructure/config/mcp-config.ts';
import { checkConfigCommand } from '../../interfaces/cli/check-config.ts';
import { type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import type { TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer, sdkServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';

const scene = mcpScene();
const running: RunningServer[] = [];
const token = 'a-token-of-the-server-0123456789';
const toldToken = 'told-0123456789';
/** A server whose answers quote the credential that it was called with. */
const echoing: RequestListener = (req, res) => void echo(req, res);
async function echo(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { id, method } = (await json(req)) as { readonly id?: string; readonly method: string };
  const { authorization = '' } = req.headers;
  const told = authorization.replace('Bearer ', '');
  const result =
    method === 'initialize'
      ? { protocolVersion: told, capabilities: {} }
      : { tools: [{ name: `of-${told}`, title: `called by ${authorization}` }] };
  res.writeHead(id === undefined ? 202 : 200, { 'content-type': 'application/json' });
  res.end(id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result }));
}
let admin: AdminClient;
let gateway: TestGateway;
let url: string;
let closedUrl: string;

beforeAll(async () => {
  const own = await sdkServer(() => {
    const server = new McpServer({ name: 'own', version: '1' });
    server.registerTool('read', { title: 'Read it', inputSchema: {} }, () => ({ content: [] }));
    server.registerTool('write', { inputSchema: {} }, () => ({ content: [] }));
    return server;
  });
  const telling = await listening(echoing);
  const closed = await listening((_req, res) => void res.writeHead(401).end());
  running.push(own, closed, telling);
  url = own.url;
  closedUrl = closed.url;
  gateway = await scene.gateway([
    {
      id: 'own',
      display_name: 'Own',
      url,
      auth: { mode: 'bearer', token },
      allowed_owners: ['team:platform', 'user:A@example.com'],
      denied_tools: ['write'],
    },
    { id: 'closed', url: closedUrl },
    { id: 'telling', url: telling.url, auth: { mode: 'bearer', token: toldToken } },
  ]);
  await makeAdmin(scene.databaseUrl());
  admin = await adminClient(gateway.url);
});
afterAll(async () => {
  for (const server of running) await server.stop();
});

describe('MCP servers', () => {
  it('are listed with their allowed owners and without credentials', async () => {
    const { text, data } = await admin('GET', '/api/v1/admin/mcp-servers');
    expect(data).toMatchObject({
      total: 3,
      items: [
        {
          server_id: 'own',
          display_name: 'Own',
          url,
          auth_mode: 'bearer',
          allowed_owners: [
            { owner_kind: 'team', owner: 'platform' },
            { owner_kind: 'user', owner: 'a@example.com' },
          ],
          allowed_tools: null,
          denied_tools: ['write'],
        },
        { server_id: 'closed', allowed_owners: [{ owner_kind: 'everyone', owner: null }] },
        { server_id: 'telling' },
      ],
    });
    expect(text).not.toContain(token);
    const second = await admin('GET', '/api/v1/admin/mcp-servers?page=2&page_size=1');
    expect(second.data).toMatchObject({ total: 3, items: [{ server_id: 'closed' }] });
  });

  it('are listed with the placeholders of their URLs, since URLs of hosted servers contain keys', async () => {
    const written = 'https://mcp.example.com/${HOSTED_KEY}/mcp';
    const secret = 'hosted-0123456789';
    const hosted = await scene.gateway([{ id: 'hosted', url: written }], {}, { HOSTED_KEY: secret });
    const { text, data } = await (await adminClient(hosted.url))('GET', '/api/v1/admin/mcp-servers');
    expect(data).toMatchObject({ items: [{ server_id: 'hosted', url: written }] });
    expect(text).not.toContain(secret);
  });

  it('are shown with their health and tools', async () => {
    expect((await admin('GET', '/api/v1/admin/mcp-servers/own')).data).toMatchObject({
      healthy: true,
      error_code: null,
      protocol_version: '2025-11-25',
      tools: [
        { name: 'read', title: 'Read it', union_name: 'own__read', open: true },
        { name: 'write', title: null, union_name: 'own__write', open: false },
      ],
    });
    expect((await admin('GET', '/api/v1/admin/mcp-servers/closed')).data).toMatchObject({
      healthy: false,
      error_code: 'upstream_unauthorized',
      protocol_version: null,
      tools: [],
    });
    expect((await admin('GET', '/api/v1/admin/mcp-servers/nothing')).status).toBe(404);
  });

  it('have their credentials redacted in the tool names that they return', async () => {
    const { text, data } = await admin('GET', '/api/v1/admin/mcp-servers/telling');
    expect(data).toMatchObject({
      healthy: true,
      protocol_version: '[REDACTED]',
      tools: [
        {
          name: 'of-[REDACTED]',
          title: 'called by Bearer [REDACTED]',
          union_name: expect.stringMatching(/^telling__of-_REDACTED_/),
        },
      ],
    });
    expect(text).not.toContain(toldToken);
  });

  it('have their tools recorded with the titles that they last listed', async () => {
    const client = await scene.client(gateway, 'own');
    await client.callTool({ name: 'read', arguments: {} });
    await client.listTools();
    await client.callTool({ name: 'read', arguments: {} });
    expect(await scene.records(2, `tool_id = 'own/read'`)).toMatchObject([
      { server_display_name: 'Own', tool_display_name: null },
      { server_display_name: 'Own', tool_display_name: 'Read it' },
    ]);
  });

  it('are connected to by check-config only with --mcp', async () => {
    const wire = (id: string, at: string): Parameters<typeof toMcpServer>[0] => ({
      id,
      display_name: undefined,
      url: at,
      transport: 'streamable_http',
      auth: { mode: 'none' },
      allowed_owners: ['*'],
      allowed_tools: ['read'],
      denied_tools: [],
      timeout_ms: 20_000,
      max_result_bytes: 10_000,
    });
    const said: string[] = [];
    const terminal = {
      out: (line: string) => void said.push(line),
      err: (line: string) => void said.push(line),
    };
    const check =
      (...servers: readonly ReturnType<typeof wire>[]) =>
      async () => ({
        problems: [],
        warnings: [],
        mcpServers: () => checkMcpServers({ mcpServers: servers.map(toMcpServer) }),
      });
    const good = checkConfigCommand(check(wire('own', url)), 'g.yaml', terminal);
    expect(await good(['--mcp'])).toBe(0);
    expect(said).toContain('MCP server own: 2 tools, 1 of them open');
    const bad = checkConfigCommand(check(wire('closed', closedUrl)), 'g.yaml', terminal);
    expect(await bad([])).toBe(0);
    expect(await bad(['--mcp'])).toBe(1);
    expect(said.at(-1)).toMatch(/^error MCP server closed: The server does not accept/);
  });
});
