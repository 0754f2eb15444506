import { randomUUID } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type SeenRequest,
  startSimulatedUpstream,
  type SimulatedUpstream,
} from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { compressions } from '../support/compressed.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { rawExchange, type RawAnswer, type RawRequest, rawSocket } from './raw-http.ts';
import { eventually, finalTracesIn, outcomesOf, tracesIn } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const traceOf = tracesIn(query);
const finalTraceOf = finalTracesIn(query, () => gateway);
const key = aKey();
const revokedKey = aKey();
const bodyMaxBytes = 1_000_000;
let upstream: SimulatedUpstream;
let gateway: TestGateway;
let seen: SeenRequest[] = [];

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0, onRequest: (request) => void seen.push(request) });
  gateway = await startGateway(
    basicConfig(upstream.url, key, {
      more: {
        server: { bind: '127.0.0.1:0', body_max_bytes: bodyMaxBytes },
        api_keys: [
          { name: 'dev', owner: 'user:a@example.com', value: key },
          { name: 'gone', owner: 'user:a@example.com', value: revokedKey },
        ],
      },
    }),
    database.url(),
  );
  await query(
    "update api_keys set revoked_at = now(), revoked_by = 'admin' where name = 'gone'; select gateway_touch()",
  );
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => {
  seen = [];
});

const chat = '/v1/chat/completions';
const json = ['content-type', 'application/json'] as const;
const bearer = (value = key) => ['authorization', `Bearer ${value}`] as const;
const goodBody = '{"model":"fast","messages":[{"role":"user","content":"Hi"}]}';

/** A request that is good in every way but for what the test changes. */
const aRequest = (over: Partial<RawRequest> = {}): RawRequest => ({
  path: chat,
  headers: [bearer(), json],
  body: goodBody,
  ...over,
});

const envelopeOf = ({ body }: RawAnswer): Record<string, unknown> =>
  (JSON.parse(body) as { error: Record<string, unknown> }).error;

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly type?: string;
  readonly param?: string | null;
  /** What the message has to say. */
  readonly says?: string;
  readonly outcome?: string;
  /** Authenticated requests have a log row, with zero attempts. */
  readonly logged: boolean;
}

/** Sends it with an id of its own and checks everything that a refusal before the provider promises. */
async function refused(request: RawRequest, expected: Refusal): Promise<RawAnswer> {
  const requestId = `bad-${randomUUID()}`;
  const before = upstream.requests();
  const answer = await rawExchange(gateway.url, {
    ...request,
    headers: [['x-request-id', requestId], ...(request.headers ?? [])],
  });
  const error = envelopeOf(answer);
  expect({ status: answer.status, code: error['code'] }).toEqual({
    status: expected.status,
    code: expected.code,
  });
  expect(Object.keys(error).toSorted()).toEqual(['code', 'message', 'param', 'type']);
  expect(error['type']).toBe(expected.type ?? 'invalid_request_error');
  if (expected.param !== undefined) expect(error['param']).toBe(expected.param);
  expect(error['message']).toContain(expected.says ?? '');
  expect(answer.headers).toMatchObject({
    'x-request-id': requestId,
    'request-id': requestId,
    'content-type': expect.stringContaining('application/json'),
  });
  expect(upstream.requests()).toBe(before);
  expect(outcomesOf(gateway, requestId)).toEqual([
    expect.objectContaining({
      outcome: expected.outcome ?? 'invalid_request',
      status: expected.status,
      error_code: expected.code,
    }),
  ]);
  const { logs, attempts, ledger } = await traceOf(requestId);
  expect(logs).toHaveLength(expected.logged ? 1 : 0);
  if (expected.logged)
    expect(logs[0]).toMatchObject({
      status_code: expected.status,
      error_code: expected.code,
      provider_key: null,
      prompt_tokens: null,
    });
  expect([...attempts, ...ledger]).toEqual([]);
  return answer;
}

const invalid = (param: string | null, says: string): Refusal => ({
  status: 400,
  code: 'invalid_request',
  param,
  says,
  logged: true,
});

