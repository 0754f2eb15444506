import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import type { McpAnswer, McpRequest } from '../../application/mcp/mcp-request.ts';
import { serveUnion } from '../../application/mcp/serve-union.ts';
import { toolTitles } from '../../application/mcp/tool-titles.ts';
import type { McpExchange, McpFrame, McpReply, McpServer } from '../../application/ports/mcp-upstreams.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import type { AllowedOwner } from '../../domain/mcp/server-policy.ts';
import { secretsOf } from '../../domain/payload/secrets.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';

const credential = 'server-credential-0123456789';

/** What a server lists, by method. */
type Lists = Readonly<Record<string, readonly JsonObject[]>>;

const members: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

/** The next cursor that a server returns, by server id and page. */
const cursors: Readonly<Record<string, (page: number) => string | null>> = {
  endless: (page) => `page ${page}`,
  stuck: () => 'page 2',
  cursed: () => 'x'.repeat(4097),
  last: () => '',
  ended: () => null,
};

/** A server that sends a thousand requests to the caller before it answers. */
function asking(id: unknown): McpReply {
  async function* frames(): AsyncGenerator<McpFrame> {
    for (let n = 0; n <= 1000; n += 1) {
      const message = n < 1000 ? { id: n, method: 'roots/list' } : { id, result: {} };
      const data = JSON.stringify({ jsonrpc: '2.0', ...message });
      yield { kind: 'event', data, wire: Buffer.from(`data: ${data}\n\n`) };
    }
  }
  return { status: 200, session: undefined, body: { kind: 'events', frames: frames() } };
}

/** A server that first sends a response to an unknown request. */
function answeringOthers(id: unknown, result: JsonObject): McpReply {
  async function* frames(): AsyncGenerator<McpFrame> {
    for (const message of [
      { id: 'somebody', result: {} },
      { id, result },
    ]) {
      const data = JSON.stringify({ jsonrpc: '2.0', ...message });
      yield { kind: 'event', data, wire: Buffer.from(`data: ${data}\n\n`) };
    }
  }
  return { status: 200, session: undefined, body: { kind: 'events', frames: frames() } };
}

/** A server with its lists, and with what it says of its use. */
type TestServer = McpServer & { readonly lists: Lists; readonly says?: { readonly instructions: string } };

/** The union of servers that return their lists, and echo the params of every other request. */
function unionOf(servers: readonly TestServer[], room = Infinity) {
  const records: { readonly tool: string; readonly heldBytes: number }[] = [];
  const refused: string[] = [];
  const asked: { readonly server: string; readonly message: JsonObject; readonly withinMs?: number }[] = [];
  let now = 0;
  /** Each answer takes a second. */
  const reply = (server: string, { text, withinMs }: McpExchange): McpReply => {
    const message = JSON.parse(text ?? '{}');
    asked.push({ server, message, ...(withinMs === undefined ? {} : { withinMs }) });
    now += 1000;
    if (message.params?.name === 'asks') return asking(message.id);
    const answering = servers.find(({ id }) => id === server);
    const items = answering?.lists[message.method] ?? [];
    const member = members[message.method];
    const result =
      member === undefined
        ? { served: [server, message.params], ...answering?.says }
        : { [member]: items, nextCursor: cursors[server]?.(asked.length) };
    if (server === 'mixed') return answeringOthers(message.id, result);
    const body = JSON.stringify({ jsonrpc: '2.0', id: message.id, result });
    return {
      status: server === 'refusing' ? 400 : 200,
      session: undefined,
      body: { kind: 'json', text: body },
    };
  };
  let held = 0;
  let ids = 0;
  const union = serveUnion({
    upstreams: {
      servers: () => servers,
      send: async (server, ask) => {
        if (server.id === 'silent' && ask.text?.includes('"id":') === true)
          return new Promise((resolve) => {
            const error: McpError = { code: 'upstream_unreachable', message: 'Nobody waits.' };
            ask.signal.addEventListener('abort', () => resolve(E.left(error)));
          });
        // A refusal of a server's request is never accepted, so it stays in flight.
        if (ask.text?.includes('"error":') === true) {
          refused.push(ask.text);
          return new Promise(() => undefined);
        }
        const answered = reply(server.id, ask);
        const bytes = answered.body.kind === 'json' ? answered.body.text.length : 0;
        return ask.memory.hold(bytes)
          ? E.right(answered)
          : E.left({ code: 'overloaded', message: 'no room' });
      },
    },
    sessions: {
      seal: async () => E.right('s'),
      open: async () =>
        E.right({
          place: '*',
          upstream: Object.fromEntries(
            servers.map(({ id }) => [id, { id: undefined, revision: '2025-11-25' }]),
          ),
        }),
    },
    clock: { now: () => now, newId: () => String((ids += 1)) },
    digest: textDigest,
    record: ({ tool }, heldBytes) => void records.push({ tool: tool.id, heldBytes }),
    titles: toolTitles(),
    secrets: () => secretsOf([credential]),
    beat: () => () => undefined,
  });
  const post = async (message: JsonObject): Promise<McpAnswer> => {
    const caller: Caller = {
      apiKeyId: 'k',
      allowedModels: [],
      keyOwner: { kind: 'user', userId: 'u', requestLoggingEnabled: true },
      person: { email: 'a@example.com', teamIds: ['platform'] },
    };
    const request: McpRequest = {
      requestId: 'r',
      receivedAt: 0,
      caller,
      authenticateAgain: async () => E.right(caller),
      callerSecrets: [],
      serverId: '*',
      session: 's',
      headers: {
        protocolVersion: '2025-11-25',
        lastEventId: undefined,
        method: undefined,
        name: undefined,
        mirrored: {},
      },
      link: { lost: () => undefined, whenLost: () => undefined },
      memory: { hold: (bytes) => (held += bytes) <= room, holdUnfinished: () => true },
      telemetry: { traceContext: {}, sent: () => undefined, ended: () => undefined },
    };
    return union.post(request, E.right(JSON.stringify({ jsonrpc: '2.0', ...message })));
  };
  const ask = async (method: string, params: JsonObject = {}) =>
    answerIn(await post({ id: 1, method, params }));
  const cancel = () => post({ method: 'notifications/cancelled', params: { requestId: 1 } });
  return { ask, asked, cancel, records, refused };
}

