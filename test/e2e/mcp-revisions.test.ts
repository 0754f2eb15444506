import { randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import type { TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer, sdkServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';

const scene = mcpScene();
const running: RunningServer[] = [];
const heard: IncomingHttpHeaders[] = [];
const credential = `header-credential-${randomUUID()}`;
let gateway: TestGateway;

/** A server that requires its credential in a header, and has a tool that returns the headers of the call. */
async function guardedServer(): Promise<RunningServer> {
  const open = await sdkServer(() => {
    const server = new McpServer({ name: 'guarded', version: '1' });
    server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
      content: [{ type: 'text', text: String(a + b) }],
    }));
    server.registerTool('closed', { inputSchema: {} }, () => ({ content: [] }));
    server.registerTool(
      'headers',
      { description: `Do not tell ${credential}`, inputSchema: {} },
      (_args, { requestInfo }) => ({
        content: [{ type: 'text', text: JSON.stringify(requestInfo?.headers) }],
      }),
    );
    server.registerPrompt('hello', {}, () => ({
      messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }],
    }));
    return server;
  });
  running.push(open);
  return listening((req, res) => {
    heard.push(req.headers);
    if (req.headers['x-server-key'] !== credential) return void res.writeHead(401).end();
    const onward = request(open.url, { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(res);
      res.once('close', () => answer.destroy());
    });
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  });
}

beforeAll(async () => {
  const guarded = await guardedServer();
  running.push(guarded);
  gateway = await scene.gateway([
    {
      id: 'guarded',
      url: guarded.url,
      auth: { mode: 'header', name: 'X-Server-Key', value: credential },
      denied_tools: ['closed'],
    },
    {
      id: 'locked',
      url: guarded.url,
      auth: { mode: 'header', name: 'X-Server-Key', value: 'another-one-0' },
    },
  ]);
});
afterAll(async () => {
  for (const server of running) await server.stop();
});

describe('a server credential in a custom header', () => {
  it("is sent to the server, never shown to the caller, and not replaced by the caller's own header", async () => {
    const client = await scene.client(gateway, 'guarded', { headers: { 'X-Server-Key': 'of-the-caller-0' } });
    const { content } = await client.callTool({ name: 'headers', arguments: {} });
    expect(JSON.stringify(content)).toContain('x-server-key');
    expect(JSON.stringify(content)).not.toContain(credential);
    expect(heard.every((headers) => headers['x-server-key'] === credential)).toBe(true);
    expect(JSON.stringify(heard)).not.toContain(scene.key);
    const union = await scene.client(gateway, '');
    for (const each of [client, union]) {
      const listed = JSON.stringify(await each.listTools());
      expect(listed).toContain('Do not tell');
      expect(listed).not.toContain(credential);
    }
    const [record] = await scene.records(1, `tool_id = 'guarded/headers'`);
    expect(record).toMatchObject({ status: 'success' });
    expect(JSON.stringify([record, gateway.log.lines])).not.toContain(credential);
  });

  it("that the server rejects fails the connection with an error about the gateway's credentials", async () => {
    await expect(scene.client(gateway, 'locked')).rejects.toThrow(/does not accept the credentials/);
  });
});

describe.each(['2025-06-18', '2025-03-26'])('a client that knows no newer revision than %s', (revision) => {
  it.each([
    ['guarded', ''],
    ['', 'guarded__'],
  ])('uses that revision at /mcp/%s, and the gateway uses it with the server', async (path, prefix) => {
    const client = new Client({ name: 'older', version: '1' }, { supportedProtocolVersions: [revision] });
    const requestInit = { headers: { authorization: `Bearer ${scene.key}` } };
    const url = new URL(`${gateway.url}/mcp${path === '' ? '' : `/${path}`}`);
    const transport = new StreamableHTTPClientTransport(url, { requestInit });
    const before = heard.length;
    await client.connect(transport);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      `${prefix}add`,
      `${prefix}headers`,
    ]);
    const sum = await client.callTool({ name: `${prefix}add`, arguments: { a: 2, b: 3 } });
    expect(sum.content).toEqual([{ type: 'text', text: '5' }]);
    await expect(client.callTool({ name: `${prefix}closed`, arguments: {} })).rejects.toThrow('may not use');
    const { messages } = await client.getPrompt({ name: `${prefix}hello` });
    expect(JSON.stringify(messages)).toContain('hello');
    const revisions = heard.slice(before).map((headers) => headers['mcp-protocol-version']);
    expect(new Set(revisions.filter((each) => each !== undefined))).toEqual(new Set([revision]));
    expect(await scene.records(1, `tool_id = 'guarded/add'`)).not.toEqual([]);
    await transport.terminateSession();
    await client.close();
  });
});

it('a request at /mcp in the revision without sessions is refused as by a server of an older one', async () => {
  const response = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${scene.key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'server/discover',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'probe', method: 'server/discover', params: {} }),
  });
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { id: 'probe', error: { code: -32_601, data: { error_code: 'unsupported_revision' } } },
  ]);
});