describe('who is not let in', () => {
  const unauthenticated = (code: string): Refusal => ({
    status: 401,
    code,
    type: 'authentication_error',
    param: null,
    outcome: 'unauthenticated',
    logged: false,
  });
  const [, publicId = ''] = /^gwk_([^.]+)/.exec(key) ?? [];

  it.each([
    ['no key at all', []],
    ['an empty x-api-key', [['x-api-key', '']]],
    ['another scheme', [['authorization', 'Basic dXNlcjpwYXNz']]],
    ['a scheme without a key', [['authorization', 'Bearer ']]],
    ['a key without a scheme', [['authorization', key]]],
  ] as const)('%s: missing_api_key, and it is said how to send one', async (_what, headers) => {
    await refused(aRequest({ headers: [...headers, json] }), {
      ...unauthenticated('missing_api_key'),
      says: 'Authorization: Bearer',
    });
  });

  it.each([
    ['a key of another shape', [bearer('sk-0123456789abcdef0123456789abcdef')]],
    ['an unknown key', [bearer(aKey())]],
    ['the right public id with a wrong secret', [bearer(`gwk_${publicId}.${'0'.repeat(64)}`)]],
    ['a secret with one character more', [bearer(`${key}0`)]],
    ['a revoked key', [bearer(revokedKey)]],
    ['a wrong Bearer key beside a right x-api-key', [bearer(aKey()), ['x-api-key', key]]],
    [
      'x-api-key twice',
      [
        ['x-api-key', key],
        ['x-api-key', key],
      ],
    ],
    ['a very long key', [bearer(`gwk_${publicId}.${'a'.repeat(20_000)}`)]],
    ['bytes that are no ASCII', [bearer(`gwk_${publicId}.${'\u00e9'.repeat(40)}`)]],
  ] as const)('%s: invalid_api_key', async (_what, headers) => {
    await refused(aRequest({ headers: [...headers, json] }), unauthenticated('invalid_api_key'));
  });

  it('is told so whatever else is wrong with the request', async () => {
    await refused(
      aRequest({
        headers: [
          ['content-type', 'text/plain'],
          ['x-gateway-env', '?'],
        ],
        body: '{',
      }),
      unauthenticated('missing_api_key'),
    );
  });

  it.each([
    ['x-api-key alone', [['x-api-key', key]]],
    [
      'another scheme beside x-api-key',
      [
        ['authorization', 'Basic dXNlcjpwYXNz'],
        ['x-api-key', key],
      ],
    ],
    ['a right Bearer key beside a wrong x-api-key', [bearer(), ['x-api-key', aKey()]]],
    ['the scheme in lower case, with a tab', [['authorization', `bearer\t${key} `]]],
  ] as const)('%s is let in', async (_what, headers) => {
    const answer = await rawExchange(gateway.url, aRequest({ headers: [...headers, json] }));
    expect(answer.status).toBe(200);
  });

  it('does not take the unread body of a refused request for the next one', async () => {
    const socket = rawSocket(gateway.url);
    let text = '';
    socket.on('data', (piece: Buffer) => void (text += piece.toString()));
    const body = `POST ${chat} HTTP/1.1\r\n`.repeat(20_000);
    socket.write(`POST ${chat} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    socket.write(
      `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('close', resolve));
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200']);
  });
});

