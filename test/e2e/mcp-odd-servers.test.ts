import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';

const scene = mcpScene();
let server: RunningServer;
let gateway: TestGateway;

/** What frameworks answer to a method for which they have no route. */
const withoutRoute = [400, 403, 404, 501] as const;

const asJson = (res: ServerResponse, status: number, value: unknown): void =>
  void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

/** The end of a server's path says in what it differs from others. */
function answer(req: IncomingMessage, res: ServerResponse): void {
  const kind = req.url?.split('/').at(-1) ?? '';
  if (req.method === 'GET') return asJson(res, Number(kind), { message: 'Not Found' });
  res.writeHead(202).end();
}

beforeAll(async () => {
  server = await listening(answer);
  gateway = await scene.gateway(
    withoutRoute.map((status) => ({ id: `get-${status}`, url: `${server.url}/${status}` })),
  );
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
