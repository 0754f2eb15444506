import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { answered } from '../../application/mcp/end-mcp-call.ts';
import { arrived, type RelayedMcpCall, sent } from '../../application/mcp/mcp-call.ts';
import type { McpAnswer, McpRequest } from '../../application/mcp/mcp-request.ts';
import { relayedReply } from '../../application/mcp/relay-reply.ts';
import { received } from '../../application/mcp/serve-mcp.ts';
import { toolTitles } from '../../application/mcp/tool-titles.ts';
import { type WaitingCalls, waitingCalls } from '../../application/mcp/waiting-calls.ts';
import type { FinishedMcpCall } from '../../application/ports/mcp-telemetry.ts';
import type { McpFrame, McpReply } from '../../application/ports/mcp-upstreams.ts';
import { secretsOf } from '../../domain/payload/secrets.ts';

const secret = 'server-credential-0123456789';
const terms = {
  secrets: () => secretsOf([secret]),
  titles: toolTitles(),
  clock: { now: () => 0 },
  record: () => undefined,
};
const server = {
  id: 'own',
  displayName: 'Own',
  policy: { allowedOwners: [], allowedTools: undefined, deniedTools: ['denied'] },
};

/** A call of request 1, or the stream on which a server sends messages by itself. */
function aCall(
  over: {
    readonly session?: string;
    readonly listens?: true;
    readonly told?: FinishedMcpCall[];
    readonly text?: string;
    /** The server's own session. */
    readonly upstream?: string;
  } = {},
): RelayedMcpCall {
  const request = {
    requestId: `r-${secret}`,
    receivedAt: 0,
    caller: { allowedModels: [], keyOwner: { kind: 'service_account', serviceAccountId: 'a' } },
    callerSecrets: [],
    serverId: 'own',
    session: over.session,
    headers: { protocolVersion: secret },
    link: { lost: () => undefined, whenLost: () => undefined },
    memory: { hold: () => true, holdUnfinished: () => true },
    telemetry: {
      traceContext: {},
      sent: () => undefined,
      ended: (call: FinishedMcpCall) => void over.told?.push(call),
    },
  } as unknown as McpRequest;
  const call = arrived(request, server);
  const admission = { server, session: over.upstream };
  if (over.listens === true) return sent({ ...call, ...admission });
  const read = received(terms, call, E.right(over.text ?? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'));
  if (E.isLeft(read)) throw new Error(`not read: ${JSON.stringify(read.left)}`);
  return sent({ ...read.right, ...admission });
}

const event = (data: string, head = ''): McpFrame => ({
  kind: 'event',
  data,
  wire: Buffer.from(`${head}${data === '' ? '' : `data: ${data}\n`}\n`),
});
const brokenOff: McpFrame = { kind: 'failed', error: { code: 'upstream_unreachable', message: 'Gone.' } };

async function* framesOfText(): AsyncGenerator<string> {
  yield ':\n\n';
}

async function* framesOf(frames: readonly McpFrame[]): AsyncGenerator<McpFrame> {
  yield* frames;
}

const relayed = (call: RelayedMcpCall, status: number, body: McpReply['body']): McpAnswer =>
  relayedReply(terms, call, { status, session: undefined, body });

/** The text that the caller gets of a stream. */
async function streamed(call: RelayedMcpCall, frames: readonly McpFrame[]): Promise<string> {
  const answer = relayed(call, 200, { kind: 'events', frames: framesOf(frames) });
  let text = '';
  if (answer.kind === 'events')
    for await (const piece of answer.events) text += Buffer.from(piece).toString();
  return text;
}

describe('a 404 from a server', () => {
  it('is `session_not_found` in a session', () => {
    expect(relayed(aCall({ session: 's' }), 404, { kind: 'none' })).toMatchObject({
      status: 404,
      error: 'session_not_found',
    });
  });

  it('is `upstream_protocol` without a session', () => {
    expect(relayed(aCall(), 404, { kind: 'none' })).toMatchObject({
      status: 200,
      error: 'upstream_protocol',
    });
  });
});

it('a stream at /mcp that can be resumed and ends without the answer ends with an error: callers cannot resume it', async () => {
  const union = { refuseRequest: () => undefined };
  const body = { kind: 'events', frames: framesOf([event('', 'id: 1\n')]) } as const;
  const reply = { status: 200, session: undefined, body };
  const answer = relayedReply({ ...terms, union }, aCall({ upstream: 'own' }), reply);
  let text = '';
  if (answer.kind === 'events')
    for await (const piece of answer.events) text += Buffer.from(piece).toString();
  expect(text).toContain('upstream_protocol');
});

/** What becomes of a server's message during a call at `/mcp` with the progress token 1. */
async function passedAtUnion(message: object) {
  const refused: unknown[] = [];
  const refuseRequest = (id: unknown): void => void refused.push(id);
  const text = JSON.stringify({ jsonrpc: '2.0', ...message });
  const body = { kind: 'events', frames: framesOf([event(text)]) } as const;
  const reply = { status: 200, session: undefined, body };
  const union = { refuseRequest };
  const call = aCall({
    upstream: 'own',
    text: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}',
  });
  const answer = relayedReply({ ...terms, union }, call, reply);
  let shown = '';
  if (answer.kind === 'events')
    for await (const piece of answer.events) shown += Buffer.from(piece).toString();
  return { isPassed: shown.includes(text), refused };
}

describe('a message of a server at /mcp', () => {
  it.each([
    [7, [7]],
    ['x'.repeat(257), []],
    [1.5, []],
    [{ a: 1 }, []],
  ])('is not passed on if it asks something of the caller, whatever its id is: %j', async (id, refused) => {
    const message = { id, method: 'sampling/createMessage', params: {} };
    expect(await passedAtUnion(message)).toEqual({ isPassed: false, refused });
  });

  it.each([{}, { id: null }])('is passed on if it is a notification: %j', async (id) => {
    const message = { ...id, method: 'notifications/message', params: {} };
    expect(await passedAtUnion(message)).toEqual({ isPassed: true, refused: [] });
  });
});

describe('progress that a server tells at /mcp', () => {
  it.each([
    [1, true],
    ['1', true],
    [2, false],
    [null, false],
  ])('is passed on if and only if it is that of the call: token %j: %s', async (progressToken, isPassed) => {
    const message = { method: 'notifications/progress', params: { progressToken, progress: 1 } };
    expect(await passedAtUnion(message)).toEqual({ isPassed, refused: [] });
  });
});

describe('an error of a server at /mcp', () => {
  const error = { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'no such tool' } };
  const atUnion = (upstream: string | undefined, status: number): McpAnswer =>
    relayedReply(
      { ...terms, union: { refuseRequest: () => undefined } },
      aCall({ session: 's', ...(upstream === undefined ? {} : { upstream }) }),
      { status, session: undefined, body: { kind: 'json', text: JSON.stringify(error) } },
    );

  it('with the status 404 is passed on with 200 if the server has no sessions, so none can have ended', () => {
    expect(atUnion(undefined, 404)).toEqual({ kind: 'whole', status: 200, text: JSON.stringify(error) });
  });

  it('is passed on with its status 400 if it answers the request', () => {
    expect(atUnion('own', 400)).toEqual({ kind: 'whole', status: 400, text: JSON.stringify(error) });
  });
});