describe('a body that is no JSON object', () => {
  it.each([
    ['nothing', ''],
    ['half an object', '{"model":"fast","messages":['],
    ['an object and more', `${goodBody} x`],
    ['two objects', `${goodBody}${goodBody}`],
    ['an array', `[${goodBody}]`],
    ['a string', '"fast"'],
    ['null', 'null'],
    ['a number', '1'],
    ['comments', `/* fast */${goodBody}`],
    ['a trailing comma', '{"model":"fast",}'],
    ['single quotes', "{'model':'fast'}"],
    ['a key without quotes', '{model:"fast"}'],
    ['a line break in a string', '{"model":"fa\nst","messages":[]}'],
    ['a bad escape', '{"model":"fast","messages":[{"role":"user","content":"\\x41"}]}'],
    ['NaN', '{"model":"fast","messages":[{"role":"user","content":"Hi"}],"temperature":NaN}'],
    ['a form', 'model=fast&messages=Hi'],
    ['NUL bytes', '\0\0\0\0'],
  ])('%s', async (_what, body) => {
    await refused(aRequest({ body }), invalid('body', 'The request body'));
  });

  it.each([
    ['a stray byte', Buffer.from([0x22, 0xff, 0x22])],
    ['a cut character', Buffer.from([0xe2, 0x82])],
    ['a surrogate as three bytes', Buffer.from([0xed, 0xa0, 0x80])],
    ['latin1', Buffer.from('caf\u00e9', 'latin1')],
  ])('invalid UTF-8: %s', async (_what, bytes) => {
    const [before = '', after = ''] = goodBody.split('Hi');
    const body = Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
    await refused(aRequest({ body }), invalid('body', 'UTF-8'));
  });

  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '1}'],
  ])('%s in one another 10,000 times', async (_what, open, close) => {
    const deep = open.repeat(10_000) + close.repeat(10_000);
    for (const body of [
      deep,
      goodBody.replace('"Hi"', deep),
      goodBody.replace('}]}', `}],"metadata":${deep}}`),
      open.repeat(10_000),
    ])
      await refused(aRequest({ body }), invalid('body', 'nested deeper than 256'));
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'json', ''])(
    'a content type that is not JSON: %p',
    async (type) => {
      await refused(
        aRequest({ headers: [bearer(), ['content-type', type]] }),
        invalid('content-type', 'content-type: application/json'),
      );
    },
  );

  it.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.x+json'])(
    'but %p is one',
    async (type) => {
      const answer = await rawExchange(
        gateway.url,
        aRequest({ headers: [bearer(), ['content-type', type]] }),
      );
      expect(answer.status).toBe(200);
    },
  );

  const coded = (coding: string, body: string | Buffer, more: Partial<RawRequest> = {}): RawRequest =>
    aRequest({ headers: [bearer(), json, ['content-encoding', coding]], body, ...more });

  it.each([
    ['in a coding that is not read', 'compress', gzipSync(goodBody), 'gzip, deflate, br, zstd'],
    ['in two codings', 'gzip, gzip', gzipSync(gzipSync(goodBody)), 'gzip, deflate, br, zstd'],
    ['that is not compressed', 'gzip', goodBody, 'gzip'],
    ['that is cut off', 'br', brotliCompressSync(goodBody).subarray(0, -1), 'br'],
    ['with more behind it', 'deflate', Buffer.concat([deflateSync(goodBody), Buffer.from('{}')]), 'deflate'],
  ])('a compressed body %s', async (_, coding, body, says) => {
    await refused(coded(coding, body), invalid('content-encoding', says));
  });

  it.each(compressions)(
    'a small body that is a large one when it is decompressed: %s',
    async (_, coding, compressed) => {
      for (const bytes of [bodyMaxBytes + 1, 20 * bodyMaxBytes])
        await refused(coded(coding, compressed(Buffer.from(ofSize(bytes)))), tooLarge);
    },
  );

  it('a compressed body that is itself too large, whatever comes out of it', async () => {
    const nothing = gzipSync('');
    const body = Buffer.concat(Array.from({ length: bodyMaxBytes / nothing.length + 1 }, () => nothing));
    for (const framing of ['length', 'chunked'] as const)
      await refused(coded('gzip', body, { framing }), tooLarge);
  });

  it.each(compressions)('but a compressed body is read: %s', async (_, coding, compressed) => {
    for (const text of [goodBody, ofSize(bodyMaxBytes)])
      for (const framing of ['length', 'chunked'] as const) {
        const answer = await rawExchange(
          gateway.url,
          coded(coding, compressed(Buffer.from(text)), { framing }),
        );
        expect(answer.status).toBe(200);
      }
  });

  it('but a body that begins with a byte order mark is read, a compressed one too', async () => {
    const marked = Buffer.from(`\ufeff${goodBody}`);
    for (const request of [
      aRequest({ body: marked }),
      aRequest({ body: marked, framing: 'chunked' }),
      coded('gzip', gzipSync(marked)),
    ])
      expect((await rawExchange(gateway.url, request)).status).toBe(200);
  });

  it('but a second mark is none', async () => {
    await refused(aRequest({ body: `\ufeff\ufeff${goodBody}` }), invalid('body', 'JSON'));
  });

  const tooLarge: Refusal = {
    status: 413,
    code: 'request_too_large',
    param: null,
    says: String(bodyMaxBytes),
    logged: true,
  };
  const ofSize = (bytes: number) => goodBody.replace('Hi', 'x'.repeat(bytes - goodBody.length + 2));

  it.each(['length', 'chunked'] as const)('a body of one byte too many (%s)', async (framing) => {
    await refused(aRequest({ body: ofSize(bodyMaxBytes + 1), framing }), tooLarge);
  });

  it.each(['length', 'chunked'] as const)('a body far too large (%s)', async (framing) => {
    await refused(aRequest({ body: ofSize(20 * bodyMaxBytes), framing }), tooLarge);
  });

  it('a length far too large is refused before a single byte of the body has come', async () => {
    const headers = [bearer(), json, ['content-length', '99999999999']] as const;
    await refused(aRequest({ headers, body: '', framing: 'none' }), tooLarge);
  });

  it.each(['length', 'chunked'] as const)('but a body of just the size is served (%s)', async (framing) => {
    const answer = await rawExchange(gateway.url, aRequest({ body: ofSize(bodyMaxBytes), framing }));
    expect(answer.status).toBe(200);
  });
});

