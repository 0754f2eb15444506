import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';

const scene = mcpScene();
let server: RunningServer;
let gateway: TestGateway;

/** So many that the ids of their sessions do not fit into one header. */
const gateways = Array.from({ length: 8 }, (_, n) => `gateway-${n}`);

/** What frameworks answer to a method for which they have no route. */
const withoutRoute = [400, 403, 404, 501] as const;

const asJson = (res: ServerResponse, status: number, value: unknown): void =>
  void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

const codings = { br: brotliCompressSync, deflate: deflateSync, gzip: gzipSync, zstd: zstdCompressSync };

const isCoding = (text: string): text is keyof typeof codings => Object.hasOwn(codings, text);

/** A list in this coding, although `identity` was asked for. */
function compressed(res: ServerResponse, coding: keyof typeof codings, type: string, id: unknown): void {
  const result = { tools: [{ name: 'add', inputSchema: { type: 'object' } }] };
  const message = JSON.stringify({ jsonrpc: '2.0', id, result });
  const body = type === 'text/event-stream' ? `data: ${message}\n\n` : message;
  res.writeHead(200, { 'content-type': type, 'content-encoding': coding }).end(codings[coding](body));
}

/** The end of a server's path says in what it differs from others. */
function answer(req: IncomingMessage, res: ServerResponse): void {
  const kind = req.url?.split('/').at(-1) ?? '';
  if (req.method === 'GET') return asJson(res, Number(kind), { message: 'Not Found' });
  if (req.method === 'DELETE') return void res.writeHead(204).end();
  let text = '';
  req.on('data', (piece) => (text += String(piece)));
  req.on('end', () => {
    const { id }: Message = JSON.parse(text);
    if (id === undefined) res.writeHead(202).end();
    else if (isCoding(kind))
      compressed(
        res,
        kind,
        req.url?.includes('/sse/') === true ? 'text/event-stream' : 'application/json',
        id,
      );
    else if (kind === 'gateway') inLongSession(req, res, id);
    else res.writeHead(202).end();
  });
}

const longSession = 's'.repeat(1500);

/** A server whose session ids contain those of other servers, as gateways have them. */
function inLongSession(req: IncomingMessage, res: ServerResponse, id: unknown): void {
  res.setHeader('mcp-session-id', longSession);
  const tools = req.headers['mcp-session-id'] === longSession ? [{ name: 'add' }] : [];
  asJson(res, 200, { jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', tools } });
}

interface Message {
  readonly id?: unknown;
}

beforeAll(async () => {
  server = await listening(answer);
  gateway = await scene.gateway([
    ...withoutRoute.map((status) => ({ id: `get-${status}`, url: `${server.url}/${status}` })),
    ...Object.keys(codings).flatMap((coding) => [
      { id: coding, url: `${server.url}/${coding}` },
      { id: `sse-${coding}`, url: `${server.url}/sse/${coding}` },
    ]),
    ...gateways.map((id) => ({ id, url: `${server.url}/gateway` })),
  ]);
});
afterAll(async () => server.stop());

it.each(withoutRoute)(
  'a `GET` that the server refuses with %i in its own words is 405: it has no stream',
  async (status) => {
    const response = await fetch(`${gateway.url}/mcp/get-${status}`, {
      headers: { authorization: `Bearer ${scene.key}`, accept: 'text/event-stream' },
    });
    expect([response.status, response.headers.get('x-gateway-error')]).toEqual([405, 'no_stream']);
  },
);

const posted = (path: string, method: string, session?: string | null): Promise<Response> =>
  fetch(`${gateway.url}/mcp${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${scene.key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(typeof session === 'string' ? { 'mcp-session-id': session } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
  });

it.each(Object.keys(codings).flatMap((coding) => [coding, `sse-${coding}`]))(
  'an answer that a server compresses although it was asked for `identity` is decoded: %s',
  async (id) => {
    const response = await posted(`/${id}`, 'tools/list');
    expect(await response.text()).toContain('"tools":[{"name":"add"');
    expect(response.headers.get('content-encoding')).toBeNull();
  },
);

it('the id of a session may be long at the path of its server, and leaves the server out at /mcp', async () => {
  const [own, union] = [await posted('/gateway-0', 'initialize'), await posted('', 'initialize')];
  const listed = async (path: string, begun: Response): Promise<string> =>
    (await posted(path, 'tools/list', begun.headers.get('mcp-session-id'))).text();
  expect(await listed('/gateway-0', own)).toContain('"tools":[{"name":"add"}]');
  const all = await listed('', union);
  expect([all.includes('gzip__add'), all.includes('gateway-0__add')]).toEqual([true, false]);
});
