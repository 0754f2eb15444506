import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';
import { eventually } from './traces.ts';

const scene = mcpScene();
const { key, otherKey } = scene;
const token = `server-token-${randomUUID()}`;
const adminToken = `gwa_${'0123456789abcdef'.repeat(2)}.${'fedcba9876543210'.repeat(4)}`;
const fresh = 'fresh-'.concat(randomUUID());

/** The misbehaviours of the server; a call chooses one by the name of its tool. */
const behaviour: Record<string, (message: Message, res: ServerResponse, req: IncomingMessage) => void> = {
  fine: (message, res) => answer(res, message, { content: [{ type: 'text', text: 'fine' }] }),
  silent: () => undefined,
  dies: (_message, res) => void res.destroy(),
  'dies-midway': (_message, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n');
    setTimeout(() => res.destroy(), 50);
  },
  'ends-early': (_message, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.end('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n');
  },
  huge: (message, res) => answer(res, message, { content: [{ type: 'text', text: 'x'.repeat(10_000) }] }),
  'huge-event': (message, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.end(
      `data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { text: 'x'.repeat(10_000) } })}\n\n`,
    );
  },
  html: (_message, res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>'),
  nonsense: (_message, res) => void res.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}'),
  broken: (_message, res) =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc"'),
  'lines of an event': ({ id }, res) => {
    const tools = ['denied', 'fine'].map((name) => ({ name, inputSchema: { type: 'object' } }));
    const lines = JSON.stringify({ jsonrpc: '2.0', id, result: { tools } }, undefined, 1).split('\n');
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.end(`id: 1\n${lines.map((line) => `data: ${line}\n`).join('')}\n`);
  },
  'secrets beside the data': ({ id }, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.end(
      `id: ${token}\nevent: message\nretry: ${token}\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`,
    );
  },
  unauthorized: (_message, res) => void res.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
  redirect: (_message, res) => void res.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
  failing: (_message, res) => void res.writeHead(500).end('stack trace'),
  'error-status': (message, res) =>
    void res.writeHead(400, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        jsonrpc: '2.0',
        id: message.id,
        error: { code: -32_022, message: 'no such revision' },
      }),
    ),
  gone: (_message, res) => void res.writeHead(404).end(),
  echo: (message, res, req) =>
    answer(res, message, {
      content: [{ type: 'text', text: JSON.stringify(req.headers) }],
      authorization: req.headers.authorization,
    }),
};

interface Message {
  readonly id: unknown;
  readonly method: string;
  readonly params?: { readonly name?: string };
}

const answer = (res: ServerResponse, { id }: Message, result: object): void =>
  void res
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, result }));

let server: RunningServer;
let gateway: TestGateway;
const heard: { readonly req: IncomingMessage; readonly text: string; closed: boolean }[] = [];

beforeAll(async () => {
  server = await listening((req, res) => {
    let text = '';
    req.on('data', (piece) => (text += String(piece)));
    req.on('end', () => {
      const entry = { req, text, closed: false };
      heard.push(entry);
      res.once('close', () => (entry.closed = true));
      if (req.method !== 'POST') return void res.writeHead(405).end();
      const message = JSON.parse(text) as Message;
      if (message.method === 'initialize') {
        res.setHeader('mcp-session-id', fresh);
        return answer(res, message, { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} });
      }
      if (message.id === undefined) return void res.writeHead(202).end();
      behaviour[message.params?.name ?? 'fine']?.(message, res, req);
    });
  });
  gateway = await scene.gateway([
    {
      id: 'odd',
      url: server.url,
      auth: { mode: 'bearer', token },
      max_result_bytes: 4096,
      denied_tools: ['denied'],
    },
    { id: 'hasty', url: server.url, auth: { mode: 'bearer', token }, timeout_ms: 400 },
    { id: 'others', url: server.url, allowed_owners: ['team:nobody'] },
    { id: 'down', url: 'http://127.0.0.1:9/mcp' },
  ]);
});
afterAll(async () => server.stop());

const usual = {
  authorization: `Bearer ${key}`,
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
};