describe('a JSON-RPC error of a server', () => {
  it.each([
    [400, 400],
    [403, 200],
    [404, 404],
    [499, 499],
    [500, 200],
    [503, 200],
  ])('with status %i is relayed with status %i', (status, shown) => {
    const text = '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}';
    expect(relayed(aCall(), status, { kind: 'json', text })).toEqual({ kind: 'whole', status: shown, text });
  });
});

describe('an answer of a server', () => {
  const result = '{"jsonrpc":"2.0","id":1,"result":{}}';

  it('that is an error with a null id is relayed', () => {
    const text = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}';
    expect(relayed(aCall(), 400, { kind: 'json', text })).toEqual({ kind: 'whole', status: 400, text });
    expect(relayed(aCall(), 200, { kind: 'json', text })).toEqual({ kind: 'whole', status: 200, text });
  });

  it('with the id of the request as text is relayed as it is, because clients accept it', async () => {
    const text = '{"jsonrpc":"2.0","id":"1","result":{}}';
    expect(relayed(aCall(), 200, { kind: 'json', text })).toEqual({ kind: 'whole', status: 200, text });
    const union = { refuseRequest: () => undefined };
    const body = { kind: 'events', frames: framesOf([event(text)]) } as const;
    const reply = { status: 200, session: undefined, body };
    const answer = relayedReply({ ...terms, union }, aCall(), reply);
    const shown: string[] = [];
    if (answer.kind === 'events')
      for await (const piece of answer.events) shown.push(Buffer.from(piece).toString());
    expect(shown).toEqual([`data: ${text}\n\n`]);
  });

  it.each([
    ['a result with an error status', 400, result],
    ['not a JSON-RPC message', 200, '{"id":1,"result":{}}'],
    ['a response to another request', 200, '{"jsonrpc":"2.0","id":2,"result":{}}'],
  ])('fails the call if it is %s', (_, status, text) => {
    expect(relayed(aCall(), status, { kind: 'json', text })).toMatchObject({ error: 'upstream_protocol' });
  });

  it.each([
    [401, 1],
    [403, null],
  ])('with status %i fails the call with `upstream_unauthorized`, unless a 403 answers it', (status, id) => {
    const text = JSON.stringify({ jsonrpc: '2.0', id, error: { code: 1, message: 'no' } });
    expect(relayed(aCall(), status, { kind: 'json', text })).toMatchObject({
      error: 'upstream_unauthorized',
    });
  });

  it('with 202 and no body is relayed if no request was sent, and fails the call otherwise', () => {
    expect(relayed(aCall({ listens: true }), 202, { kind: 'none' })).toEqual({ kind: 'empty', status: 202 });
    expect(relayed(aCall(), 202, { kind: 'none' })).toMatchObject({ error: 'upstream_protocol' });
  });
});

