import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { json, bearer, goodBody, aRequest, invalid, badInputScene } from './bad-input-scene.ts';
import { rawExchange, type RawRequest } from './raw-http.ts';

const { traceOf, gateway, seen, refused } = badInputScene();

describe('a missing field, or one of the wrong type, is refused with 400 and named', () => {
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

  it('but null counts as absent', async () => {
    const body = `{"model":"fast",${messages},"stream":null,"tools":null,"stream_options":null,"response_format":null}`;
    const answer = await rawExchange(gateway().url, aRequest({ body }));
    expect(answer.status).toBe(200);
    expect(seen()[0]?.body).toBe(body.replace('"fast"', '"simulated-fast"'));
  });
});

describe('repeated keys and `__proto__` in the parts of a body that the gateway reads', () => {
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
  ])('%s is refused with 400 and names %s', async (body, path) => {
    await refused(aRequest({ body }), invalid(path, 'is repeated'));
  });

  it.each([
    [`{"model":"fast","messages":[${hi}],"__proto__":{"stream":true}}`, '__proto__'],
    [`{"model":"fast","messages":[${hi}],"__pr\\u006fto__":{"stream":true}}`, '__proto__'],
    ['{"model":"fast","messages":[{"__proto__":{},"role":"user","content":"Hi"}]}', 'messages[0].__proto__'],
  ])('`__proto__` is refused with 400 as a field: %s', async (body, path) => {
    await refused(aRequest({ body }), invalid(path, '`__proto__` is not a field'));
  });

  it('other JavaScript names, and keys at levels that the gateway does not read, go upstream unchanged', async () => {
    const body =
      '{"model":"fast","messages":[{"role":"user","content":"Hi"}],"constructor":{"prototype":{"stream":true}},' +
      '"toString":1,"hasOwnProperty":null,"metadata":{"__proto__":{"stream":true},"a":1,"a":2}}';
    const answer = await rawExchange(gateway().url, aRequest({ body }));
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toContain('application/json; charset=utf-8');
    expect(seen()[0]?.body).toBe(body.replace('"fast"', '"simulated-fast"'));
  });
});

describe('an unknown model name', () => {
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

  it.each(hostile.map((name) => [name.slice(0, 40), name]))(
    '%j is refused with 404 model_not_found',
    async (_shown, model) => {
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
    },
  );

  it('is on the log row, truncated to 256 characters, with unstorable characters replaced', async () => {
    const send = (requestId: string, model: string) =>
      rawExchange(
        gateway().url,
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

describe('caller tags', () => {
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
  ])('x-gateway-%s: %j is refused with 400 and names the header', async (name, value) => {
    const header = `x-gateway-${name}`;
    await refused(aRequest(tag(name, value)), invalid(header, `\`${header}\``));
  });

  it.each(['service', 'component', 'env', 'tags'])(
    'x-gateway-%s sent twice is refused with 400',
    async (name) => {
      const value = name === 'tags' ? 'a=1' : 'a';
      const header = `x-gateway-${name}`;
      await refused(
        aRequest({ headers: [bearer(), json, [header, value], [header, value]] }),
        invalid(header, 'repeated'),
      );
    },
  );

  it('are stored if they are within their limits', async () => {
    const longest = `${'k'.repeat(32)}=${'v'.repeat(64)}`;
    const answer = await rawExchange(
      gateway().url,
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

describe('the x-request-id', () => {
  const send = (requestId: string | undefined, over: Partial<RawRequest> = {}) =>
    rawExchange(
      gateway().url,
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
  ])('is echoed and stored unchanged: %s', async (_what, requestId) => {
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
  ])('is generated as a UUIDv7 if the header is %s', async (_what, requestId) => {
    const answer = await send(requestId);
    const generated = answer.headers['x-request-id'] ?? '';
    expect(generated).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(answer.headers['request-id']).toBe(generated);
    expect((await traceOf(generated)).logs).toHaveLength(1);
  });

  it('sent twice is echoed as one comma-separated list, like any repeated header', async () => {
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
  ])('%s in the content is served and goes upstream unchanged', async (_what, escape) => {
    const requestId = `text-${randomUUID()}`;
    const body = goodBody.replace('Hi', `a${escape}b`).replace('}]}', `}],"user":"${escape}"}`);
    const answer = await rawExchange(
      gateway().url,
      aRequest({ headers: [bearer(), json, ['x-request-id', requestId]], body }),
    );
    expect(answer.status).toBe(200);
    expect(seen()[0]?.body).toBe(body.replace('"fast"', '"simulated-fast"'));
    const { logs, ledger } = await traceOf(requestId);
    expect(logs).toMatchObject([{ status_code: 200 }]);
    expect(ledger).toMatchObject([{ pricing_status: 'priced' }]);
  });
});