describe('a field of the wrong kind is named', () => {
  const messages = '"messages":[{"role":"user","content":"Hi"}]';

  it.each([
    ['{"messages":[{"role":"user","content":"Hi"}]}', 'model'],
    [`{"model":"",${messages}}`, 'model'],
    [`{"model":null,${messages}}`, 'model'],
    [`{"model":7,${messages}}`, 'model'],
    [`{"model":["fast"],${messages}}`, 'model'],
    ['{"model":"fast"}', 'messages'],
    ['{"model":"fast","messages":[]}', 'messages'],
    ['{"model":"fast","messages":"Hi"}', 'messages'],
    ['{"model":"fast","messages":{"role":"user"}}', 'messages'],
    ['{"model":"fast","messages":null}', 'messages'],
    ['{"model":"fast","messages":["Hi"]}', 'messages[0]'],
    ['{"model":"fast","messages":[{"role":"user","content":"Hi"},{"content":"Hi"}]}', 'messages[1]'],
    ['{"model":"fast","messages":[{"role":1,"content":"Hi"}]}', 'messages[0]'],
    [`{"model":"fast",${messages},"stream":"true"}`, 'stream'],
    [`{"model":"fast",${messages},"stream":1}`, 'stream'],
    [`{"model":"fast",${messages},"stream":{}}`, 'stream'],
    [`{"model":"fast",${messages},"tools":{}}`, 'tools'],
    [`{"model":"fast",${messages},"tools":[1]}`, 'tools'],
    [`{"model":"fast",${messages},"tools":"get_weather"}`, 'tools'],
    [`{"model":"fast",${messages},"functions":[null]}`, 'functions'],
    [`{"model":"fast",${messages},"stream_options":true}`, 'stream_options'],
    [`{"model":"fast",${messages},"response_format":"json_object"}`, 'response_format'],
  ])('%s: %s', async (body, field) => {
    await refused(aRequest({ body }), invalid(field, `\`${field}\``));
  });

  it('null counts as absent', async () => {
    const body = `{"model":"fast",${messages},"stream":null,"tools":null,"stream_options":null,"response_format":null}`;
    const answer = await rawExchange(gateway.url, aRequest({ body }));
    expect(answer.status).toBe(200);
    expect(seen[0]?.body).toBe(body.replace('"fast"', '"simulated-fast"'));
  });
});

describe('a key that is repeated where the gateway reads', () => {
  const hi = '{"role":"user","content":"Hi"}';

  it.each([
    [`{"model":"fast","messages":[${hi}],"model":"slow"}`, 'model'],
    [`{"model":"fast","messages":[${hi}],"m\\u006fdel":"slow"}`, 'model'],
    [`{"model":"fast","messages":[${hi}],"\\u006d\\u006f\\u0064\\u0065\\u006c":"fast"}`, 'model'],
    [`{"model":"fast","messages":[],"messages":[${hi}]}`, 'messages'],
    [`{"model":"fast","messages":[${hi}],"stream":false,"stream":true}`, 'stream'],
    [`{"model":"fast","messages":[${hi}],"temperature":0,"temperature":1}`, 'temperature'],
    ['{"model":"fast","messages":[{"role":"user","role":"system","content":"Hi"}]}', 'messages[0].role'],
    [
      `{"model":"fast","messages":[${hi},{"role":"user","content":"Hi","c\\u006fntent":"Ho"}]}`,
      'messages[1].content',
    ],
    [
      '{"model":"fast","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","type":"image_url"}]}]}',
      'messages[0].content[1].type',
    ],
    [
      `{"model":"fast","messages":[${hi}],"tools":[{"type":"function","function":{"name":"a","name":"b"}}]}`,
      'tools[0].function.name',
    ],
    [
      `{"model":"fast","messages":[${hi}],"stream_options":{"include_usage":true,"include_usage":false}}`,
      'stream_options.include_usage',
    ],
    [
      `{"model":"fast","messages":[${hi}],"response_format":{"type":"text","type":"json_schema"}}`,
      'response_format.type',
    ],
  ])('%s: %s', async (body, path) => {
    await refused(aRequest({ body }), invalid(path, 'is repeated'));
  });

  it.each([
    [`{"model":"fast","messages":[${hi}],"__proto__":{"stream":true}}`, '__proto__'],
    [`{"model":"fast","messages":[${hi}],"__pr\\u006fto__":{"stream":true}}`, '__proto__'],
    ['{"model":"fast","messages":[{"__proto__":{},"role":"user","content":"Hi"}]}', 'messages[0].__proto__'],
  ])('and __proto__ is no field: %s', async (body, path) => {
    await refused(aRequest({ body }), invalid(path, '`__proto__` is not a field'));
  });

  it('other names of the language are ordinary ones, and deeper levels are the upstream’s business', async () => {
    const body =
      '{"model":"fast","messages":[{"role":"user","content":"Hi"}],"constructor":{"prototype":{"stream":true}},' +
      '"toString":1,"hasOwnProperty":null,"metadata":{"__proto__":{"stream":true},"a":1,"a":2}}';
    const answer = await rawExchange(gateway.url, aRequest({ body }));
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toContain('application/json; charset=utf-8');
    expect(seen[0]?.body).toBe(body.replace('"fast"', '"simulated-fast"'));
  });
});

