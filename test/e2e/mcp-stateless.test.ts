import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { checkMcpServers } from '../../composition/mcp-check.ts';
import { toMcpServer } from '../../infrastructure/config/mcp-config.ts';
import type { TestGateway } from '../support/gateway.ts';
import { everythingServer, listening, type RunningServer } from '../support/mcp-servers.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { mcpScene } from './mcp-scene.ts';

const scene = mcpScene();
const running: RunningServer[] = [];
const sessions: (string | null)[] = [];
let gateway: TestGateway;
let toolsChanged: () => void;

/** A server of the official SDK that speaks 2026-07-28, and earlier revisions on request unless it rejects them. */
async function statelessServer(legacy: 'stateless' | 'reject' = 'stateless'): Promise<RunningServer> {
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'modern', version: '1' });
      server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
        content: [{ type: 'text', text: String(a + b) }],
      }));
      server.registerPrompt('grüße', {}, () => ({
        messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }],
      }));
      server.registerTool('closed', { inputSchema: z.object({}) }, () => ({ content: [] }));
      return server;
    },
    { legacy },
  );
  toolsChanged = () => handler.notify.toolsChanged();
  return listening((req, res) => {
    const answer = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      const headers = new Headers(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
      sessions.push(headers.get('mcp-session-id'));
      const init = {
        method: req.method ?? '',
        headers,
        ...(req.method === 'POST' ? { body: Buffer.concat(chunks) } : {}),
      };
      const answered = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, init));
      res.writeHead(answered.status, Object.fromEntries(answered.headers));
      res.flushHeaders();
      for await (const piece of answered.body ?? []) res.write(piece);
      res.end();
    };
    void answer();
  });
}

async function connected(server: string): Promise<Client> {
  const client = new Client({ name: 'm', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const requestInit = { headers: { authorization: `Bearer ${scene.key}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp/${server}`), { requestInit }),
  );
  return client;
}

beforeAll(async () => {
  running.push(await statelessServer(), await everythingServer());
  gateway = await scene.gateway([
    { id: 'modern', url: running[0]!.url, denied_tools: ['closed'] },
    { id: 'hasty', url: running[0]!.url, timeout_ms: 500 },
    { id: 'older', url: running[1]!.url },
  ]);
});
afterAll(async () => {
  for (const server of running) await server.stop();
});

describe('the revision without sessions (2026-07-28)', () => {
  it('works between the official client and the official server, under the same policy', async () => {
    const client = await connected('modern');
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect((await client.listTools()).tools.map(({ name }) => name).toSorted()).toEqual(['add']);
    const sum = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } });
    expect(sum.content).toEqual([{ type: 'text', text: '5' }]);
    const { messages } = await client.getPrompt({ name: 'grüße' });
    expect(JSON.stringify(messages)).toContain('hello');
    await expect(client.callTool({ name: 'closed', arguments: {} })).rejects.toThrow('may not use the tool');
    expect(await scene.records(1, `tool_id = 'modern/add'`)).toMatchObject([{ status: 'success' }]);
    expect(await scene.records(1, `tool_id = 'modern/closed'`)).toMatchObject([{ status: 'policy_denied' }]);
    expect(sessions.every((session) => session === null)).toBe(true);
    await client.close();
  });

  it("has subscriptions that last longer than a call's timeout", async () => {
    const client = await undisturbed(300, async () => {
      const subscriber = await connected('hasty');
      await subscriber.listen({ toolsListChanged: true });
      return subscriber;
    });
    const changed = new Promise<void>((resolve) => {
      client.setNotificationHandler('notifications/tools/list_changed', async () => resolve());
    });
    await new Promise((resolve) => setTimeout(resolve, 700));
    toolsChanged();
    await changed;
    await client.close();
  });

  it('is the one that a server is inspected in if it speaks no other', async () => {
    const server = await statelessServer('reject');
    running.push(server);
    const checked = await checkMcpServers({
      mcpServers: [
        toMcpServer({
          id: 'strict',
          display_name: undefined,
          url: server.url,
          transport: 'streamable_http',
          auth: { mode: 'none' },
          allowed_owners: ['*'],
          allowed_tools: undefined,
          denied_tools: ['closed'],
          timeout_ms: 20_000,
          max_result_bytes: 10_000,
        }),
      ],
    });
    expect(checked).toEqual([{ id: 'strict', error: undefined, says: '2 tools, 1 of them open' }]);
  });

  it('falls back to an older revision where the server supports no other', async () => {
    const client = await connected('older');
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
    const echoed = await client.callTool({ name: 'echo', arguments: { message: 'm' } });
    expect(JSON.stringify(echoed.content)).toContain('m');
    await client.close();
  });

  it('is optional: a client of the previous revision gets answers from the same server', async () => {
    const client = await scene.client(gateway, 'modern');
    const sum = await client.callTool({ name: 'add', arguments: { a: 1, b: 1 } });
    expect(sum.content).toEqual([{ type: 'text', text: '2' }]);
  });
});