async function post(body: unknown, over: Readonly<Record<string, string>> = {}, at = 'odd') {
  const requestId = randomUUID();
  const response = await fetch(`${gateway.url}/mcp/${at}`, {
    method: 'POST',
    headers: { ...usual, 'x-request-id': requestId, ...over },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const [row] = await scene.records(1, `request_id = '${requestId}'`);
  const data = text.startsWith('event:') ? text.slice(text.lastIndexOf('data: ') + 'data: '.length) : text;
  return { status: response.status, headers: response.headers, text, data, row };
}

const call = (name: string) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: { a: 1 } },
});
const errorIn = (text: string) => JSON.parse(text).error;

describe('a faulty server', () => {
  it.each([
    ['dies', 'upstream_unreachable', 'upstream_error'],
    ['dies-midway', 'upstream_unreachable', 'upstream_error'],
    ['ends-early', 'upstream_protocol', 'upstream_error'],
    ['huge', 'result_too_large', 'upstream_error'],
    ['huge-event', 'result_too_large', 'upstream_error'],
    ['html', 'upstream_protocol', 'upstream_error'],
    ['nonsense', 'upstream_protocol', 'upstream_error'],
    ['broken', 'upstream_protocol', 'upstream_error'],
    ['unauthorized', 'upstream_unauthorized', 'upstream_error'],
    ['redirect', 'upstream_protocol', 'upstream_error'],
    ['failing', 'upstream_protocol', 'upstream_error'],
  ])('%s: the call fails with %s and is recorded as %s', async (tool, code, status) => {
    const { status: http, data, row } = await post(call(tool));
    expect(http).toBe(200);
    expect(JSON.parse(data)).toMatchObject({ id: 7, error: { data: { error_code: code } } });
    expect(row).toMatchObject({ status, error_code: code, policy_result: 'allowed', tool_id: `odd/${tool}` });
    expect(row?.arguments_json).toEqual({ a: 1 });
  });

  it('silent: the call fails with timeout and is recorded as timeout', async () => {
    const { status: http, data, row } = await post(call('silent'), {}, 'hasty');
    expect(http).toBe(200);
    expect(JSON.parse(data)).toMatchObject({ id: 7, error: { data: { error_code: 'timeout' } } });
    expect(row).toMatchObject({
      status: 'timeout',
      error_code: 'timeout',
      policy_result: 'allowed',
      tool_id: 'hasty/silent',
      arguments_json: { a: 1 },
    });
  });

  it('unreachable: the call fails with upstream_unreachable', async () => {
    const { data, row } = await post(call('fine'), {}, 'down');
    expect(errorIn(data).data).toEqual({ error_code: 'upstream_unreachable' });
    expect(row).toMatchObject({ status: 'upstream_error' });
  });

  it('JSON-RPC error of its own: it is passed on with its status and recorded as upstream_failed', async () => {
    const { status, data, row } = await post(call('error-status'));
    expect(status).toBe(400);
    expect(errorIn(data)).toEqual({ code: -32_022, message: 'no such revision' });
    expect(row).toMatchObject({ status: 'upstream_error', error_code: 'upstream_failed' });
    expect(row?.result_json).toEqual({ code: -32_022, message: 'no such revision' });
  });
});