describe('a model name that is none', () => {
  const hostile = [
    'no-such-model',
    '../x?y',
    '%2e%2e/%00',
    'fast ',
    'Fast',
    'fast\0',
    "fast'; drop table models; --",
    '__proto__',
    'constructor',
    '\ud800',
    'x'.repeat(100 * 1024),
    `${'x'.repeat(255)}\u{1f600}`,
  ];

  it.each(hostile.map((name) => [name.slice(0, 40), name]))('%j: 404', async (_shown, model) => {
    await refused(
      aRequest({ body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }) }),
      {
        status: 404,
        code: 'model_not_found',
        type: 'not_found_error',
        param: 'model',
        outcome: 'not_found',
        logged: true,
      },
    );
  });

  it('is on the log row as far as it can be kept', async () => {
    const send = (requestId: string, model: string) =>
      rawExchange(
        gateway.url,
        aRequest({
          headers: [bearer(), json, ['x-request-id', requestId]],
          body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
        }),
      );
    await send('model-long', 'x'.repeat(100 * 1024));
    await send('model-nul', 'a\0b\ud800c');
    expect((await traceOf('model-long')).logs).toMatchObject([
      { model_key: 'x'.repeat(256), resolved_model_key: null },
    ]);
    expect((await traceOf('model-nul')).logs).toMatchObject([{ model_key: 'a\ufffdb\ufffdc' }]);
  });
});

describe('caller tags beyond their bounds', () => {
  const tag = (name: string, value: string) => ({
    headers: [bearer(), json, [`x-gateway-${name}`, value]] as const,
  });

  it.each([
    ['service', ''],
    ['service', 'a b'],
    ['service', 'x'.repeat(65)],
    ['component', 'caf\u00e9'],
    ['env', 'a;b'],
    ['tags', 'a=1;b=2;c=3;d=4;e=5;f=6'],
    ['tags', 'a=1;a=2'],
    ['tags', 'a=1; a =2'],
    ['tags', 'service=x'],
    ['tags', 'component=x'],
    ['tags', 'env=x'],
    ['tags', 'A=1'],
    ['tags', '1a=1'],
    ['tags', `${'k'.repeat(33)}=1`],
    ['tags', `k=${'v'.repeat(65)}`],
    ['tags', 'k='],
    ['tags', 'k'],
    ['tags', '=v'],
    ['tags', 'k=a=b'],
    ['tags', 'k=a,b'],
    ['tags', '__proto__=1'],
  ])('x-gateway-%s: %j', async (name, value) => {
    const header = `x-gateway-${name}`;
    await refused(aRequest(tag(name, value)), invalid(header, `\`${header}\``));
  });

  it.each(['service', 'component', 'env', 'tags'])('x-gateway-%s twice', async (name) => {
    const value = name === 'tags' ? 'a=1' : 'a';
    const header = `x-gateway-${name}`;
    await refused(
      aRequest({ headers: [bearer(), json, [header, value], [header, value]] }),
      invalid(header, 'repeated'),
    );
  });

  it('up to their bounds they are stored', async () => {
    const longest = `${'k'.repeat(32)}=${'v'.repeat(64)}`;
    const answer = await rawExchange(
      gateway.url,
      aRequest({
        headers: [
          bearer(),
          json,
          ['x-request-id', 'tags-ok'],
          ['x-gateway-service', 'x'.repeat(64)],
          ['x-gateway-tags', `${longest}; b=Az0._/:-;c=3 ;; d=4;e=5;`],
        ],
      }),
    );
    expect(answer.status).toBe(200);
    const { logs, tags } = await traceOf('tags-ok');
    expect(logs).toMatchObject([
      { caller_service: 'x'.repeat(64), caller_component: null, caller_env: null },
    ]);
    expect(tags.map((row) => `${String(row['tag_key'])}=${String(row['tag_value'])}`)).toEqual([
      'b=Az0._/:-',
      'c=3',
      'd=4',
      'e=5',
      longest,
    ]);
  });
});

