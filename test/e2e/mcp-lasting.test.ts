import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aKey, type TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';
import { timed, undisturbed } from '../support/undisturbed.ts';
import { mcpScene } from './mcp-scene.ts';
import { eventually } from './traces.ts';

const scene = mcpScene();
const keys = { revoked: aKey(), inactive: aKey(), closed: aKey(), silent: aKey(), other: aKey() };
/** The limit within which a change must reach every replica. */
const withinMs = 5000;
const note = 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n';

/** The streams on which the server is sending, by session id or `mcp-param-name` header. */
const speaking = new Set<string>();
let server: RunningServer;
let gateways: readonly TestGateway[];

const configOf = (owners: readonly string[]) => [
  { id: 'talking', url: server.url, timeout_ms: 500 },
  { id: 'quiet', url: server.url.replace('/mcp', '/quiet'), timeout_ms: 500 },
  { id: 'narrow', url: server.url, allowed_owners: owners },
];
const more = {
  server: { bind: '127.0.0.1:0', stream_keepalive_secs: 1 },
  users: ['a', 'b', 'c'].map((name) => ({ email: `${name}@example.com`, name })),
  api_keys: Object.entries(keys).map(([name, value]) => ({
    name,
    owner: `user:${name === 'inactive' ? 'b' : name === 'closed' ? 'c' : 'a'}@example.com`,
    value,
  })),
};

beforeAll(async () => {
  server = await listening((req, res) => {
    if (req.method === 'POST' && req.headers['mcp-param-name'] === undefined)
      return void initialised(req, res);
    const name = String(req.headers['mcp-param-name'] ?? req.headers['mcp-session-id']);
    speaking.add(name);
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(note);
    const timer = req.url === '/quiet' ? undefined : setInterval(() => res.write(note), 100);
    res.once('close', () => {
      clearInterval(timer);
      speaking.delete(name);
    });
  });
  gateways = [
    await scene.gateway(configOf(['user:c@example.com']), more),
    await scene.gateway(configOf(['user:c@example.com']), more),
  ];
});
afterAll(async () => server.stop());

interface Listening {
  /** The text of the stream, once it has ended. */
  readonly ended: Promise<string>;
  readonly leave: () => void;
}

/** The server's answer to `initialize`; the session id is the client's name. */
async function initialised(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { params } = JSON.parse(await textOf(req)) as { params: { clientInfo: { name: string } } };
  res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': params.clientInfo.name });
  res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25' } }));
}

/** On a busy machine the server may take longer than `timeout_ms` to answer; then the caller retries. */
const begun = (
  ask: () => Promise<Response>,
  isBegun: (response: Response) => boolean = () => true,
): Promise<Response> =>
  undisturbed(300, async () => {
    const response = await ask();
    expect([response.status, isBegun(response)]).toEqual([200, true]);
    return response;
  });

/** Opens a session whose id at the server is the name of its key. A timeout is a 200 with an error and no session. */
async function sessionOf(at: TestGateway, name: keyof typeof keys, of: string): Promise<string> {
  const response = await begun(
    () =>
      fetch(`${at.url}/mcp/${of}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${keys[name]}`,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { clientInfo: { name } },
        }),
      }),
    ({ headers }) => headers.has('mcp-session-id'),
  );
  await response.body?.cancel();
  return response.headers.get('mcp-session-id') ?? '';
}

/** Opens a server-to-client stream. */
async function opened(at: TestGateway, name: keyof typeof keys, of: string, signal?: AbortSignal) {
  const session = await sessionOf(at, name, of);
  return begun(() =>
    fetch(`${at.url}/mcp/${of}`, {
      headers: {
        authorization: `Bearer ${keys[name]}`,
        accept: 'text/event-stream',
        'mcp-session-id': session,
      },
      ...(signal === undefined ? {} : { signal }),
    }),
  );
}

/** Opens such a stream to listen until it ends. */
async function listen(at: TestGateway, name: keyof typeof keys, of = 'talking'): Promise<Listening> {
  const leaving = new AbortController();
  const response = await opened(at, name, of, leaving.signal);
  return { ended: textOf(response.body!), leave: () => leaving.abort() };
}

/** Opens the same stream as the answer to a subscription. */
async function subscribe(at: TestGateway, name: keyof typeof keys): Promise<Listening> {
  const response = await begun(() =>
    fetch(`${at.url}/mcp/talking`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys[name]}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
        'mcp-param-name': `${name}-subscribed`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: {} }),
    }),
  );
  return { ended: textOf(response.body!), leave: () => undefined };
}

async function takenMs(ends: readonly Listening[]): Promise<number> {
  const { ms } = await timed(() =>
    Promise.race([Promise.all(ends.map(({ ended }) => ended)), sleep(3 * withinMs)]),
  );
  return ms;
}

describe('a long-lived stream', () => {
  it('has keep-alives that are no events: clients with httpx-sse fail at one without data', async () => {
    const { body } = await opened(gateways[0]!, 'other', 'quiet');
    let text = '';
    for await (const piece of body!) {
      text += Buffer.from(piece).toString();
      if (/(?::\n+){2}$/.test(text)) break;
    }
    expect(text).toMatch(/\}\n\n:\n:\n$/);
  });

  it('ends on every replica within 5 seconds after its key is revoked, and so does the upstream stream', async () => {
    const streams = await Promise.all([
      ...gateways.map((gateway) => listen(gateway, 'revoked')),
      listen(gateways[0]!, 'silent', 'quiet'),
      subscribe(gateways[1]!, 'revoked'),
    ]);
    const other = await listen(gateways[0]!, 'other');
    await scene.query(
      `update api_keys set revoked_at = now(), revoked_by = 'admin' where name in ('revoked', 'silent')`,
    );
    await scene.query('select gateway_touch()');
    expect(await takenMs(streams)).toBeLessThan(withinMs);
    expect(await streams.at(-1)?.ended).toContain('"error_code":"invalid_api_key"');
    await eventually(() => speaking.size === 1 || undefined);
    expect([...speaking]).toEqual(['other']);
    other.leave();
    await expect(other.ended).rejects.toThrow();
  });

  it('ends within 5 seconds after its owner is deactivated', async () => {
    const stream = await listen(gateways[1]!, 'inactive');
    await scene.query(`update users set active = false where email = 'b@example.com'`);
    await scene.query('select gateway_touch()');
    expect(await takenMs([stream])).toBeLessThan(withinMs);
  });

  it("ends within 5 seconds after the server's `allowed_owners` no longer includes its owner", async () => {
    const stream = await listen(gateways[0]!, 'closed', 'narrow');
    await gateways[0]!.take(scene.config(configOf(['user:a@example.com']), more));
    expect(await takenMs([stream])).toBeLessThan(withinMs);
  });
});
