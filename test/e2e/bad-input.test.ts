import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { compressions } from '../support/compressed.ts';
import { aKey } from '../support/gateway.ts';
import { until } from '../support/otlp-receiver.ts';
import { peakGrowth } from '../support/peak-memory.ts';
import {
  key,
  revokedKey,
  bodyMaxBytes,
  chat,
  json,
  bearer,
  goodBody,
  aRequest,
  type Refusal,
  invalid,
  badInputScene,
} from './bad-input-scene.ts';
import { rawExchange, type RawRequest, rawSocket } from './raw-http.ts';

const { gateway, refused } = badInputScene();

describe('authentication with an API key', () => {
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
  ] as const)(
    '%s is refused with missing_api_key, and the message says how to send a key',
    async (_what, headers) => {
      await refused(aRequest({ headers: [...headers, json] }), {
        ...unauthenticated('missing_api_key'),
        says: 'Authorization: Bearer',
      });
    },
  );

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
  ] as const)('%s is refused with invalid_api_key', async (_what, headers) => {
    await refused(aRequest({ headers: [...headers, json] }), unauthenticated('invalid_api_key'));
  });

  it('a missing key is reported before any other fault of the request', async () => {
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
  ] as const)('%s is accepted', async (_what, headers) => {
    const answer = await rawExchange(gateway().url, aRequest({ headers: [...headers, json] }));
    expect(answer.status).toBe(200);
  });

  it.each([
    ['a request with an unknown key is refused without a 100', `Bearer ${aKey()}`, 2, ['HTTP/1.1 401']],
    [
      'a request with a too large body is refused without a 100',
      `Bearer ${key}`,
      bodyMaxBytes + 1,
      ['HTTP/1.1 413'],
    ],
    [
      'a valid request gets a 100 and is served',
      `Bearer ${key}`,
      goodBody.length,
      ['HTTP/1.1 100', 'HTTP/1.1 200'],
    ],
  ])('%s, if it sent `Expect: 100-continue`', async (_what, authorization, length, statuses) => {
    const socket = rawSocket(gateway().url);
    let text = '';
    socket.on('data', (piece: Buffer) => {
      text += piece.toString();
      if (text === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write(goodBody);
      else socket.end();
    });
    socket.write(
      `POST ${chat} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\nexpect: 100-continue\r\n` +
        `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('close', resolve));
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(statuses);
  });

  it('the unread body of a refused request is not parsed as the next request', async () => {
    const socket = rawSocket(gateway().url);
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

  it('an answer before the end of a body whose request offers an upgrade closes the connection', async () => {
    const socket = rawSocket(gateway().url);
    let text = '';
    socket.on('data', (piece: Buffer) => void (text += piece.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(
      `POST ${chat} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer gwk_no.body\r\ncontent-type: application/json\r\n` +
        'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\ncontent-length: 100\r\n\r\n',
    );
    await until(() => text.includes('invalid_api_key"}}'));
    socket.write('x'.repeat(100));
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 401 [^]*connection: close/i);
  });

  it('the connection of a body that is too large closes after the body, so that who sends it reads the 413', async () => {
    const socket = rawSocket(gateway().url);
    let text = '';
    socket.on('data', (piece: Buffer) => void (text += piece.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const piece = 'x'.repeat(bodyMaxBytes / 10);
    socket.write(
      `POST ${chat} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${bodyMaxBytes + 1}\r\n\r\n`,
    );
    await until(() => text.includes('request_too_large"}}'));
    const open: boolean[] = [];
    for (const next of [...Array.from({ length: 10 }, () => piece), 'x']) {
      await sleep(10);
      open.push(socket.writable);
      if (socket.writable) socket.write(next);
    }
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 413 [^]*connection: close/i);
    expect(open).not.toContain(false);
  });
});

describe('the request body', () => {
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
  ])('is refused with 400 if it is no JSON object: %s', async (_what, body) => {
    await refused(aRequest({ body }), invalid('body', 'The request body'));
  });

  it.each([
    ['a stray byte', Buffer.from([0x22, 0xff, 0x22])],
    ['a cut character', Buffer.from([0xe2, 0x82])],
    ['a surrogate as three bytes', Buffer.from([0xed, 0xa0, 0x80])],
    ['latin1', Buffer.from('caf\u00e9', 'latin1')],
  ])('is refused with 400 if it is invalid UTF-8: %s', async (_what, bytes) => {
    const [before = '', after = ''] = goodBody.split('Hi');
    const body = Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
    await refused(aRequest({ body }), invalid('body', 'UTF-8'));
  });

  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '1}'],
  ])('is refused with 400 if %s are nested 10,000 deep', async (_what, open, close) => {
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
    'is refused with 400 if its content type is not JSON: %p',
    async (type) => {
      await refused(
        aRequest({ headers: [bearer(), ['content-type', type]] }),
        invalid('content-type', 'content-type: application/json'),
      );
    },
  );

  it.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.x+json'])(
    'is served with the content type %p',
    async (type) => {
      const answer = await rawExchange(
        gateway().url,
        aRequest({ headers: [bearer(), ['content-type', type]] }),
      );
      expect(answer.status).toBe(200);
    },
  );

  const coded = (coding: string, body: string | Buffer, more: Partial<RawRequest> = {}): RawRequest =>
    aRequest({ headers: [bearer(), json, ['content-encoding', coding]], body, ...more });

  it.each([
    ['in an unsupported coding', 'compress', gzipSync(goodBody), 'gzip, deflate, br, zstd'],
    ['in two codings', 'gzip, gzip', gzipSync(gzipSync(goodBody)), 'gzip, deflate, br, zstd'],
    ['that is not compressed', 'gzip', goodBody, 'gzip'],
    ['that is cut off', 'br', brotliCompressSync(goodBody).subarray(0, -1), 'br'],
    ['with trailing data', 'deflate', Buffer.concat([deflateSync(goodBody), Buffer.from('{}')]), 'deflate'],
  ])('is refused with 400 if it is a compressed body %s', async (_, coding, body, says) => {
    await refused(coded(coding, body), invalid('content-encoding', says));
  });

  it.each(compressions)(
    'is refused with 413 if it is too large when decompressed: %s',
    async (_, coding, compressed) => {
      for (const bytes of [bodyMaxBytes + 1, 20 * bodyMaxBytes])
        await refused(coded(coding, compressed(Buffer.from(ofSize(bytes)))), tooLarge);
    },
  );

  it('is refused with 413 if the compressed bytes are too many, even if they decompress to nothing', async () => {
    const nothing = gzipSync('');
    const body = Buffer.concat(Array.from({ length: bodyMaxBytes / nothing.length + 1 }, () => nothing));
    for (const framing of ['length', 'chunked'] as const)
      await refused(coded('gzip', body, { framing }), tooLarge);
  });

  it.each(compressions)('is served compressed, up to the limit: %s', async (_, coding, compressed) => {
    for (const text of [goodBody, ofSize(bodyMaxBytes)])
      for (const framing of ['length', 'chunked'] as const) {
        const answer = await rawExchange(
          gateway().url,
          coded(coding, compressed(Buffer.from(text)), { framing }),
        );
        expect(answer.status).toBe(200);
      }
  });

  it('is served with a byte order mark at its beginning, compressed too', async () => {
    const marked = Buffer.from(`\ufeff${goodBody}`);
    for (const request of [
      aRequest({ body: marked }),
      aRequest({ body: marked, framing: 'chunked' }),
      coded('gzip', gzipSync(marked)),
    ])
      expect((await rawExchange(gateway().url, request)).status).toBe(200);
  });

  it('is refused with 400 if it begins with two byte order marks', async () => {
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

  it.each(['length', 'chunked'] as const)(
    'is refused with 413 if it is one byte over the limit (%s)',
    async (framing) => {
      await refused(aRequest({ body: ofSize(bodyMaxBytes + 1), framing }), tooLarge);
    },
  );

  it.each(['length', 'chunked'] as const)(
    'is refused with 413 if it is far over the limit (%s)',
    async (framing) => {
      await refused(aRequest({ body: ofSize(20 * bodyMaxBytes), framing }), tooLarge);
    },
  );

  it('is served in chunks of one byte, with memory use bounded by its size', async () => {
    const chunks = ofSize(bodyMaxBytes).replaceAll(/./g, '1\r\n$&\r\n');
    const request = aRequest({
      headers: [bearer(), json, ['transfer-encoding', 'chunked']],
      body: `${chunks}0\r\n\r\n`,
      framing: 'none',
    });
    const { result, bytes } = await peakGrowth(() => rawExchange(gateway().url, request));
    expect(result.status).toBe(200);
    expect(bytes).toBeLessThan(256 * bodyMaxBytes);
  });

  it('is refused with 413 before any byte of it arrives if its content-length is too large', async () => {
    const headers = [bearer(), json, ['content-length', '99999999999']] as const;
    await refused(aRequest({ headers, body: '', framing: 'none' }), tooLarge);
  });

  it.each(['length', 'chunked'] as const)(
    'is served if it has exactly the size of the limit (%s)',
    async (framing) => {
      const answer = await rawExchange(gateway().url, aRequest({ body: ofSize(bodyMaxBytes), framing }));
      expect(answer.status).toBe(200);
    },
  );
});
