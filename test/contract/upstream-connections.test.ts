import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { McpServerConfig } from '../../infrastructure/config/mcp-config.ts';
import { mcpUpstreams } from '../../infrastructure/mcp/upstreams.ts';
import { ConnectionPool } from '../../infrastructure/providers/connection-pool.ts';
import { until } from '../support/otlp-receiver.ts';
import { selfSigned } from '../support/self-signed.ts';
import { answered } from '../support/pool-requests.ts';
import { timed } from '../support/undisturbed.ts';

const timeouts = { connectMs: 10_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 40_000 };
const portOf = (server: { address(): string | AddressInfo | null }): number =>
  (server.address() as AddressInfo).port;

const mcpServer = (
  id: string,
  url: string,
  auth: McpServerConfig['auth'] = { mode: 'none' },
): McpServerConfig => ({
  id,
  displayName: id,
  url: `${url}/mcp`,
  auth,
  policy: { allowedTools: [], callers: [] } as never,
  timeoutMs: 20_000,
  maxResultBytes: 1000,
});

const message = () => ({
  method: 'POST' as const,
  text: '{}',
  session: undefined,
  headers: {},
  signal: new AbortController().signal,
  memory: { hold: () => true, holdUnfinished: () => true },
});

describe('an upstream that also offers HTTP/2', () => {
  const own = selfSigned();
  const trusted = getCACertificates();
  const spoken: string[] = [];
  const sockets = new Set<Socket>();
  let server: Http2SecureServer;
  let url: string;
  beforeAll(async () => {
    setDefaultCACertificates([...trusted, own.cert]);
    server = createSecureServer({ ...own, allowHTTP1: true }, (request, response) => {
      spoken.push(request.httpVersion);
      response.setHeader('content-type', 'application/json');
      response.end('{"token_type":"Bearer","access_token":"t0ken"}');
    });
    server.on('connection', (socket: Socket) => void sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `https://localhost:${portOf(server)}`;
  });
  afterAll(() => {
    setDefaultCACertificates(trusted);
    for (const socket of sockets) socket.destroy();
    server?.close();
  });

  it('is used over HTTP/1.1', async () => {
    spoken.length = 0;
    const pool = new ConnectionPool(new URL(url), timeouts);
    await Promise.all([1, 2, 3].map(() => answered(pool)));
    expect(spoken).toEqual(['1.1', '1.1', '1.1']);
    await pool.close();
  });

  it('is used over HTTP/1.1 as an MCP server and as its token service', async () => {
    spoken.length = 0;
    const config = mcpServer('files', url, {
      mode: 'oauth_client_credentials',
      tokenUrl: `${url}/token`,
      clientId: 'c',
      clientSecret: 's',
      scope: undefined,
    });
    const upstreams = mcpUpstreams(() => [config], { conceal: () => undefined, warn: () => undefined });
    expect(E.isRight(await upstreams.send(config, message()))).toBe(true);
    expect(spoken).toEqual(['1.1', '1.1']);
    await upstreams.close();
  });
});

describe('the connections to an MCP server that a reload removes', () => {
  it('are closed once nothing is in progress there', async () => {
    const sockets: Socket[] = [];
    const answers: ServerResponse[] = [];
    // The server keeps idle connections open for a minute, and announces it.
    const server = createHttpServer({ keepAliveTimeout: 60_000 }, (_, res) => void answers.push(res));
    server.on('connection', (socket) => void sockets.push(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const at = `http://127.0.0.1:${portOf(server)}`;
    const [gone, kept] = [mcpServer('gone', at), mcpServer('kept', at)];
    let configured: readonly McpServerConfig[] = [gone, kept];
    const upstreams = mcpUpstreams(() => configured, { conceal: () => undefined, warn: () => undefined });
    const answer = async (reply: Promise<unknown>): Promise<void> => {
      await until(() => answers.length > 0);
      answers.shift()?.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      await reply;
    };
    await answer(upstreams.send(kept, message()));
    const underWay = upstreams.send(gone, message());
    await until(() => answers.length > 0);
    configured = [{ ...kept }];
    const next = upstreams.send(kept, message());
    await until(() => answers.length > 1);
    await answer(underWay);
    expect(E.isRight(await underWay)).toBe(true);
    await answer(next);
    const { ms } = await timed(() => until(() => sockets[1]?.destroyed === true));
    expect(ms).toBeLessThan(4000);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true]);
    await upstreams.close();
    server.close();
  });
});

describe('an idle connection', () => {
  const sockets: Socket[] = [];
  let server: Server;
  let pool: ConnectionPool;
  beforeAll(async () => {
    // As uvicorn and gunicorn do: they close idle connections after 5 seconds without announcing it.
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    pool = new ConnectionPool(new URL(`http://127.0.0.1:${portOf(server)}`), timeouts);
  });
  afterAll(async () => {
    await pool?.close();
    server?.close();
  });

  it('is closed before most servers would close it, if the server announces no timeout', async () => {
    await answered(pool);
    const { ms, allMs } = await timed(() => new Promise((resolve) => sockets[0]?.once('close', resolve)));
    expect(allMs).toBeGreaterThan(3000);
    expect(ms).toBeLessThan(5000);
  });
});