describe('the gateway refuses or filters', () => {
  it.each([
    ['{', 400, 'parse_error', 'odd/(unread)'],
    [[call('fine')], 400, 'batch_not_supported', 'odd/(unread)'],
    [{ ...call('fine'), id: null }, 400, 'invalid_request', 'odd/(unread)'],
    [{ ...call('fine'), params: {} }, 200, 'unknown_tool', 'odd/(tools/call)'],
    [
      `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"${'x'.repeat(5_000_000)}"}}`,
      413,
      'request_too_large',
      'odd/(unread)',
    ],
  ])('an invalid message, and records it (%#)', async (body, status, code, toolId) => {
    const sent = await post(body);
    expect(sent.status).toBe(status);
    expect(errorIn(sent.data).data).toEqual({ error_code: code });
    expect(sent.row).toMatchObject({
      status: 'invalid_request',
      policy_result: 'not_evaluated',
      error_code: code,
      tool_id: toolId,
    });
  });

  it('a denied tool, an unknown server and a server closed to the owner, each with a record', async () => {
    const before = heard.length;
    const denied = await post(call('denied'));
    expect(denied).toMatchObject({
      status: 200,
      row: { status: 'policy_denied', policy_result: 'denied', error_code: 'tool_not_allowed' },
    });
    expect(errorIn(denied.data).code).toBe(-32_602);
    expect(await post(call('fine'), {}, 'nowhere')).toMatchObject({
      status: 404,
      row: { status: 'invalid_request', policy_result: 'not_evaluated', server_id: 'nowhere' },
    });
    expect(await post(call('fine'), {}, 'others')).toMatchObject({
      status: 403,
      row: { status: 'policy_denied', policy_result: 'denied', server_id: 'others' },
    });
    expect(heard).toHaveLength(before);
  });

  it('a server id that is percent-encoded, which a proxy might take for another path', async () => {
    const { status, data } = await post(call('fine'), {}, '%6fdd');
    expect([status, errorIn(data).data]).toEqual([404, { error_code: 'unknown_server' }]);
  });

  it('a call of a denied tool without an id', async () => {
    const before = heard.length;
    const { id: _id, ...rest } = call('denied');
    const { status, data } = await post(rest);
    expect([status, errorIn(data).data]).toEqual([400, { error_code: 'invalid_request' }]);
    expect(heard).toHaveLength(before);
  });

  it('`last-event-id` without a session, where all callers are one client to the server', async () => {
    const before = heard.length;
    const { status, data } = await post(call('fine'), { 'last-event-id': '1' });
    expect([status, errorIn(data).data]).toEqual([400, { error_code: 'invalid_request' }]);
    expect(heard).toHaveLength(before);
  });

  it("a response without a session, since the server's request may have been sent to another caller", async () => {
    const before = heard.length;
    const { status, data } = await post({ jsonrpc: '2.0', id: 1, result: { action: 'accept' } });
    expect([status, errorIn(data).data]).toEqual([400, { error_code: 'invalid_request' }]);
    expect(heard).toHaveLength(before);
  });

  it('`tasks/list` without a session, since the server would list the tasks of all callers', async () => {
    const before = heard.length;
    const { status, data } = await post({ jsonrpc: '2.0', id: 1, method: 'tasks/list' });
    expect([status, errorIn(data).data]).toEqual([200, { error_code: 'unknown_method' }]);
    expect(heard).toHaveLength(before);
  });

  it("a cancellation without a session: it ends the caller's own call and is not sent to the server", async () => {
    const before = heard.length;
    const silent = post({ ...call('silent'), id: 'mine' });
    await eventually(() => (heard.length > before ? true : undefined));
    const cancel = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'mine' },
    };
    const answer = await fetch(`${gateway.url}/mcp/odd`, {
      method: 'POST',
      headers: usual,
      body: JSON.stringify(cancel),
    });
    expect(answer.status).toBe(202);
    expect((await silent).row).toMatchObject({ error_code: 'cancelled' });
    expect(heard).toHaveLength(before + 1);
  });

  it('a denied tool in a list whose event has several data lines', async () => {
    const list = { jsonrpc: '2.0', id: 7, method: 'tools/list', params: { name: 'lines of an event' } };
    const response = await fetch(`${gateway.url}/mcp/odd`, {
      method: 'POST',
      headers: usual,
      body: JSON.stringify(list),
    });
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    expect(lines[0]).toBe('id: 1');
    const data = lines.slice(1).map((line) => /^data: (.*)$/.exec(line)?.[1] ?? 'no data');
    expect(JSON.parse(data.join('\n'))).toMatchObject({ id: 7, result: { tools: [{ name: 'fine' }] } });
  });

  it('a caller without a valid key, with a record', async () => {
    const nobody = await post(call('fine'), { authorization: 'Bearer gwk_nobody00.'.padEnd(60, '0') });
    expect(nobody).toMatchObject({
      status: 401,
      row: { status: 'unauthorized', policy_result: 'not_evaluated', user_id: null, tool_id: 'odd/(unread)' },
    });
    expect(nobody.headers.get('www-authenticate')).toBeNull();
  });

  it('a session of another key or server, and a session id that the gateway did not issue', async () => {
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
    // Not by `post`, which waits for a record: only tool calls write one.
    const begun = await fetch(`${gateway.url}/mcp/odd`, {
      method: 'POST',
      headers: usual,
      body: JSON.stringify(initialize),
    });
    const session = begun.headers.get('mcp-session-id')!;
    expect(session).not.toContain(fresh);
    expect((await post(call('fine'), { 'mcp-session-id': session })).status).toBe(200);
    expect(heard.at(-1)?.req.headers['mcp-session-id']).toBe(fresh);
    for (const [headers, at] of [
      [{ 'mcp-session-id': session, authorization: `Bearer ${otherKey}` }, 'odd'],
      [{ 'mcp-session-id': session }, 'down'],
      [{ 'mcp-session-id': fresh }, 'odd'],
      [{ 'mcp-session-id': 'x'.repeat(100) }, 'odd'],
    ] as const) {
      const sent = await post(call('fine'), headers, at);
      expect(sent.status).toBe(404);
      expect(errorIn(sent.data)).toMatchObject({ code: -32_001, data: { error_code: 'session_not_found' } });
      expect(sent.row).toMatchObject({ status: 'invalid_request', error_code: 'session_not_found' });
    }
    const ended = await post(call('gone'), { 'mcp-session-id': session });
    expect(ended.status).toBe(404);
  });

  it('a request of another origin with 403, and one that does not accept event streams with 406', async () => {
    const page = await fetch(`${gateway.url}/mcp/odd`, {
      method: 'POST',
      headers: { ...usual, origin: 'https://evil.example.com' },
      body: JSON.stringify(call('fine')),
    });
    expect(page.status).toBe(403);
    const picky = await fetch(`${gateway.url}/mcp/odd`, {
      method: 'POST',
      headers: { ...usual, accept: 'application/json' },
      body: JSON.stringify(call('fine')),
    });
    expect(picky.status).toBe(406);
  });

  it('headers of 2026-07-28 that differ from the body', async () => {
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' };
    expect((await post(call('fine'), { ...modern, 'mcp-name': 'fine' })).status).toBe(200);
    expect(heard.at(-1)?.req.headers).toMatchObject({ ...modern, 'mcp-name': 'fine' });
    const other = await post(call('fine'), { ...modern, 'mcp-name': 'denied' });
    expect(other).toMatchObject({ status: 400, row: { error_code: 'header_mismatch' } });
  });

  it('headers of 2026-07-28 in an older revision: they are not compared and not sent to the server', async () => {
    const { status } = await post(call('fine'), { 'mcp-method': 'tools/list', 'mcp-name': 'denied' });
    expect(status).toBe(200);
    expect(Object.keys(heard.at(-1)?.req.headers ?? {}).filter((name) => name.startsWith('mcp-'))).toEqual(
      [],
    );
  });
});