describe('any x-request-id that HTTP allows', () => {
  const send = (requestId: string | undefined, over: Partial<RawRequest> = {}) =>
    rawExchange(
      gateway.url,
      aRequest({
        headers: [bearer(), json, ...(requestId === undefined ? [] : [['x-request-id', requestId] as const])],
        ...over,
      }),
    );

  it.each([
    ['6 KB long', 'r'.repeat(6 * 1024)],
    ['6 KB long and another one at its end', `${'r'.repeat(6 * 1024 - 1)}s`],
    ['bytes above ASCII', 'caf\u00e9 \u00ff\u0080'],
    ['tabs, quotes and blanks inside', 'a\t"b" c=%00; \\'],
    ['a number', '9007199254740993'],
    ['SQL', "'; drop table request_logs; --"],
    ['LIKE wildcards', '%_%'],
  ])('%s: echoed and stored unchanged', async (_what, requestId) => {
    const answer = await send(requestId);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'x-request-id': requestId, 'request-id': requestId });
    const { logs, ledger } = await traceOf(requestId);
    expect(logs).toHaveLength(1);
    expect(ledger).toMatchObject([{ pricing_status: 'priced' }]);
  });

  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['blank', '  '],
  ])('%s: one is generated', async (_what, requestId) => {
    const answer = await send(requestId);
    const generated = answer.headers['x-request-id'] ?? '';
    expect(generated).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(answer.headers['request-id']).toBe(generated);
    expect((await traceOf(generated)).logs).toHaveLength(1);
  });

  it('twice: both, as one list, like any repeated header', async () => {
    const answer = await send(undefined, {
      headers: [bearer(), json, ['x-request-id', 'one'], ['x-request-id', 'two']],
    });
    expect(answer.headers['x-request-id']).toBe('one, two');
  });
});

describe('text that PostgreSQL cannot hold', () => {
  it.each([
    ['U+0000', '\\u0000'],
    ['a lone surrogate', '\\ud83d'],
    ['a lone surrogate, reversed pair', '\\ude00\\ud83d'],
  ])('%s in the content is served, and the upstream gets it unchanged', async (_what, escape) => {
    const requestId = `text-${randomUUID()}`;
    const body = goodBody.replace('Hi', `a${escape}b`).replace('}]}', `}],"user":"${escape}"}`);
    const answer = await rawExchange(
      gateway.url,
      aRequest({ headers: [bearer(), json, ['x-request-id', requestId]], body }),
    );
    expect(answer.status).toBe(200);
    expect(seen[0]?.body).toBe(body.replace('"fast"', '"simulated-fast"'));
    const { logs, ledger } = await traceOf(requestId);
    expect(logs).toMatchObject([{ status_code: 200 }]);
    expect(ledger).toMatchObject([{ pricing_status: 'priced' }]);
  });
});