describe('a stream of a server', () => {
  const notification = '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}';
  const list = (id: number): string =>
    JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [{ name: 'denied' }, { name: 'fine' }] } });

  it('without a pending request ends without an error when it breaks', async () => {
    const text = await streamed(aCall({ listens: true }), [event(notification), brokenOff]);
    expect(text).toBe(`data: ${notification}\n\n`);
  });

  it('with a pending request ends with an error when it breaks', async () => {
    const text = await streamed(aCall(), [event(notification), brokenOff]);
    expect(text).toContain('"error_code":"upstream_unreachable"');
  });

  it('that ends without the answer ends with an error, unless its events have ids to resume from', async () => {
    expect(await streamed(aCall(), [event(notification)])).toContain('"error_code":"upstream_protocol"');
    const text = await streamed(aCall(), [event('', 'id: 1\n'), event(notification)]);
    expect(text).toBe(`id: 1\n\ndata: ${notification}\n\n`);
  });

  it('that continues after the answer is relayed, and ends without an error', async () => {
    const text = await streamed(aCall(), [event(list(1)), event(notification), event(list(7)), brokenOff]);
    expect(text).toContain(notification);
    expect(text).not.toContain('error_code');
  });

  it('keeps the SSE line format of an event whose data is changed', async () => {
    const data = JSON.stringify(JSON.parse(list(1)), undefined, 1);
    const wire = Buffer.from(`data: ${data.replaceAll('\n', '\ndata: ')}\n\n`);
    const text = await streamed(aCall(), [{ kind: 'event', data, wire }]);
    expect(text).toMatch(/^(?:data: .*\n)+\n$/);
    expect(text).not.toContain('"denied"');
  });

  it.each([
    ['with data', event(notification, `id: ${secret}\n`)],
    ['without data', event('', `id: ${secret}\n`)],
    ['that is a comment', event('', `: ${secret}\n`)],
    ['in a field whose name begins with data', event(notification, `database: ${secret}\n`)],
  ])('redacts a credential of the gateway in an event %s', async (_, frame) => {
    const text = await streamed(aCall(), [frame, event(list(1))]);
    expect(text).not.toContain(secret);
    expect(text).toContain('[REDACTED]');
  });

  it.each([
    ['the request', 1, {}],
    ['another request', 7, {}],
    ['an earlier request, on a resumed stream', 7, { listens: true }],
  ] as const)('omits denied tools in an answer to %s', async (_, id, over) => {
    const text = await streamed(aCall(over), [event(list(id))]);
    expect(text).toContain('"fine"');
    expect(text).not.toContain('"denied"');
  });
});

