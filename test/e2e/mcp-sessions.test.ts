import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { everythingServer, listening, type RunningServer, sdkServer } from '../support/mcp-servers.ts';
import { timed } from '../support/undisturbed.ts';
import { mcpScene } from './mcp-scene.ts';

const scene = mcpScene();
const running: RunningServer[] = [];
const asked: { readonly authorization: string | undefined; readonly form: string }[] = [];
const heard: (string | undefined)[] = [];
const clientSecret = `client-secret-${randomUUID()}`;
let gateways: readonly TestGateway[];
let token = '';
/** A token to which the server answers 401. */
let forgotten: string | undefined;
let servers: readonly object[];

const answerTo = (message: { readonly id: unknown }): string =>
  JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [{ type: 'text', text: token }] } });

beforeAll(async () => {
  const tokens = await listening((req, res) => {
    let form = '';
    req.on('data', (piece) => (form += String(piece)));
    req.on('end', () => {
      asked.push({ authorization: req.headers.authorization, form });
      token = `access-${randomUUID()}`;
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 3600 }));
    });
  });
  const guarded = await listening((req, res) => {
    heard.push(req.headers.authorization);
    let text = '';
    req.on('data', (piece) => (text += String(piece)));
    req.on('end', () => {
      const isForgotten = req.headers.authorization === `Bearer ${forgotten}`;
      res.writeHead(isForgotten ? 401 : 200, { 'content-type': 'application/json' });
      res.end(answerTo(JSON.parse(text)));
    });
  });
  const everything = await everythingServer();
  const changing = await sdkServer(() => {
    const server = new McpServer({ name: 'changing', version: '1' });
    server.registerTool('grow', { inputSchema: {} }, () => {
      server.registerTool(`more-${randomUUID()}`, { inputSchema: {} }, () => ({ content: [] }));
      return { content: [] };
    });
    return server;
  });
  running.push(tokens, guarded, everything, changing);
  servers = [
    { id: 'everything', url: everything.url },
    { id: 'changing', url: changing.url },
    {
      id: 'guarded',
      url: guarded.url,
      auth: {
        mode: 'oauth_client_credentials',
        token_url: tokens.url,
        client_id: 'gateway',
        client_secret: clientSecret,
        scope: 'tools.read',
      },
    },
  ];
  gateways = [await scene.gateway(servers), await scene.gateway(servers)];
});
afterAll(async () => {
  for (const server of running) await server.stop();
});

const post = (at: TestGateway, server: string, message: object, session?: string) =>
  fetch(`${at.url}/mcp${server}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${scene.key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(session === undefined ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  });

const initialize = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};

describe('a session', () => {
  it.each([
    ['/everything', 'echo'],
    ['', 'everything__echo'],
  ])('at /mcp%s continues at another replica', async (server, name) => {
    const [one, other] = gateways;
    const session = (await post(one!, server, initialize)).headers.get('mcp-session-id')!;
    await post(one!, server, { method: 'notifications/initialized' }, session);
    const call = { id: 1, method: 'tools/call', params: { name, arguments: { message: 'anywhere' } } };
    for (const replica of [one!, other!]) {
      const answer = await post(replica, server, call, session);
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Echo: anywhere')]);
    }
    const broken = `${session.slice(0, 20)}${session[20] === 'A' ? 'B' : 'A'}${session.slice(21)}`;
    expect((await post(one!, server, call, broken)).status).toBe(404);
  });

  it("receives the server's notifications on its stream", async () => {
    const client = await scene.client(gateways[0]!, 'changing');
    const changed = new Promise<void>((resolve) => {
      client.fallbackNotificationHandler = async ({ method }) => {
        if (method === 'notifications/tools/list_changed') resolve();
      };
    });
    // A notification before the client's stream is open is lost, so the tool is called until one arrives.
    let grown = 0;
    for (let isHeard = false; !isHeard && grown < 20; grown += 1) {
      await client.callTool({ name: 'grow', arguments: {} });
      isHeard = await Promise.race([changed.then(() => true), sleep(1000, false)]);
    }
    await changed;
    expect((await client.listTools()).tools).toHaveLength(1 + grown);
  });

  it('with an open stream does not delay the stop of a process', async () => {
    const gateway = await startGateway(scene.config(servers), scene.databaseUrl());
    await scene.client(gateway, 'changing');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await timed(gateway.stop)).ms).toBeLessThan(5000);
  });

  it('survives a reload, after which the new policy applies at once', async () => {
    const [, gateway] = gateways;
    const client = await scene.client(gateway!, 'everything');
    const echo = { name: 'echo', arguments: { message: 'm' } };
    await client.callTool(echo);
    const closed = servers.map((server, n) => (n === 0 ? { ...server, denied_tools: ['echo'] } : server));
    await gateway!.take(scene.config(closed));
    await expect(client.callTool(echo)).rejects.toMatchObject({ data: { error_code: 'tool_not_allowed' } });
    await gateway!.take(scene.config(servers));
    await expect(client.callTool(echo)).resolves.toBeDefined();
  });
});

describe('client credentials', () => {
  it('are obtained once, sent to the server, and neither shown nor logged', async () => {
    const call = { id: 1, method: 'tools/call', params: { name: 'token', arguments: {} } };
    const answers = await Promise.all([1, 2, 3].map(() => post(gateways[0]!, '/guarded', call)));
    for (const answer of answers) expect(await answer.text()).not.toContain(token);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.form).toBe('grant_type=client_credentials&scope=tools.read');
    const basic = Buffer.from(`gateway:${clientSecret}`).toString('base64');
    expect(asked[0]?.authorization).toBe(`Basic ${basic}`);
    expect(new Set(heard)).toEqual(new Set([`Bearer ${token}`]));
    const rows = await scene.records(3, `server_id = 'guarded'`);
    expect(JSON.stringify([rows, gateways[0]!.log.lines])).not.toContain(token);
    expect(JSON.stringify([rows, gateways[0]!.log.lines])).not.toContain(clientSecret);
  });
  it('that the server rejects are obtained again for the next message', async () => {
    const call = { id: 1, method: 'tools/call', params: { name: 'token', arguments: {} } };
    forgotten = token;
    const before = asked.length;
    const errors: unknown[] = [];
    for (let tries = 0; tries < 2; tries += 1) {
      const answer = await post(gateways[0]!, '/guarded', call);
      errors.push(((await answer.json()) as { readonly error?: { readonly data?: object } }).error?.data);
    }
    expect(errors).toEqual([expect.objectContaining({ error_code: 'upstream_unauthorized' }), undefined]);
    expect(asked).toHaveLength(before + 1);
  });
});