describe('headers and paths', () => {
  it('headers of up to 32 KiB are taken', async () => {
    const answer = await rawExchange(
      gateway.url,
      aRequest({ headers: [bearer(), json, ['x-big', 'x'.repeat(31 * 1024)]] }),
    );
    expect(answer.status).toBe(200);
  });

  it.each([
    ['in one header', [['x-big', 'x'.repeat(33 * 1024)]]],
    ['in many', Array.from({ length: 600 }, (_, index) => [`x-${index}`, 'x'.repeat(56)])],
  ] as [string, [string, string][]][])('over 32 KiB (%s) they are refused', async (_where, headers) => {
    const before = upstream.requests();
    const answer = await rawExchange(gateway.url, aRequest({ headers: [bearer(), json, ...headers] }));
    expect(answer.status).toBe(431);
    expect(envelopeOf(answer)).toEqual({
      message: 'The request headers are larger than 32 KiB.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_request',
    });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
    expect(upstream.requests()).toBe(before);
  });

  it.each([
    ['two lengths', { headers: [['content-length', '5']] }],
    ['a length and chunks', { headers: [['transfer-encoding', 'chunked']] }],
    ['a NUL in a header', { headers: [['x-request-id', 'a\0b']] }],
    ['a method that is none', { method: 'FETCH' }],
    ['a path without a slash', { path: 'v1/models' }],
    ['a header without a name', { headers: [['', 'x']] }],
  ] as [string, Partial<RawRequest>][])('what is no HTTP is told so: %s', async (_what, over) => {
    const answer = await rawExchange(gateway.url, aRequest(over));
    expect(answer.status).toBe(400);
    expect(envelopeOf(answer)).toMatchObject({
      message: 'The request is not valid HTTP.',
      code: 'invalid_request',
    });
  });

  it.each([
    ['two hosts', ['host', 'other.example']],
    ['the same host twice', ['Host', '127.0.0.1']],
  ] as const)('%s: 400, and the connection ends', async (_what, more) => {
    for (const request of [aRequest(), { method: 'GET', path: '/healthz' }]) {
      const answer = await rawExchange(gateway.url, {
        ...request,
        headers: [['connection', 'keep-alive'], ...(request.headers ?? []), more],
      });
      expect([answer.status, answer.headers['connection']]).toEqual([400, 'close']);
      expect(envelopeOf(answer)).toMatchObject({ code: 'invalid_request', param: 'host' });
    }
    expect(seen).toEqual([]);
  });

  it.each([
    ['HTTP/1.1', 'HTTP/1.1 400'],
    ['HTTP/1.0', 'HTTP/1.1 200'],
  ])('%s without a Host: %s', async (version, status) => {
    const socket = rawSocket(gateway.url);
    let text = '';
    socket.on('data', (piece: Buffer) => void (text += piece.toString()));
    socket.write(`GET /healthz ${version}\r\nconnection: close\r\n\r\n`);
    await new Promise((resolve) => socket.once('close', resolve));
    expect(text.slice(0, 12)).toBe(status);
  });

  it.each<readonly [string, Partial<RawRequest>]>([
    ['an answer', {}],
    ['a stream', { body: goodBody.replace('"model"', '"stream":true,"model"') }],
    ['a refusal', { headers: [] }],
    ['an unknown path', { path: '/nothing' }],
    ['another method', { method: 'PUT' }],
    ['the models', { method: 'GET', path: '/v1/models' }],
    ['its health', { method: 'GET', path: '/healthz' }],
    ['its readiness', { method: 'GET', path: '/readyz' }],
    ['the admin API', { method: 'GET', path: '/api/v1/auth/session' }],
    ['what is no HTTP', { method: 'FETCH' }],
    ['headers too large', { headers: [['x-big', 'x'.repeat(33 * 1024)]] }],
    ['an unknown expectation', { headers: [bearer(), json, ['expect', 'a miracle']] }],
    ['two hosts', { headers: [bearer(), ['host', 'x']] }],
  ])('%s is what its type says, and is kept by nobody', async (_what, over) => {
    const { headers } = await rawExchange(gateway.url, aRequest(over));
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['cache-control']).toMatch(/^no-store(?:, no-transform)?$/);
  });

  it('a caller that leaves in the middle of its body has a row, and nothing is sent upstream', async () => {
    const socket = rawSocket(gateway.url);
    socket.write(
      `POST ${chat} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nx-request-id: broke-off\r\n` +
        'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"model":',
    );
    await eventually(() => (socket.bytesWritten > 0 ? true : undefined));
    setTimeout(() => socket.destroy(), 50);
    const { logs } = await finalTraceOf('broke-off');
    expect(logs).toMatchObject([{ status_code: 499, error_code: 'client_closed' }]);
    expect(outcomesOf(gateway, 'broke-off')).toMatchObject([{ outcome: 'client_closed' }]);
    expect(seen).toEqual([]);
  });

  const unknown: readonly (readonly [string, string])[] = [
    ['GET', '//'],
    ['GET', '/v1'],
    ['POST', '/v1/completions'],
    ['POST', '/v1beta/models/x:streamGenerateContent?alt=sse'],
    ['GET', '/V1/models/fast'],
    ['HEAD', '/api/hello'],
    ['GET', '/api/v1/nothing'],
    ['GET', '/v1/%E0%A4%A'],
    ['GET', '/v1/../healthz/..'],
    ['GET', `/${'x'.repeat(8000)}`],
    ['OPTIONS', '*'],
    ['GET', '/V1/Models'],
    ['GET', '/v1/models/'],
    ['POST', '/v1/chat/completions/'],
    ['POST', '/v1/Chat/completions'],
    ['POST', '/Messages'],
    ['GET', '/healthz/'],
    ['GET', '/API/v1/auth/session'],
    ['GET', '/api/v1/auth/session/'],
  ];
  const namesPath = (path: string): RegExp => {
    const named = path.replace(/\?.*/, '');
    const shown = named.length > 128 ? `${named.slice(0, 128)}…` : named;
    return new RegExp(`^There is nothing at \`${shown.replaceAll(/[.*]/g, '\\$&')}\`\\.$`);
  };
  it.each(unknown)('%s %s: 404, with or without a key', async (method, path) => {
    for (const headers of [[], [bearer()]]) {
      const answer = await rawExchange(gateway.url, {
        method,
        path,
        headers: [...headers, ['x-request-id', 'unknown-path']],
      });
      expect(answer.status).toBe(404);
      if (method !== 'HEAD')
        expect(envelopeOf(answer)).toEqual({
          message: expect.stringMatching(namesPath(path)),
          type: 'not_found_error',
          param: null,
          code: 'not_found',
        });
      expect(answer.headers).toMatchObject({ 'x-request-id': 'unknown-path', 'request-id': 'unknown-path' });
    }
  });

  const without = / Write the base URL of this client without `\/v1`: the client adds it\.$/;
  const withAtEnd =
    / Write the base URL of this client with `\/v1` at its end: the client does not add it\.$/;
  it.each([
    ['POST', '/v1/v1/chat/completions', without],
    ['POST', '/v1/v1/messages', without],
    ['POST', '/v1/v1/responses', without],
    ['GET', '/v1/v1/models', without],
    ['POST', '/chat/completions', withAtEnd],
    ['POST', '/responses', withAtEnd],
    ['POST', '/embeddings', withAtEnd],
    ['GET', '/models', withAtEnd],
  ])('%s %s: 404 that says what base URL to write', async (method, path, advice) => {
    const answer = await rawExchange(gateway.url, { method, path, headers: [bearer()] });
    expect(answer.status).toBe(404);
    const { message } = envelopeOf(answer);
    expect(message).toMatch(advice);
    expect(message).toContain(`There is nothing at \`${path}\`.`);
  });

  it('a path that holds a key, or signs that are not to be printed: neither is in the answer', async () => {
    const answer = await rawExchange(gateway.url, {
      method: 'GET',
      path: `/v1/model/\`${key}/`,
      headers: [bearer()],
    });
    expect(answer.status).toBe(404);
    expect(answer.body).not.toContain(key);
    expect(envelopeOf(answer)).toMatchObject({
      message: expect.stringMatching(/^There is nothing at `[!-~]+`\.$/),
    });
    expect(envelopeOf(answer)).toMatchObject({ message: expect.stringContaining('%60') });
  });

  it.each(['/v1/messages/batches', '/v1/messages/batches?beta=true', '/messages/count_tokens/'])(
    'POST %s: 404 in the messages envelope',
    async (path) => {
      const answer = await rawExchange(gateway.url, {
        path,
        headers: [bearer(), json, ['x-request-id', 'messages-404']],
        body: '{}',
      });
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.body)).toEqual({
        type: 'error',
        error: {
          type: 'not_found_error',
          message: expect.stringMatching(namesPath(path)),
          details: { error_code: 'not_found' },
        },
        request_id: 'messages-404',
      });
      expect(answer.headers).toMatchObject({ 'x-request-id': 'messages-404', 'request-id': 'messages-404' });
    },
  );

  it.each([
    ['GET', chat, 'POST'],
    ['PUT', `${chat}?beta=true`, 'POST'],
    ['DELETE', '/v1/models', 'HEAD, GET'],
    ['DELETE', '/v1/models/vendor/fast', 'HEAD, GET'],
    ['POST', '/', 'HEAD, GET'],
    ['POST', '/healthz', 'HEAD, GET'],
  ])('%s %s: 405, and what is allowed', async (method, path, allowed) => {
    const answer = await rawExchange(gateway.url, {
      method,
      path,
      headers: [bearer(), ['x-request-id', 'method']],
    });
    expect(answer.status).toBe(405);
    expect(answer.headers).toMatchObject({
      allow: allowed,
      'x-request-id': 'method',
      'request-id': 'method',
    });
    expect(envelopeOf(answer)).toEqual({
      message: `This path does not answer to ${method}.`,
      type: 'invalid_request_error',
      param: null,
      code: 'method_not_allowed',
    });
  });

  it.each([
    ['POST', '/v1/models', 405, 'invalid_request_error', 'method_not_allowed'],
    ['GET', '/v1/models', 401, 'authentication_error', 'missing_api_key'],
    ['GET', '/v1/nothing', 404, 'not_found_error', 'not_found'],
  ])(
    '%s %s with anthropic-version: %i in the messages envelope',
    async (method, path, status, type, error_code) => {
      const answer = await rawExchange(gateway.url, {
        method,
        path,
        headers: [
          ['anthropic-version', '2023-06-01'],
          ['x-request-id', 'shared'],
        ],
      });
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.body)).toEqual({
        type: 'error',
        error: { type, message: expect.any(String), details: { error_code } },
        request_id: 'shared',
      });
    },
  );

  it.each([`${chat}?beta=true`, `${chat}?model=slow&model=slow#x`, `${chat}?`, `${chat}?%00%zz`])(
    'query strings are ignored: %s',
    async (path) => {
      const answer = await rawExchange(gateway.url, aRequest({ path }));
      expect(answer.status).toBe(200);
      expect(seen[0]?.path).toBe('/v1/chat/completions');
    },
  );

  it.each(['/healthz', '/readyz'])('%s needs no key, and echoes the request id too', async (path) => {
    const answer = await rawExchange(gateway.url, {
      method: 'GET',
      path,
      headers: [['x-request-id', 'health']],
    });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'x-request-id': 'health', 'request-id': 'health' });
  });
});