async function answerIn(answer: McpAnswer) {
  if (answer.kind !== 'events') return JSON.parse(answer.kind === 'whole' ? answer.text : '{}');
  let last = '';
  for await (const event of answer.events) last = String(event);
  return JSON.parse(last.slice('data: '.length));
}

const owner = fc.constantFrom<AllowedOwner>(
  { kind: 'everyone' },
  { kind: 'user', email: 'a@example.com' },
  { kind: 'user', email: 'b@example.com' },
  { kind: 'team', id: 'platform' },
  { kind: 'team', id: 'others' },
);
const uri = fc.constantFrom('file:///a', 'file:///b', 'a+b:c', 'mcp+own+file:///a', '');
const servers = fc
  .uniqueArray(
    fc.record({
      id: fc.constantFrom('own', 'files', '3d'),
      allowedOwners: fc.array(owner, { maxLength: 2 }),
      uris: fc.uniqueArray(uri),
    }),
    { selector: ({ id }) => id },
  )
  .map((all) =>
    all.map(({ id, allowedOwners, uris }) => ({
      id,
      displayName: id,
      policy: { allowedOwners, allowedTools: undefined, deniedTools: [] },
      lists: {
        'resources/list': uris.map((each) => ({ name: each, uri: each })),
        'resources/templates/list': uris.map((each) => ({ name: each, uriTemplate: `${each}{x}` })),
      },
    })),
  );

const open = { allowedOwners: [{ kind: 'everyone' }], allowedTools: undefined, deniedTools: [] } as const;

describe('resources of the union', () => {
  it('can be read from their own server if and only if they are listed', async () => {
    await fc.assert(
      fc.asyncProperty(servers, async (all) => {
        const { ask, asked } = unionOf(all);
        const { resources } = (await ask('resources/list')).result;
        const { resourceTemplates } = (await ask('resources/templates/list')).result;
        const listed: readonly string[] = [
          ...resources.map((each: { readonly uri: string }) => each.uri),
          ...resourceTemplates.map((each: { readonly uriTemplate: string }) =>
            each.uriTemplate.replace('{x}', 'x'),
          ),
        ];
        expect(new Set(listed).size).toBe(listed.length);
        const readable = new Set<string>();
        for (const { id, lists } of all)
          for (const each of lists['resources/list']) {
            const own = each.uri;
            const whole = `mcp+${id}+${own}`;
            const { result } = await ask('resources/read', { uri: whole });
            if (result === undefined) continue;
            readable.add(whole);
            expect(result.served).toEqual([id, { uri: own }]);
          }
        expect(new Set(resources.map((each: { readonly uri: string }) => each.uri))).toEqual(readable);
        for (const each of listed)
          expect((await ask('resources/read', { uri: each })).result.served[1].uri).toBe(
            each.slice(each.indexOf('+', 'mcp+'.length) + 1),
          );
        const before = asked.length;
        for (const other of ['file:///a', 'mcp+nothing+file:///a', 'mcp+own', 7, null])
          expect((await ask('resources/read', { uri: other })).error.data.error_code).toBe(
            'unknown_resource',
          );
        expect(asked).toHaveLength(before);
      }),
      { numRuns: 50 },
    );
  });
});

