import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type SeenRequest,
  startSimulatedUpstream,
  type SimulatedUpstream,
} from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { eventually, outcomesOf, tracesIn } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const traceOf = tracesIn(query);
const key = aKey();
let one: SimulatedUpstream;
let two: SimulatedUpstream;
let gateway: TestGateway;
const seenBy: { one: SeenRequest[]; two: SeenRequest[] } = { one: [], two: [] };

const to = (provider: string, over: object = {}) => ({ provider, upstream_model: 'simulated-fast', ...over });
const unable = (...names: string[]) => ({
  capabilities: Object.fromEntries(names.map((name) => [name, false])),
});

const models = [
  ...['chat_completions', 'stream', 'tools', 'vision', 'json_schema'].map((name) => ({
    id: `no-${name}`,
    routes: [to('one', unable(name))],
  })),
  { id: 'nothing', routes: [to('one', unable('stream', 'tools', 'vision', 'json_schema'))] },
  { id: 'tie', routes: [to('one'), to('two')] },
  { id: 'later-first', routes: [to('one', { priority: 20 }), to('two', { priority: 10 })] },
  { id: 'second-streams', routes: [to('one', unable('stream')), to('two')] },
  { id: 'both-lack', routes: [to('one', unable('tools')), to('two', unable('stream', 'tools'))] },
  { id: 'first-off', routes: [to('one', { enabled: false }), to('two')] },
  { id: 'all-off', routes: [to('one', { enabled: false }), to('two', { enabled: false })] },
  { id: 'off-could', routes: [to('one', unable('tools')), to('two', { enabled: false })] },
  { id: 'empty', routes: [] },
  {
    id: 'first-fails',
    routes: [to('one', { extra_headers: { 'x-simulate': 'status=500' } }), to('two')],
  },
  {
    id: 'first-breaks',
    routes: [to('one', { extra_headers: { 'x-simulate': 'error-at=2' } }), to('two')],
  },
  { id: 'first-limited', routes: [to('one', { extra_headers: { 'x-simulate': 'status=429' } }), to('two')] },
  { id: 'first-dead', routes: [to('dead'), to('two')] },
  { id: 'only-two', routes: [to('two')] },
];

function config(over: ConfigFile = {}): ConfigFile {
  return basicConfig(one.url, key, {
    more: {
      providers: [
        { id: 'one', type: 'compat', base_url: one.url },
        { id: 'two', type: 'compat', base_url: two.url },
        // No process listens on port 9, the port of the discard protocol.
        { id: 'dead', type: 'compat', base_url: 'http://127.0.0.1:9/v1' },
      ],
      models,
      ...over,
    },
  });
}

beforeAll(async () => {
  one = await startSimulatedUpstream({ port: 0, onRequest: (request) => void seenBy.one.push(request) });
  two = await startSimulatedUpstream({ port: 0, onRequest: (request) => void seenBy.two.push(request) });
  gateway = await startGateway(config(), database.url());
});
afterAll(async () => {
  await gateway?.stop();
  await one?.close();
  await two?.close();
});

const needs: Readonly<Record<string, object>> = {
  chat_completions: {},
  stream: { stream: true },
  tools: { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] },
  vision: {
    messages: [
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
      },
    ],
  },
  json_schema: { response_format: { type: 'json_schema', json_schema: { name: 's', schema: {} } } },
};

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly error: { message?: string; code?: string; param?: string | null };
  /** How often each upstream was called for it. */
  readonly calls: readonly [one: number, two: number];
}

let serial = 0;
const lastId = (): string => `route-${serial}`;

async function ask(model: string, body: object = {}): Promise<Answered> {
  serial += 1;
  const before = [one.requests(), two.requests()] as const;
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-request-id': lastId(),
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], ...body }),
  });
  const text = await answer.text();
  const error = answer.ok ? {} : (JSON.parse(text) as { error: Answered['error'] }).error;
  return {
    status: answer.status,
    text,
    error,
    calls: [one.requests() - before[0], two.requests() - before[1]],
  };
}

async function zeroAttempts(expected: object): Promise<void> {
  const { logs, attempts, ledger } = await traceOf(lastId());
  expect(logs).toEqual([expect.objectContaining(expected)]);
  expect([...attempts, ...ledger]).toEqual([]);
}

describe('capabilities', () => {
  it.each([
    ['chat_completions', 'model'],
    ['stream', 'stream'],
    ['tools', 'tools'],
    ['vision', 'messages[0].content[0]'],
    ['json_schema', 'response_format'],
  ])('a route without %s refuses a request for it before the provider, and names it', async (name, param) => {
    const { status, error, calls } = await ask(`no-${name}`, needs[name]);
    expect({ status, code: error.code, param: error.param }).toEqual({
      status: 400,
      code: 'invalid_request',
      param,
    });
    expect(error.message).toContain(`\`${name}\``);
    expect(calls).toEqual([0, 0]);
    await zeroAttempts({ status_code: 400, error_code: 'invalid_request', provider_key: null });
    expect(outcomesOf(gateway, lastId())).toMatchObject([{ outcome: 'invalid_request' }]);
  });

  it.each(['stream', 'tools', 'vision', 'json_schema'])(
    'a route without %s serves a request that does not need it',
    async (name) => {
      const others = Object.entries(needs)
        .filter(([other]) => other !== name)
        .map(([, need]) => need);
      const { status, calls } = await ask(`no-${name}`, Object.assign({}, ...others) as object);
      expect(status).toBe(200);
      expect(calls).toEqual([1, 0]);
    },
  );

  it.each([
    ['an empty list of tools', { tools: [] }],
    ['response_format json_object', { response_format: { type: 'json_object' } }],
    ['stream: false', { stream: false }],
    ['text parts', { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }],
  ])('%s needs no capability', async (_what, body) => {
    expect(await ask('nothing', body)).toMatchObject({ status: 200 });
  });

  it('legacy functions need the capability tools', async () => {
    const { status, error } = await ask('no-tools', { functions: [{ name: 'f', parameters: {} }] });
    expect({ status, param: error.param }).toEqual({ status: 400, param: 'functions' });
  });
});

