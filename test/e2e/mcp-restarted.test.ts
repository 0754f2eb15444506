import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';
import { eventually } from './traces.ts';

const scene = mcpScene();
const long = `a_tool_${'with_a_long_name_'.repeat(5)}`;

/** A server that forgets its sessions, as after a restart, and answers them with a configurable status. */
class Forgetful {
  readonly sessions = new Set<string>();
  readonly heard: string[] = [];
  unknownStatus = 404;
  private begun = 0;
  private running: RunningServer | undefined;

  get url(): string {
    return this.running?.url ?? '';
  }

  async start(): Promise<void> {
    this.running = await listening((req, res) => {
      let text = '';
      req.on('data', (piece) => (text += String(piece)));
      req.on('end', () => {
        const session = String(req.headers['mcp-session-id'] ?? '');
        const { id, method, params } = JSON.parse(text === '' ? '{}' : text);
        const json = (status: number, value: unknown, headers = {}): void =>
          void res
            .writeHead(status, { 'content-type': 'application/json', ...headers })
            .end(JSON.stringify(value));
        this.heard.push(`${method ?? req.method} ${session}`.trim());
        if (method === 'initialize') {
          this.begun += 1;
          const made = `s${this.begun}`;
          this.sessions.add(made);
          const { protocolVersion } = params;
          const result = { protocolVersion, capabilities: {}, serverInfo: { name: 'f', version: '1' } };
          return json(200, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': made });
        }
        if (!this.sessions.has(session))
          return json(this.unknownStatus, {
            jsonrpc: '2.0',
            id: null,
            error: { code: -32_000, message: 'no' },
          });
        if (req.method === 'DELETE') this.sessions.delete(session);
        if (id === undefined) return void res.writeHead(202).end();
        const tools = [
          { name: 'add', inputSchema: {} },
          { name: long, inputSchema: {} },
        ];
        json(200, { jsonrpc: '2.0', id, result: method === 'tools/list' ? { tools } : { content: [] } });
      });
    });
  }

  stop = async (): Promise<void> => this.running?.stop();
}

const server = new Forgetful();
let gateway: TestGateway;
let session = '';

interface Answer {
  readonly result?: { readonly tools: readonly { readonly name: string }[] };
  readonly error?: object;
}

const post = async (message: object, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${scene.key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  });
  const { status, headers: told } = response;
  return { status, session: told.get('mcp-session-id') ?? '', body: (await response.json()) as Answer };
};
const inSession = async (method: string, params: object = {}) =>
  post({ method, params }, { 'mcp-session-id': session });
const toolNames = async (): Promise<readonly string[]> => {
  const { body } = await inSession('tools/list');
  return body.result?.tools.map(({ name }) => name) ?? [];
};

beforeAll(async () => {
  await server.start();
  gateway = await scene.gateway([{ id: 'own', url: server.url }]);
});
afterAll(async () => server.stop());
beforeEach(async () => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const begun = await post({ method: 'initialize', params });
  session = begun.session;
});

describe.each([404, 400])('a restarted server that answers %i to earlier sessions', (status) => {
  beforeAll(() => {
    server.unknownStatus = status;
  });

  it('lists its tools at /mcp in a new session, which is then deleted', async () => {
    const listed = await toolNames();
    expect(listed).toHaveLength(2);
    server.sessions.clear();
    server.heard.length = 0;
    expect(await toolNames()).toEqual(listed);
    // Nobody waits for the end of the session.
    const deleted = await eventually(() => server.heard.find((each) => each.startsWith('DELETE ')));
    const own = deleted.split(' ')[1];
    expect(server.heard.slice(1)).toEqual([
      'initialize',
      `notifications/initialized ${own}`,
      `tools/list ${own}`,
      `DELETE ${own}`,
    ]);
    expect(server.sessions.size).toBe(0);
  });
});

describe('a call at /mcp of a restarted server', () => {
  it.each([404, 400])(
    'that answers %i fails with session_not_found, so that clients start a new session',
    async (status) => {
      server.unknownStatus = status;
      server.sessions.clear();
      expect(await inSession('tools/call', { name: 'own__add', arguments: {} })).toMatchObject({
        status: 404,
        body: { error: { data: { error_code: 'session_not_found' } } },
      });
    },
  );

  it('with a shortened tool name finds its tool, and fails with 404 too', async () => {
    const [, cut] = await toolNames();
    expect(await inSession('tools/call', { name: cut, arguments: {} })).toMatchObject({ status: 200 });
    server.sessions.clear();
    expect(await inSession('tools/call', { name: cut, arguments: {} })).toMatchObject({ status: 404 });
  });

  it('with a shortened tool name fails with upstream_unreachable while the server is down', async () => {
    const [, cut] = await toolNames();
    await server.stop();
    expect(await inSession('tools/call', { name: cut, arguments: {} })).toMatchObject({
      status: 200,
      body: { error: { data: { error_code: 'upstream_unreachable' } } },
    });
  });
});