it('a cancellation is not sent to a server without a session, where its id may be another caller’s', async () => {
  const { asked, cancel } = unionOf([{ id: 'own', displayName: 'own', policy: open, lists: {} }]);
  await cancel();
  expect(asked).toEqual([]);
});

describe('a list of the union', () => {
  const tools = (count: number) => Array.from({ length: count }, (_each, n) => ({ name: `t${n}` }));

  it('has at most 10,000 items per server', async () => {
    const { ask } = unionOf([
      { id: 'own', displayName: 'own', policy: open, lists: { 'tools/list': tools(40_000) } },
    ]);
    expect((await ask('tools/list')).result.tools).toHaveLength(10_000);
  });

  it.each([
    [100, 20],
    [1000, 3],
  ])('is requested in a limited number of pages: pages of %i tools, %i of them', async (count, pages) => {
    const lists = {
      'tools/list': tools(count).map((tool) => ({ ...tool, description: 'x'.repeat(3000) })),
    };
    const { ask, asked } = unionOf([{ id: 'endless', displayName: 'e', policy: open, lists }]);
    expect((await ask('tools/list')).result.tools).toHaveLength(count);
    expect(asked).toHaveLength(pages);
  });

  it('has one timeout of 10 s for all pages', async () => {
    const { ask, asked } = unionOf([
      { id: 'endless', displayName: 'e', policy: open, lists: { 'tools/list': tools(1) } },
    ]);
    await ask('tools/list');
    expect(asked.map(({ withinMs }) => withinMs)).toEqual(
      Array.from({ length: 20 }, (_, page) => Math.max(1, 10_000 - 1000 * page)),
    );
  });

  it.each([
    ['resources/list', 'resources', [{ name: 'a', uri: 'own://a' }]],
    ['resources/templates/list', 'resourceTemplates', [{ name: 'a', uriTemplate: 'own://{a}' }]],
    ['tools/list', 'tools', tools(1)],
  ])('ends when a server repeats a page, and has no duplicates: %s', async (method, member, items) => {
    const { ask, asked } = unionOf([
      { id: 'stuck', displayName: 's', policy: open, lists: { [method]: items } },
    ]);
    expect((await ask(method)).result[member]).toHaveLength(1);
    expect(asked).toHaveLength(2);
  });

  it('has no items of a server that answers with an HTTP error', async () => {
    const { ask } = unionOf([
      { id: 'refusing', displayName: 'r', policy: open, lists: { 'tools/list': tools(1) } },
      { id: 'own', displayName: 'o', policy: open, lists: { 'tools/list': tools(1) } },
    ]);
    expect((await ask('tools/list')).result.tools).toEqual([{ name: 'own__t0' }]);
  });

  it('ignores responses to other requests', async () => {
    const { ask } = unionOf([
      { id: 'mixed', displayName: 'm', policy: open, lists: { 'tools/list': tools(2) } },
    ]);
    expect((await ask('tools/list')).result.tools).toHaveLength(2);
  });

  it.each([
    ['too long to be sent back', 'cursed'],
    ['empty', 'last'],
    ['null', 'ended'],
  ])('ends at a cursor that is %s', async (_what, id) => {
    const { ask, asked } = unionOf([
      { id, displayName: id, policy: open, lists: { 'tools/list': tools(1) } },
    ]);
    expect((await ask('tools/list')).result.tools).toHaveLength(1);
    expect(asked).toHaveLength(1);
  });

  it('fails with `overloaded` if memory for the answers is exhausted, and never omits a server', async () => {
    const lists = { 'tools/list': tools(1000) };
    const { ask } = unionOf(
      [
        { id: 'a', displayName: 'a', policy: open, lists },
        { id: 'b', displayName: 'b', policy: open, lists },
      ],
      20_000,
    );
    expect((await ask('tools/list')).error.data.error_code).toBe('overloaded');
  });

  it.each([
    ['tools/list', 'tools'],
    ['resources/list', 'resources'],
  ] as const)('redacts a credential that a server repeats: %s', async (method, member) => {
    const items = [{ name: 'a', uri: 'file:///a', description: `Sign in with ${credential}.` }];
    const { ask } = unionOf([{ id: 'own', displayName: 'own', policy: open, lists: { [method]: items } }]);
    expect((await ask(method)).result[member]).toMatchObject([{ description: 'Sign in with [REDACTED].' }]);
  });

  it('fails with `cancelled` if it is cancelled before all servers have answered', async () => {
    const lists = { 'tools/list': tools(1) };
    const { ask, cancel } = unionOf([
      { id: 'own', displayName: 'own', policy: open, lists },
      { id: 'silent', displayName: 'silent', policy: open, lists },
    ]);
    const listing = ask('tools/list');
    await new Promise((resolve) => setImmediate(resolve));
    await cancel();
    expect((await listing).error.data.error_code).toBe('cancelled');
  });
});

