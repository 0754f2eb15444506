import { pbkdf2, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { invalidRequest } from '../../domain/shared/gateway-error.ts';
import { maxEventLoopBodyBytes } from '../../domain/shared/limits.ts';
import { decompress } from '../../infrastructure/providers/decompression.ts';
import { bodyPace } from '../../interfaces/http/body-pace.ts';
import { type BodyTerms, readJsonBody } from '../../interfaces/http/body.ts';
import { bodyTurns } from '../../interfaces/http/body-turns.ts';
import { loadGate } from '../../interfaces/http/load-gate.ts';
import { malformedBody } from '../../interfaces/http/malformed-request.ts';

/** A body that arrives as the test controls, and the number of bytes held for it. */
function arriving(headers: Record<string, string>, over: Partial<BodyTerms> = {}) {
  const req = Object.assign(new PassThrough(), { headers, complete: false });
  const state = { held: 0, stop: (): void => undefined, over: 0 };
  const read = readJsonBody(req as unknown as IncomingMessage, {
    maxBytes: 1e6,
    lease: {
      hold: (bytes) => {
        state.held += bytes;
        return true;
      },
      giveBack: (bytes) => void (state.held -= bytes),
    },
    arrivals: (stop) => {
      state.stop = () => stop(tooSlow);
      return { received: () => undefined, paused: () => undefined, over: () => void (state.over += 1) };
    },
    turns: bodyTurns(),
    decompress,
    ...over,
  });
  return { req, state, read };
}

const tooSlow = invalidRequest('Too slow.');
const gzip = { 'content-encoding': 'gzip' };
/** Bytes for a compression test. */
const noise = Buffer.from(Array.from({ length: 60_000 }, (_, at) => (at * 7919 * (at % 251)) % 256));

describe('a request body', () => {
  it.each([
    ['is read', {}, (req: PassThrough) => req.end('{}'), true],
    ['is read, compressed', gzip, (req: PassThrough) => req.end(gzipSync('{}')), true],
    ['is refused', {}, (req: PassThrough) => req.end('x'.repeat(2e6)), false],
    ['broke off', {}, (req: PassThrough) => req.destroy(), false],
  ])(
    'that %s is no longer held by its request, whose answer may take minutes',
    async (_, headers, send, isRead) => {
      const { req, read } = arriving(headers);
      const events = ['data', 'end', 'error', 'close', malformedBody];
      expect(events.map((event) => req.listenerCount(event))).toEqual([1, 1, 1, 1, 1]);
      send(req);
      expect(E.isRight(await read)).toBe(isRead);
      expect(events.map((event) => req.listenerCount(event))).toEqual([0, 0, 0, 0, 0]);
    },
  );

  it.each([
    ['as it is', {}, noise],
    ['compressed', gzip, gzipSync(noise)],
  ])('that was given up as too slow holds no further bytes that arrive: %s', async (_, headers, body) => {
    const { req, state, read } = arriving(headers);
    req.write(body.subarray(0, 1000));
    await turn();
    state.stop();
    expect(await read).toEqual(E.left(tooSlow));
    for (let at = 1000; at < body.length; at += 1000) {
      req.write(body.subarray(at, at + 1000));
      await turn();
    }
    req.end();
    for (let each = 0; each < 20; each += 1) await turn();
    expect([state.held, state.over > 0]).toEqual([0, true]);
    // The rest is read and discarded, so that the answer can be sent.
    expect(req.readableEnded).toBe(true);
  });

  it('that finds no room gives its own back at once, so that of several that arrive together some are served', async () => {
    const gate = loadGate({ maxInFlight: 9, maxInFlightPerOwner: 9, maxBufferedBytes: 100_000 });
    const bodies = Array.from({ length: 5 }, () => {
      const lease = gate.enter();
      if (lease === undefined) throw new Error('the gate admits nine');
      return { ...arriving({}, { lease }), lease };
    });
    for (const text of [`"${'x'.repeat(29_999)}`, `${'x'.repeat(29_999)}"`])
      for (const { req } of bodies) {
        req.write(text);
        await turn();
      }
    for (const { req } of bodies) req.end();
    const read = await Promise.all(bodies.map((each) => each.read));
    const overloaded = E.left(expect.objectContaining({ code: 'overloaded' }));
    const served = E.right(expect.anything());
    expect(read).toEqual([overloaded, served, overloaded, overloaded, overloaded]);
    expect(bodies.map(({ lease }) => lease.heldBytes())).toEqual([0, 60_000, 0, 0, 0]);
  });

  it.each([
    ['small', 10],
    ['large', maxEventLoopBodyBytes + 1],
  ])('is rejected if it is not valid UTF-8: a %s one', async (_, size) => {
    const { req, read } = arriving({}, { maxBytes: size });
    req.end(Buffer.alloc(size, 0xff));
    expect(await read).toMatchObject(E.left({ code: 'invalid_request', param: 'body' }));
  });

  it.each<[string, Record<string, string>]>([
    ['with a content-length', { 'content-length': '10' }],
    ['without a content-length', {}],
  ])(
    'can have as many bytes as the limit, and one more is `request_too_large`: one %s',
    async (_, headers) => {
      const [fits, over] = [10, 9].map((maxBytes) => arriving(headers, { maxBytes }));
      for (const each of [fits, over]) each?.req.end('"12345678"');
      expect(await fits?.read).toMatchObject(E.right({ text: '"12345678"' }));
      expect(await over?.read).toMatchObject(E.left({ code: 'request_too_large' }));
    },
  );

  it('is limited in its compressed size, too, even if it is within the limit once decompressed', async () => {
    const random = randomBytes(10_000);
    const { req, read } = arriving(gzip, { maxBytes: random.length });
    req.end(gzipSync(random));
    expect(await read).toMatchObject(E.left({ code: 'request_too_large' }));
  });

  it.each(['application/jsonl', 'text/json', 'multipart/form-data'])(
    'with the content type %s is rejected',
    async (type) => {
      const { req, read } = arriving({ 'content-type': type });
      req.end('{}');
      expect(await read).toMatchObject(E.left({ param: 'content-type' }));
    },
  );

  it.each(['gzip, chunked', 'chunked, gzip', 'gzip'])(
    'is refused if it has a transfer coding that is not undone: %s',
    async (coding) => {
      const { req, read } = arriving({ 'transfer-encoding': coding });
      req.end('{}');
      expect(await read).toMatchObject(E.left({ code: 'invalid_request', param: 'transfer-encoding' }));
    },
  );

  it.each(['chunked', ' Chunked '])('is read if it is only chunked: %j', async (coding) => {
    const { req, read } = arriving({ 'transfer-encoding': coding });
    req.end('{}');
    expect(await read).toEqual(E.right({ text: '{}' }));
  });

  it('of a caller who has already disconnected is reported as broken off', async () => {
    const req = Object.assign(new PassThrough(), { headers: {}, complete: false });
    req.destroy();
    await turn();
    const lease = { hold: () => true, giveBack: () => undefined };
    const read = readJsonBody(req as unknown as IncomingMessage, {
      maxBytes: 9,
      lease,
      turns: bodyTurns(),
      arrivals: bodyPace(),
    });
    expect(await read).toMatchObject(E.left({ message: 'The request body broke off.' }));
  });

  it('is not too slow while the gateway does not read it because it decompresses what has arrived', async () => {
    const arrivals = bodyPace({ firstMs: 50, bytesPerSec: 1e6, lookMs: 10 });
    // Nothing is decompressed while all threads of the pool are busy.
    const busy = Array.from({ length: 4 }, () => promisify(pbkdf2)('', '', 400_000, 64, 'sha512'));
    const text = randomBytes(400_000).toString('hex');
    const body = gzipSync(text);
    const { req, read } = arriving(gzip, { arrivals });
    req.write(body.subarray(0, body.length / 2));
    await turn();
    await turn();
    req.end(body.subarray(body.length / 2));
    expect(await read).toMatchObject(E.right({ text }));
    await Promise.all(busy);
  });

  it('is complete if the connection closes after its last byte, before it is decompressed', async () => {
    const { req, read } = arriving(gzip);
    req.end(gzipSync(JSON.stringify({ text: 'x'.repeat(100_000) })));
    const body = await read;
    expect(E.isRight(body) && String(body.right.text).length).toBe(100_011);
  });
});
