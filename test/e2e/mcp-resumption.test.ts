import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer, sdkServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';

const scene = mcpScene();
let server: RunningServer;
let polled: RunningServer;
let gateways: readonly TestGateway[];
/** Resolved once the client has resumed the stream; the tool works until then. */
const resumed = Promise.withResolvers<void>();

beforeAll(async () => {
  server = await sdkServer(() => {
    const own = new McpServer({ name: 'own', version: '1' });
    own.registerTool('slow', { inputSchema: {} }, async () => {
      await resumed.promise;
      await sleep(200);
      return { content: [{ type: 'text', text: 'completed' }] };
    });
    return own;
  });
  polled = await polledServer();
  const servers = [
    { id: 'own', url: server.url },
    { id: 'polled', url: polled.url },
  ];
  gateways = [await scene.gateway(servers), await scene.gateway(servers)];
});
afterAll(async () => {
  await server.stop();
  await polled.stop();
});

/** A server that ends each answer to be asked for the rest, and says how in named events, as the Go SDK does. */
const polledServer = () =>
  listening((req, res) => {
    let body = '';
    req.on('data', (piece) => (body += String(piece)));
    req.on('end', () => {
      const { id, method } = JSON.parse(body === '' ? '{}' : body);
      const after = String(req.headers['last-event-id'] ?? '');
      if (req.method === 'GET' && after === '') return void res.writeHead(405).end();
      if (req.method !== 'GET' && id === undefined) return void res.writeHead(202).end();
      const about = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        serverInfo: { name: 'p', version: '1' },
      };
      const result = (of: unknown, value: object): string =>
        JSON.stringify({ jsonrpc: '2.0', id: of, result: value });
      if (method === 'initialize')
        return void res
          .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'own' })
          .end(result(id, about));
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      if (req.method === 'GET')
        return void res.end(`id: ${after}_1\ndata: ${result(Number(after), { content: [] })}\n\n`);
      res.end(`event: prime\nid: ${id}\ndata: \n\nevent: close\nretry: 20\ndata: reason\n\n`);
    });
  });

/** The response with an error after its first chunk, as if the connection had broken. */
function brokenOff(response: Response): Response {
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      controller.enqueue(chunk);
      controller.error(new Error('broken off'));
    },
  });
  const { status, headers } = response;
  return new Response(response.body?.pipeThrough(cut) ?? null, { status, headers });
}

it('an answer whose connection broke is resumed at another replica', async () => {
  const asked: string[] = [];
  let isBroken = false;
  const [one, other] = gateways;
  const transport = new StreamableHTTPClientTransport(new URL(`${one!.url}/mcp/own`), {
    requestInit: { headers: { authorization: `Bearer ${scene.key}` } },
    reconnectionOptions: {
      initialReconnectionDelay: 50,
      maxReconnectionDelay: 100,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 5,
    },
    fetch: async (_url, init) => {
      const body = typeof init?.body === 'string' ? init.body : '';
      const lastEventId = new Headers(init?.headers).get('last-event-id');
      const at = isBroken ? other! : one!;
      if (lastEventId !== null) resumed.resolve();
      const response = await fetch(`${at.url}/mcp/own`, init);
      if (lastEventId !== null) asked.push(`resumed: ${response.status}`);
      if (!body.includes('tools/call')) return response;
      asked.push('called');
      isBroken = true;
      return brokenOff(response);
    },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  const result = await client.callTool({ name: 'slow', arguments: {} }, undefined, { timeout: 30_000 });
  expect(JSON.stringify(result.content)).toContain('completed');
  expect(asked).toEqual(['called', 'resumed: 200']);
  await client.close();
  expect(await scene.records(1, `tool_id = 'own/slow'`)).toMatchObject([
    { status: 'timeout', error_code: 'client_closed' },
  ]);
});

it.each([
  ['polled', ''],
  ['', 'polled__'],
])(
  'an answer is resumed whose id came in an event of another name than `message`, at /mcp/%s',
  async (path, prefix) => {
    const client = await scene.client(gateways[0]!, path);
    const called = client.callTool({ name: `${prefix}any`, arguments: {} }, undefined, { timeout: 10_000 });
    expect(await called).toEqual({ content: [] });
  },
);
