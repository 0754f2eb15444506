import { describe, expect, it } from '@jest/globals';
import { key, hello, openaiScene } from './openai-scene.ts';

const { gateway, upstream, seen } = openaiScene();

describe('the upstream receives', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway().url}/v1/chat/completions?beta=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body,
    });

  it('its own headers, and of the caller’s headers only W3C trace context', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const answer = await post(JSON.stringify({ model: 'fast', messages: hello }), {
      cookie: 'session=secret',
      'x-api-key': key,
      'x-request-id': 'headers-1',
      'x-gateway-service': 'checkout',
      'x-forwarded-for': '10.1.2.3',
      'anthropic-beta': 'flag',
      'anthropic-version': '2023-06-01',
      'openai-organization': 'org',
      baggage: 'user=1',
      traceparent,
      tracestate: 'vendor=1',
      'x-secret': 'canary',
    });
    expect(answer.status).toBe(200);
    const { path, headers, body } = seen()[0]!;
    expect(path).toBe('/v1/chat/completions');
    expect(headers).toEqual({
      host: new URL(upstream().url).host,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'model-gateway',
      authorization: 'Bearer upstream-token-0123456789',
      traceparent,
      tracestate: 'vendor=1',
    });
  });

  it.each([
    ['no trace context at all', {}],
    ['a malformed one', { traceparent: '00-xyz', tracestate: 'vendor=1' }],
    ['a state alone', { tracestate: 'vendor=1' }],
  ])('no trace context when the caller sent %s', async (_what, headers) => {
    await post(JSON.stringify({ model: 'fast', messages: hello }), headers);
    expect(seen()[0]?.headers).not.toHaveProperty('traceparent');
    expect(seen()[0]?.headers).not.toHaveProperty('tracestate');
  });

  it.each([
    ['compact', '{"model":"fast","messages":[{"role":"user","content":"Hi"}],"n":1}'],
    [
      'with white space and escapes',
      '\n{\n  "messages" : [ {"content": "Hi \\u00e9 \\/ é 😀", "role": "user"} ] ,\n\t"model" :  "fast",\r\n  "seed": 1 }\n',
    ],
    [
      'with numbers that no double can hold',
      '{"seed":12345678901234567890,"temperature":1.0,"top_p":1E-2,"x":[-0,0.10,1e400],"model":"fast","messages":[{"role":"user","content":"Hi","n":98765432109876543210.123456789}]}',
    ],
    [
      'with the same keys in nested objects',
      '{"model":"fast","messages":[{"role":"user","content":"Hi"}],"metadata":{"model":"fast","a":1,"a":2,"constructor":{"prototype":1}}}',
    ],
    [
      'with the name spelled with escapes',
      '{"\\u006dodel":"f\\u0061st","messages":[{"role":"user","content":"Hi"}]}',
    ],
    [
      'of more than a few kilobytes, not all of it ASCII',
      `{"é":1,"model":"fast","messages":[{"role":"user","content":"${'Hi – é 😀'.repeat(999)}"}]}`,
    ],
    [
      'with the model after a long text beyond ASCII',
      `{"messages":[{"role":"user","content":"${'é😀'.repeat(999)}"}],"model":"fast","ü":"–"}`,
    ],
  ])('the body byte for byte, except for the model: %s', async (_how, body) => {
    const answer = await post(body);
    expect(answer.status).toBe(200);
    const expected = body.replace(
      /((?:"|\\u006d)(?:m?odel)"\s*:\s*)"f(?:a|\\u0061)st"/,
      '$1"simulated-fast"',
    );
    expect(expected).not.toBe(body);
    expect(seen()[0]?.body).toBe(expected);
  });

  it('exactly the same bytes if the model has the same name upstream', async () => {
    const body = ' { "messages":[{"role":"user","content":"Hi"}], "model":"same" } ';
    await post(body);
    expect(seen()[0]?.body).toBe(body);
  });

  it('`extra_body` merged last: objects merge deeply, and arrays, scalars and null replace', async () => {
    await post(
      '{"model":"adapted","messages":[{"role":"user","content":"Hi"}],"temperature":0.70,"stop":["A","B"],' +
        '"user":{"id":1},"metadata":{"own":12345678901234567890,"nested":{"limit":1,"kept":0.10},"team":"x"}}',
    );
    expect(seen()[0]?.body).toBe(
      '{"model":"simulated-fast","messages":[{"role":"user","content":"Hi"}],"temperature":null,"stop":["END"],' +
        '"user":"gateway","metadata":{"own":12345678901234567890,"nested":{"limit":2,"kept":0.10},"team":"platform"}}',
    );
  });

  it('`extra_body` in place of absent or scalar members, and `extra_headers` beside the authentication', async () => {
    await post('{"model":"adapted","messages":[{"role":"user","content":"Hi"}],"metadata":7}');
    const { body, headers } = seen()[0]!;
    expect(JSON.parse(body)).toEqual({
      model: 'simulated-fast',
      messages: [{ role: 'user', content: 'Hi' }],
      metadata: { team: 'platform', nested: { limit: 2 } },
      stop: ['END'],
      temperature: null,
      user: 'gateway',
    });
    expect(headers).toMatchObject({
      'x-tenant': 'gateway',
      authorization2: 'kept',
      authorization: 'Bearer upstream-token-0123456789',
    });
  });

  it('no request if `extra_body` would merge into an object with a repeated key: the caller gets 400', async () => {
    const answer = await post(
      '{"model":"adapted","messages":[{"role":"user","content":"Hi"}],"metadata":{"nested":{"limit":1,"l\\u0069mit":2}}}',
    );
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: { code: 'invalid_request', param: 'metadata.nested.limit' },
    });
    expect(seen()).toEqual([]);
  });
});