describe('the telemetry of a call', () => {
  it('has credentials redacted in request id, method and protocol version', () => {
    const told: FinishedMcpCall[] = [];
    const call = aCall({ told, text: JSON.stringify({ jsonrpc: '2.0', id: 1, method: secret }) });
    answered(terms, call, { result: {}, bytes: 0 });
    expect(told).toMatchObject([
      { requestId: 'r-[REDACTED]', method: '[REDACTED]', protocolVersion: '[REDACTED]' },
    ]);
  });
});

describe('a cancellation', () => {
  const cancelled = (call: RelayedMcpCall, { cancel }: WaitingCalls): string | undefined => {
    const params = { requestId: 1 };
    cancel(call.request, { kind: 'notification', method: 'notifications/cancelled', params });
    return call.life.lost?.code;
  };
  const whole: McpAnswer = { kind: 'empty', status: 202 };

  it('ends a call whose events are still being read, but not a finished call', async () => {
    const waiting = waitingCalls();
    const [read, over, readToItsEnd] = [aCall(), aCall(), aCall()];
    const events = (): McpAnswer => ({ kind: 'events', status: 200, events: framesOfText() });
    await waiting.during(over, async () => whole);
    expect(cancelled(over, waiting)).toBeUndefined();
    const answer = await waiting.during(readToItsEnd, async () => events());
    if (answer.kind === 'events') for await (const _ of answer.events);
    expect(cancelled(readToItsEnd, waiting)).toBeUndefined();
    await waiting.during(read, async () => events());
    expect(cancelled(read, waiting)).toBe('cancelled');
  });

  it.each<[string, (request: McpRequest) => Partial<McpRequest>]>([
    ['another key', ({ caller }) => ({ caller: { ...caller, apiKeyId: 'another' } })],
    ['another session', () => ({ session: 'another' })],
    ['another server', () => ({ serverId: 'another' })],
  ])('of %s does not end a call with the same id', (_, change) => {
    const { during, cancel } = waitingCalls();
    const call = aCall();
    void during(call, () => new Promise(() => undefined));
    const others = { ...call.request, ...change(call.request) };
    const params = { requestId: 1 };
    cancel(others, { kind: 'notification', method: 'notifications/cancelled', params });
    expect(call.life.lost).toBeUndefined();
  });

  it('ends the later of two requests with the same id, even after the earlier one has finished', async () => {
    const waiting = waitingCalls();
    const [earlier, later] = [aCall(), aCall()];
    const answer = Promise.withResolvers<McpAnswer>();
    const first = waiting.during(earlier, () => answer.promise);
    void waiting.during(later, () => new Promise(() => undefined));
    answer.resolve(whole);
    await first;
    expect([cancelled(later, waiting), earlier.life.lost]).toEqual(['cancelled', undefined]);
  });

  it('without a session ends no call if several have its id: clients that share a key count alike', async () => {
    const waiting = waitingCalls();
    const [one, other] = [aCall(), aCall()];
    const answer = Promise.withResolvers<McpAnswer>();
    void waiting.during(one, () => new Promise(() => undefined));
    const second = waiting.during(other, () => answer.promise);
    expect([cancelled(one, waiting), other.life.lost]).toEqual([undefined, undefined]);
    answer.resolve(whole);
    await second;
    expect(cancelled(one, waiting)).toBe('cancelled');
  });

  it('in a session ends the later one of two requests in progress with the same id', () => {
    const waiting = waitingCalls();
    const [earlier, later] = [aCall({ session: 's' }), aCall({ session: 's' })];
    for (const call of [earlier, later]) void waiting.during(call, () => new Promise(() => undefined));
    expect([cancelled(later, waiting), earlier.life.lost]).toEqual(['cancelled', undefined]);
  });
});