describe('secrets', () => {
  it("of the gateway are not shown to the caller, and the caller's are not sent to the server", async () => {
    const sent = await post(call('echo'), { 'x-api-key': key, cookie: 'a=b' });
    expect(heard.at(-1)?.req.headers.authorization).toBe(`Bearer ${token}`);
    expect(heard.at(-1)?.req.headers).not.toHaveProperty('x-api-key');
    expect(heard.at(-1)?.req.headers).not.toHaveProperty('cookie');
    expect(sent.text).not.toContain(token);
    expect(JSON.stringify(sent.row)).not.toContain(token);
    expect(JSON.stringify(heard.map(({ req, text }) => [req.rawHeaders, text]))).not.toContain(key);
    expect(JSON.stringify(gateway.log.lines)).not.toMatch(token);
  });

  it("of the gateway are redacted in the fields beside an event's data", async () => {
    const { text } = await post(call('secrets beside the data'));
    expect(text).toContain('id: [REDACTED]\nevent: message\nretry: [REDACTED]\ndata: {');
  });

  it('are in no record and no log line, wherever a caller puts them', async () => {
    const asked = { ...call(token), params: { name: token, arguments: { [token]: [token] } } };
    const sent = await post(asked, { 'mcp-protocol-version': '2025-11-25' }, 'hasty');
    expect(sent.row).toMatchObject({ status: 'timeout', server_id: 'hasty' });
    const method = await post({ jsonrpc: '2.0', id: 1, method: token }, { 'mcp-session-id': token });
    expect(method.row).toMatchObject({ error_code: 'session_not_found' });
    expect(JSON.stringify([sent.row, method.row, sent.text, method.text])).not.toContain(token);
    expect(JSON.stringify(gateway.log.lines)).not.toContain(token);
  });

  it('as the request id of a call without a valid key are in no log line and no record', async () => {
    const shown = 'credential-of-another-service';
    for (const requestId of [token, adminToken, key, shown]) {
      const response = await fetch(`${gateway.url}/mcp/odd`, {
        method: 'POST',
        headers: { ...usual, authorization: `Bearer ${shown}`, 'x-request-id': requestId },
        body: JSON.stringify(call('fine')),
      });
      expect(response.status).toBe(401);
    }
    const told = JSON.stringify([
      gateway.log.lines,
      await scene.records(4, "request_id = '[REDACTED]' and error_code = 'invalid_api_key'"),
    ]);
    for (const secret of [token, adminToken, key, shown]) expect(told).not.toContain(secret);
  });

  it('in a message are refused and not sent to the server', async () => {
    const before = heard.length;
    for (const own of [key, key.slice(key.indexOf('.') + 1), adminToken]) {
      const sent = await post({ ...call('fine'), params: { name: 'fine', arguments: { own } } });
      expect(errorIn(sent.data).data).toEqual({ error_code: 'holds_api_key' });
      expect(JSON.stringify(sent.row)).not.toContain(own.slice(own.indexOf('.') + 1));
    }
    expect(heard).toHaveLength(before);
  });

  it('in a header are refused and not sent to the server', async () => {
    const before = heard.length;
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'fine' };
    for (const headers of [{ ...modern, 'mcp-param-a': `${key}!` }, { 'last-event-id': key }]) {
      const sent = await post(call('fine'), headers);
      expect(errorIn(sent.data).data).toEqual({ error_code: 'holds_api_key' });
      expect(sent.row).toMatchObject({ status: 'invalid_request', error_code: 'holds_api_key' });
    }
    expect(heard).toHaveLength(before);
  });
});