it.each(['constructor', 'toString', '__proto__'])(
  'the union rejects `%s` as an unknown method',
  async (method) => {
    const { ask } = unionOf([]);
    expect((await ask(method)).error.data.error_code).toBe('unknown_method');
  },
);

it.each([
  ['an unknown tool', 'unknown_tool', 'tools/call', 'other__'],
  ['a closed tool', 'tool_not_allowed', 'tools/call', 'own__'],
  ['an unknown method', 'unknown_method', undefined, ''],
])('the union names %s in valid Unicode, however long its name is', async (_, code, method, server) => {
  const policy = { ...open, allowedTools: ['fine'] };
  const { ask } = unionOf([{ id: 'own', displayName: 'own', policy, lists: {} }]);
  const name = `x${'😀'.repeat(100)}\ud83d`;
  const { error } = await ask(method ?? name, { name: `${server}${name}` });
  expect(error.data.error_code).toBe(code);
  expect(error.message).toContain(name.slice(0, 63));
  expect(error.message.isWellFormed()).toBe(true);
});

it('a call that asks for a task is made without one, because `/mcp` answers nothing about tasks', async () => {
  const { ask } = unionOf([{ id: 'own', displayName: 'own', policy: open, lists: {} }]);
  const params = { task: { ttl: 60_000 }, name: 'own__t', arguments: { task: 'stays' } };
  expect((await ask('tools/call', params)).result.served).toEqual([
    'own',
    { name: 't', arguments: { task: 'stays' } },
  ]);
});

describe('a server that sends many requests', () => {
  it('has at most 16 refusals in flight, and its answer is relayed', async () => {
    const { ask, refused } = unionOf([{ id: 'own', displayName: 'own', policy: open, lists: {} }]);
    expect((await ask('tools/call', { name: 'own__asks' })).result).toEqual({});
    expect(refused).toHaveLength(16);
  });
});

describe('a message that contains a key or token of the gateway', () => {
  it.each([
    ['an API key', `gwk_abcdefgh.${'0'.repeat(32)}`],
    ['a token of an admin', `gwa_${'0'.repeat(32)}.${'f'.repeat(64)}`],
  ])('is rejected and sent to no server: %s', async (_, key) => {
    const { ask, asked } = unionOf([{ id: 'own', displayName: 'own', policy: open, lists: {} }]);
    const answer = await ask('tools/call', { name: 'own__t', arguments: { key } });
    expect([answer.error.data.error_code, asked]).toEqual(['holds_api_key', []]);
  });
});

describe('a queued record of a tool call', () => {
  it('is counted with the size of its arguments, for a denied call too', async () => {
    const policy = { ...open, deniedTools: ['closed'] };
    const { ask, records } = unionOf([{ id: 'own', displayName: 'own', policy, lists: {} }]);
    const argument = { arguments: { a: 'x'.repeat(100_000) } };
    await ask('tools/call', { name: 'own__closed', ...argument });
    await ask('tools/call', { name: 'own__open', ...argument });
    expect(records).toMatchObject([
      { tool: 'own/closed', heldBytes: expect.any(Number) },
      { tool: 'own/open', heldBytes: expect.any(Number) },
    ]);
    expect(records.every(({ heldBytes }) => heldBytes >= 100_000)).toBe(true);
  });
});

describe('the beginning of a session at /mcp', () => {
  const own = { id: 'own', displayName: 'Own', policy: open, lists: {} };

  it('has the instructions of each server, without credentials, and without any that are too long', async () => {
    const { ask } = unionOf([
      { ...own, says: { instructions: `Read before you write (${credential}).` } },
      { ...own, id: 'mute' },
      { ...own, id: 'verbose', says: { instructions: 'x'.repeat(16_385) } },
      { ...own, id: 'files', says: { instructions: 'Use absolute paths.' } },
    ]);
    expect((await ask('initialize')).result.instructions).toBe(
      '# MCP server own (its tools begin with own__)\n\nRead before you write ([REDACTED]).\n\n' +
        '# MCP server files (its tools begin with files__)\n\nUse absolute paths.',
    );
  });

  it('has no instructions if no server has any', async () => {
    const { ask } = unionOf([own]);
    expect((await ask('initialize')).result).not.toHaveProperty('instructions');
  });
});

it('tools at /mcp are listed without views, which cannot be read there', async () => {
  const tool = { name: 'chart', _meta: { ui: { resourceUri: 'ui://chart', visibility: ['app'] } } };
  const { ask } = unionOf([{ id: 'own', displayName: 'Own', policy: open, lists: { 'tools/list': [tool] } }]);
  expect((await ask('tools/list')).result.tools).toEqual([
    { name: 'own__chart', _meta: { ui: { visibility: ['app'] } } },
  ]);
});
