import { describe, expect, it } from '@jest/globals';
import { key, chat, json, bearer, goodBody, aRequest, envelopeOf, badInputScene } from './bad-input-scene.ts';
import { rawExchange, type RawRequest, rawSocket } from './raw-http.ts';
import { eventually, outcomesOf } from './traces.ts';

const { finalTraceOf, gateway, upstream, seen } = badInputScene();

describe('headers and paths', () => {
  it('headers of up to 32 KiB are accepted', async () => {
    const answer = await rawExchange(
      gateway().url,
      aRequest({ headers: [bearer(), json, ['x-big', 'x'.repeat(31 * 1024)]] }),
    );
    expect(answer.status).toBe(200);
  });

  it('a request may have 1,000 headers, and more are refused with 431', async () => {
    const own = [bearer(), json];
    const others = (count: number) =>
      Array.from({ length: count }, (_, index): [string, string] => [`x-${index}`, '']);
    // Beside these the request has `host`, `connection` and `content-length`.
    const taken = await rawExchange(gateway().url, aRequest({ headers: [...own, ...others(995)] }));
    expect(taken.status).toBe(200);
    const refused = await rawExchange(gateway().url, aRequest({ headers: [...own, ...others(996)] }));
    expect(refused.status).toBe(431);
    expect(envelopeOf(refused)).toMatchObject({
      message: 'The request headers are larger than 32 KiB, or more than 1,000.',
      code: 'invalid_request',
    });
  });

  it.each([
    ['in one header', [['x-big', 'x'.repeat(33 * 1024)]]],
    ['in many', Array.from({ length: 600 }, (_, index) => [`x-${index}`, 'x'.repeat(56)])],
  ] as [string, [string, string][]][])(
    'headers over 32 KiB (%s) are refused with 431',
    async (_where, headers) => {
      const before = upstream().requests();
      const answer = await rawExchange(gateway().url, aRequest({ headers: [bearer(), json, ...headers] }));
      expect(answer.status).toBe(431);
      expect(envelopeOf(answer)).toEqual({
        message: 'The request headers are larger than 32 KiB, or more than 1,000.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_request',
      });
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
      expect(upstream().requests()).toBe(before);
    },
  );

  it.each([
    ['two lengths', { headers: [['content-length', '5']] }],
    ['a length and chunks', { headers: [['transfer-encoding', 'chunked']] }],
    ['a NUL in a header', { headers: [['x-request-id', 'a\0b']] }],
    ['an unknown method', { method: 'FETCH' }],
    ['a path without a slash', { path: 'v1/models' }],
    ['a header without a name', { headers: [['', 'x']] }],
  ] as [string, Partial<RawRequest>][])(
    'a request that is not valid HTTP is refused with 400: %s',
    async (_what, over) => {
      const answer = await rawExchange(gateway().url, aRequest(over));
      expect(answer.status).toBe(400);
      expect(envelopeOf(answer)).toMatchObject({
        message: 'The request is not valid HTTP.',
        code: 'invalid_request',
      });
    },
  );

  it.each(['http://[', 'http://[::1', 'http://a:x/', 'http://', '//a@[#', '//a@x:y#'])(
    'a target that is no path and no URL is refused with 400, and the connection is closed: %s',
    async (path) => {
      for (const headers of [[bearer(), json], []] as [string, string][][]) {
        const answer = await rawExchange(gateway().url, aRequest({ path, headers }));
        expect([answer.status, answer.headers['connection']]).toEqual([400, 'close']);
        expect(envelopeOf(answer)).toMatchObject({ message: 'The request target is no path and no URL.' });
      }
    },
  );

  it.each([
    '/v1\\chat\\completions#',
    '/v1\\chat/completions?#',
    'http://a/v1\\chat\\completions',
    '/v1/chat/completions#x',
  ])(
    'a target is refused with 400 if a proxy and Node could read different paths in it: %s',
    async (path) => {
      const answer = await rawExchange(gateway().url, aRequest({ path }));
      expect(answer.status).toBe(400);
      expect(envelopeOf(answer)).toMatchObject({ message: 'The request target is no path and no URL.' });
    },
  );

  it('a target may be a URL (RFC 9112, 3.2.2)', async () => {
    const path = `${gateway().url}/v1/chat/completions`;
    expect((await rawExchange(gateway().url, aRequest({ path }))).status).toBe(200);
  });

  it.each([
    ['two hosts', ['host', 'other.example']],
    ['the same host twice', ['Host', '127.0.0.1']],
  ] as const)('%s: refused with 400, and the connection is closed', async (_what, more) => {
    for (const request of [aRequest(), { method: 'GET', path: '/healthz' }]) {
      const answer = await rawExchange(gateway().url, {
        ...request,
        headers: [['connection', 'keep-alive'], ...(request.headers ?? []), more],
      });
      expect([answer.status, answer.headers['connection']]).toEqual([400, 'close']);
      expect(envelopeOf(answer)).toMatchObject({ code: 'invalid_request', param: 'host' });
    }
    expect(seen()).toEqual([]);
  });

  it.each([
    ['HTTP/1.1', 'HTTP/1.1 400'],
    ['HTTP/1.0', 'HTTP/1.1 200'],
  ])('%s without a Host header is answered with %s', async (version, status) => {
    const socket = rawSocket(gateway().url);
    let text = '';
    socket.on('data', (piece: Buffer) => void (text += piece.toString()));
    socket.write(`GET /healthz ${version}\r\nconnection: close\r\n\r\n`);
    await new Promise((resolve) => socket.once('close', resolve));
    expect(text.slice(0, 12)).toBe(status);
  });

  it.each<readonly [string, Partial<RawRequest>]>([
    ['an answer', {}],
    ['a stream', { body: goodBody.replace('"model"', '"stream":true,"model"') }],
    ['a refused request', { headers: [] }],
    ['an unknown path', { path: '/nothing' }],
    ['another method', { method: 'PUT' }],
    ['the models', { method: 'GET', path: '/v1/models' }],
    ['the health', { method: 'GET', path: '/healthz' }],
    ['the readiness', { method: 'GET', path: '/readyz' }],
    ['the admin API', { method: 'GET', path: '/api/v1/auth/session' }],
    ['invalid HTTP', { method: 'FETCH' }],
    ['headers too large', { headers: [['x-big', 'x'.repeat(33 * 1024)]] }],
    ['an unknown expectation', { headers: [bearer(), json, ['expect', 'a miracle']] }],
    ['two hosts', { headers: [bearer(), ['host', 'x']] }],
  ])('%s is sent with the headers nosniff and no-store', async (_what, over) => {
    const { headers } = await rawExchange(gateway().url, aRequest(over));
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['cache-control']).toMatch(/^no-store(?:, no-transform)?$/);
  });

  it('a caller that disconnects while sending its body has a log row with 499, and nothing is sent upstream', async () => {
    const socket = rawSocket(gateway().url);
    socket.write(
      `POST ${chat} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nx-request-id: broke-off\r\n` +
        'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"model":',
    );
    await eventually(() => (socket.bytesWritten > 0 ? true : undefined));
    setTimeout(() => socket.destroy(), 50);
    const { logs } = await finalTraceOf('broke-off');
    expect(logs).toMatchObject([{ status_code: 499, error_code: 'client_closed' }]);
    expect(outcomesOf(gateway(), 'broke-off')).toMatchObject([{ outcome: 'client_closed' }]);
    expect(seen()).toEqual([]);
  });

  /** A chunked body whose second chunk is malformed. */
  const brokenPieces = '5\r\n{"mod\r\nzz\r\n';
  const inPieces = (requestId: string, credential = bearer()): NonNullable<RawRequest['headers']> => [
    credential,
    json,
    ['x-request-id', requestId],
    ['transfer-encoding', 'chunked'],
    ['connection', 'keep-alive'],
  ];

  it.each([
    ['no HTTP', brokenPieces, 400, 'invalid_request', 'The request is not valid HTTP.'],
    [
      'an extension without an end',
      `5;${'x'.repeat(20_000)}`,
      413,
      'request_too_large',
      'The chunk extensions',
    ],
  ])(
    'a chunked body with a fault is refused in the envelope of its path, and logged: %s',
    async (what, body, status, code, says) => {
      for (const path of [chat, '/v1/messages', '/api/v1/auth/login']) {
        const requestId = `pieces ${what} ${path}`;
        const headers = inPieces(requestId);
        const answer = await rawExchange(gateway().url, { path, headers, body, framing: 'none' });
        expect(answer.status).toBe(status);
        expect(answer.headers).toMatchObject({
          'x-request-id': requestId,
          'request-id': requestId,
          'x-gateway-error': code,
          connection: 'close',
        });
        const error = path === '/v1/messages' ? { details: { error_code: code } } : { code };
        expect(envelopeOf(answer)).toMatchObject({ ...error, message: expect.stringContaining(says) });
        if (path.startsWith('/api')) continue;
        const { logs } = await finalTraceOf(requestId);
        expect(logs).toMatchObject([{ status_code: status, error_code: code }]);
        expect(logs[0]?.['latency_ms']).toBeLessThan(5000);
      }
      expect(seen()).toEqual([]);
    },
  );

  it('malformed chunks that arrive after an early answer are not parsed as a second request', async () => {
    const socket = rawSocket(gateway().url);
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      if (text === '') socket.write(brokenPieces);
      text += piece.toString();
    });
    const lines = inPieces('answered', bearer('unknown')).map(([name, value]) => `${name}: ${value}`);
    socket.write([`POST ${chat} HTTP/1.1`, 'host: x', ...lines, '', ''].join('\r\n'));
    await new Promise((resolve) => socket.once('close', resolve));
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
  });

  const unknown: readonly (readonly [string, string])[] = [
    ['GET', '///'],
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
  it.each(unknown)('%s %s is 404, with or without a key', async (method, path) => {
    for (const headers of [[], [bearer()]]) {
      const answer = await rawExchange(gateway().url, {
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
  const withoutSlash = / Write the base URL of this client without the slash at its end\.$/;
  it.each([
    ['POST', '/v1/v1/chat/completions', without],
    ['POST', '/v1/v1/messages', without],
    ['POST', '/v1/v1/responses', without],
    ['GET', '/v1/v1/models', without],
    ['POST', '/chat/completions', withAtEnd],
    ['POST', '/responses', withAtEnd],
    ['POST', '/embeddings', withAtEnd],
    ['GET', '/models', withAtEnd],
    ['POST', '/v1//chat/completions', withoutSlash],
    ['POST', '//v1/messages', withoutSlash],
    ['GET', '/v1//models', withoutSlash],
    ['GET', '//', withoutSlash],
  ])('%s %s is 404 and says how to write the base URL', async (method, path, advice) => {
    const answer = await rawExchange(gateway().url, { method, path, headers: [bearer()] });
    expect(answer.status).toBe(404);
    const { message } = envelopeOf(answer);
    expect(message).toMatch(advice);
    expect(message).toContain(`There is nothing at \`${path}\`.`);
  });

  it('the 404 for a path with a key and a backtick hides the key and percent-encodes the backtick', async () => {
    const answer = await rawExchange(gateway().url, {
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
    'POST %s is 404 in the messages envelope',
    async (path) => {
      const answer = await rawExchange(gateway().url, {
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
  ])('%s %s is 405 and names the allowed methods', async (method, path, allowed) => {
    const answer = await rawExchange(gateway().url, {
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

  it.each(['/v1/responses', chat])(
    'a WebSocket that is requested at %s is refused with 426, at which agents change to HTTP at once',
    async (path) => {
      const answer = await rawExchange(gateway().url, {
        method: 'GET',
        path,
        headers: [
          bearer(),
          ['connection', 'Upgrade'],
          ['upgrade', 'WebSocket'],
          ['sec-websocket-version', '13'],
        ],
        framing: 'none',
      });
      expect(answer.status).toBe(426);
      expect(answer.headers).toMatchObject({ connection: 'upgrade, close', upgrade: 'HTTP/1.1' });
      expect(envelopeOf(answer)).toMatchObject({ code: 'websocket_unsupported' });
    },
  );

  it.each([
    ['POST', '/v1/models', 405, 'invalid_request_error', 'method_not_allowed'],
    ['GET', '/v1/models', 401, 'authentication_error', 'missing_api_key'],
    ['GET', '/v1/nothing', 404, 'not_found_error', 'not_found'],
  ])(
    '%s %s with anthropic-version is %i in the messages envelope',
    async (method, path, status, type, error_code) => {
      const answer = await rawExchange(gateway().url, {
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
      const answer = await rawExchange(gateway().url, aRequest({ path }));
      expect(answer.status).toBe(200);
      expect(seen()[0]?.path).toBe('/v1/chat/completions');
    },
  );

  it.each(['/healthz', '/readyz'])('%s needs no key and echoes the request id', async (path) => {
    const answer = await rawExchange(gateway().url, {
      method: 'GET',
      path,
      headers: [['x-request-id', 'health']],
    });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'x-request-id': 'health', 'request-id': 'health' });
  });
});