describe('a client disconnect', () => {
  it('ends the call at the server and is recorded as client_closed', async () => {
    const requestId = randomUUID();
    const before = heard.length;
    const abort = new AbortController();
    const slow = fetch(`${gateway.url}/mcp/odd`, {
      method: 'POST',
      headers: { ...usual, 'x-request-id': requestId },
      body: JSON.stringify(call('silent')),
      signal: abort.signal,
    }).catch(() => undefined);
    const at = await eventually(() => heard[before]);
    abort.abort();
    await slow;
    const [row] = await scene.records(1, `request_id = '${requestId}'`);
    expect(row).toMatchObject({ status: 'timeout', error_code: 'client_closed' });
    await eventually(() => at.closed || undefined);
  });
});

describe('GET and DELETE', () => {
  it('are answered with 405 where the server does not support them', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { status } = await fetch(`${gateway.url}/mcp/odd`, { method, headers: usual });
      expect(status).toBe(405);
    }
  });

  it('at /mcp write no record, nor does an unsupported revision, since clients try both when they connect', async () => {
    const requestIds = [randomUUID(), randomUUID(), randomUUID()] as const;
    const refused = async (method: string, requestId: string) => {
      const headers = { ...usual, 'x-request-id': requestId };
      return (await fetch(`${gateway.url}/mcp`, { method, headers, body: method === 'POST' ? '{' : null }))
        .status;
    };
    expect(await refused('GET', requestIds[0])).toBe(405);
    const discover = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        ...usual,
        'x-request-id': requestIds[2],
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'server/discover',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'server/discover',
        params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
      }),
    });
    expect([discover.status, await discover.text()]).toEqual([
      400,
      expect.stringContaining('unsupported_revision'),
    ]);
    expect(await refused('POST', requestIds[1])).toBe(400);
    expect(await scene.records(1, `request_id = '${requestIds[1]}'`)).toHaveLength(1);
    expect(await scene.records(0, `request_id in ('${requestIds[0]}', '${requestIds[2]}')`)).toEqual([]);
  });
});