describe('the order of routes', () => {
  it.each([
    ['ties go in file order', 'tie', {}, [1, 0]],
    ['the lower priority comes first', 'later-first', {}, [0, 1]],
    ['a disabled route is skipped', 'first-off', {}, [0, 1]],
    ['the first route whose capabilities suffice is used', 'second-streams', needs['stream'], [0, 1]],
    ['a later route is not used if the first one suffices', 'second-streams', {}, [1, 0]],
  ] as const)('%s', async (_rule, model, body, calls) => {
    const answered = await ask(model, body);
    expect(answered.status).toBe(200);
    expect(answered.calls).toEqual(calls);
    expect((await traceOf(lastId())).logs).toMatchObject([{ provider_key: calls[0] === 1 ? 'one' : 'two' }]);
  });

  it('is the same for every request', async () => {
    for (let round = 0; round < 10; round += 1) expect((await ask('tie')).calls).toEqual([1, 0]);
  });

  it.each([
    ['both-lack', { ...needs['tools'], ...needs['stream'] }, 'tools'],
    ['off-could', needs['tools'], 'tools'],
  ])('%s: if no enabled route suffices, the error names what the first lacks', async (model, body, name) => {
    const { status, error, calls } = await ask(model, body);
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: 'invalid_request', param: name });
    expect(calls).toEqual([0, 0]);
  });
});

describe('no route', () => {
  it.each(['all-off', 'empty'])('%s: 503 no_routes_available, with a row and no attempt', async (model) => {
    const { status, error, calls } = await ask(model);
    expect(status).toBe(503);
    expect(error).toMatchObject({ code: 'no_routes_available', type: 'routing_error', param: null });
    expect(calls).toEqual([0, 0]);
    await zeroAttempts({
      status_code: 503,
      error_code: 'no_routes_available',
      model_key: model,
      provider_key: null,
    });
    expect(outcomesOf(gateway, lastId())).toMatchObject([{ outcome: 'no_routes_available' }]);
  });

  it('a provider that is disabled in the database has no routes on a running replica until it is enabled', async () => {
    expect(await ask('only-two')).toMatchObject({ status: 200 });
    await query("update providers set enabled = false where provider_key = 'two'; select gateway_touch()");
    await eventually(async () => ((await ask('only-two')).status === 503 ? true : undefined));
    expect(await ask('later-first')).toMatchObject({ status: 200, calls: [1, 0] });
    await query("update providers set enabled = true where provider_key = 'two'; select gateway_touch()");
    await eventually(async () => ((await ask('only-two')).status === 200 ? true : undefined));
  });

  it('a model that is removed from the file is unknown until it is added again', async () => {
    await gateway.take(config({ models: models.filter(({ id }) => id !== 'tie') }));
    expect(await ask('tie')).toMatchObject({ status: 404, error: { code: 'model_not_found' } });
    await gateway.take(config());
    expect(await ask('tie')).toMatchObject({ status: 200 });
  });

  it('a route that is removed from the file is no longer used, and a new order applies at once', async () => {
    const others = models.filter(({ id }) => id !== 'tie');
    await gateway.take(config({ models: [...others, { id: 'tie', routes: [to('two')] }] }));
    expect(await ask('tie')).toMatchObject({ status: 200, calls: [0, 1] });
    await gateway.take(config({ models: [...others, { id: 'tie', routes: [to('two'), to('one')] }] }));
    expect(await ask('tie')).toMatchObject({ status: 200, calls: [0, 1] });
    await gateway.take(config());
    expect(await ask('tie')).toMatchObject({ status: 200, calls: [1, 0] });
  });
});

describe('never a second route', () => {
  it.each([
    ['first-fails', {}, 502, [1, 0]],
    ['first-fails', needs['stream'], 502, [1, 0]],
    ['first-limited', {}, 429, [1, 0]],
    ['first-dead', {}, 502, [0, 0]],
    ['first-dead', needs['stream'], 502, [0, 0]],
  ] as const)('%s %j: %i, and no other route is tried', async (model, body, expected, calls) => {
    const answered = await ask(model, body);
    expect(answered.status).toBe(expected);
    expect(answered.error).toMatchObject({
      code: expected === 429 ? 'rate_limit_exceeded' : 'upstream_error',
    });
    expect(answered.calls).toEqual(calls);
    const { attempts } = await traceOf(lastId());
    expect(attempts).toMatchObject([
      { attempt_number: 1, provider_key: model === 'first-dead' ? 'dead' : 'one' },
    ]);
  });

  it('a stream that breaks is not continued on another route', async () => {
    const { status, text, calls } = await ask('first-breaks', needs['stream']);
    expect(status).toBe(200);
    expect(text).toContain('"code":"upstream_error"');
    expect(text).not.toContain('[DONE]');
    expect(calls).toEqual([1, 0]);
    expect((await traceOf(lastId())).attempts).toMatchObject([{ attempt_number: 1, status: 'stream_error' }]);
  });
});
