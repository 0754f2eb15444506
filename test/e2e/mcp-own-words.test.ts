import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';

const scene = mcpScene();
let server: RunningServer;
let gateway: TestGateway;
const heard: string[] = [];

interface Message {
  readonly id?: number;
  readonly method: string;
}

/** A server whose framework answers with JSON of its own where the protocol has no body or another status. */
beforeAll(async () => {
  server = await listening((req, res) => {
    let text = '';
    req.on('data', (piece) => (text += String(piece)));
    req.on('end', () => {
      const json = (status: number, value: unknown): void =>
        void res
          .writeHead(status, { 'content-type': 'application/json', 'mcp-session-id': 'own' })
          .end(JSON.stringify(value));
      const message = req.method === 'POST' ? (JSON.parse(text) as Message) : undefined;
      heard.push(message?.method ?? req.method ?? '');
      if (message === undefined) return json(200, { status: 'ok' });
      const { id, method } = message;
      if (method === 'notifications/roots/list_changed')
        return json(200, { jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'no roots' } });
      if (id === undefined) return json(202, null);
      const about = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        serverInfo: { name: 'o', version: '1' },
      };
      if (method !== 'tools/list')
        return json(200, { jsonrpc: '2.0', id, result: method === 'initialize' ? about : {} });
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const result = { tools: [{ name: 'add', inputSchema: { type: 'object' } }] };
      res.write('event: heartbeat\ndata: alive\n\nevent: progress\ndata: {"done":1}\n\n');
      res.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
      res.end('event: heartbeat\ndata: alive\n\n');
    });
  });
  gateway = await scene.gateway([{ id: 'own', url: server.url }]);
});
afterAll(async () => server.stop());

it('a server that sends JSON bodies to notifications, GET and DELETE works with the official client', async () => {
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp/own`), {
    requestInit: { headers: { authorization: `Bearer ${scene.key}` } },
    reconnectionOptions: {
      initialReconnectionDelay: 20,
      maxReconnectionDelay: 20,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 2,
    },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  expect(await client.ping()).toEqual({});
  await sleep(300);
  await transport.terminateSession();
  await client.close();
  expect(heard).toEqual(['initialize', 'notifications/initialized', 'GET', 'ping', 'DELETE']);
});

it('the end of a session is answered with 200: some clients take 202 for a failure', async () => {
  const authorization = `Bearer ${scene.key}`;
  const response = await fetch(`${gateway.url}/mcp/own`, { method: 'DELETE', headers: { authorization } });
  expect([response.status, await response.text()]).toEqual([200, '']);
});

it('an error in answer to a notification is returned to the caller', async () => {
  const response = await fetch(`${gateway.url}/mcp/own`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${scene.key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' }),
  });
  expect([response.status, await response.json()]).toMatchObject([200, { error: { message: 'no roots' } }]);
});

it.each(['own', ''])(
  "events with names other than `message` are ignored, at the server's path and at /mcp: %j",
  async (path) => {
    const client = await scene.client(gateway, path);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([path === '' ? 'own__add' : 'add']);
  },
);

it.each(['/mcp/own', '/mcp'])('`HEAD %s` is answered with 405 and opens no stream', async (path) => {
  heard.length = 0;
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${scene.key}`, accept: 'text/event-stream', 'mcp-session-id': 'any' },
  });
  expect([response.status, response.headers.get('x-gateway-error')]).toEqual([405, 'no_stream']);
  expect(heard).toEqual([]);
});
