import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import {
  chunksOf,
  completionOf,
  contentOf,
  dataOf,
  errorOf,
  eventually,
  hello,
  isDone,
  simulatedChatScene,
} from './simulated-chat-scene.ts';

const { leave, send, streamed, upstream, whole } = simulatedChatScene();

describe('errors', () => {
  it.each([
    [401, 'authentication_error'],
    [404, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [503, 'server_error'],
  ])('status=%i answers with the envelope, also to a streamed request', async (status, type) => {
    for (const received of [
      await whole(`status=${status}&message=no`),
      await streamed(`status=${status}&message=no`),
    ]) {
      expect(received.status).toBe(status);
      expect(received.headers['content-type']).toBe('application/json');
      expect(errorOf(received)).toMatchObject({ type, message: 'no', param: null });
    }
  });

  it('retry-after sets the header, and a redirect status has a location', async () => {
    expect((await whole('status=429&retry-after=3')).headers['retry-after']).toBe('3');
    expect((await whole('status=307')).headers.location).toBe('/v1/redirected');
  });

  it('json-error is an error body under status 200, streamed or not', async () => {
    for (const received of [
      await whole('json-error&message=odd'),
      await streamed('json-error&message=odd'),
    ]) {
      expect(received.status).toBe(200);
      expect(received.headers['content-type']).toBe('application/json');
      expect(errorOf(received)['message']).toBe('odd');
    }
  });

  it('error-at=N sends an error chunk after N deltas and ends without [DONE]', async () => {
    for (const count of [0, 2]) {
      const received = await streamed(`error-at=${count}&message=broke`);
      expect(received.ended).toBe('clean');
      expect(chunksOf(received.text).at(-1)?.error).toMatchObject({ message: 'broke' });
      expect(isDone(received.text)).toBe(false);
      expect(received.text.match(/"content":"[^"]/g) ?? []).toHaveLength(count);
    }
    expect(errorOf(await whole('error-at=2'))['type']).toBe('server_error');
  });
});

describe('bodies that were not requested', () => {
  it('html is a page with status 200, or with another status', async () => {
    const received = await streamed('html');
    expect(received).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(received.text).toMatch(/^<!doctype html>/);
    expect((await whole('html&status=502')).status).toBe(502);
  });

  it('empty has no body', async () => {
    for (const received of [await whole('empty'), await streamed('empty')]) {
      expect(received).toMatchObject({ status: 200, text: '', ended: 'clean' });
    }
    expect((await whole('empty&status=500')).status).toBe(500);
  });

  it('content-type replaces the header and nothing else', async () => {
    const received = await streamed('content-type=application/octet-stream');
    expect(received.headers['content-type']).toBe('application/octet-stream');
    expect(isDone(received.text)).toBe(true);
  });

  it('gzip compresses whole answers and streams, flushing each frame', async () => {
    const answer = await whole('gzip');
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(
      JSON.parse(
        gunzipSync(answer.pieces.length === 1 ? answer.pieces[0]! : Buffer.concat(answer.pieces)).toString(),
      ),
    ).toMatchObject({ object: 'chat.completion' });
    const stream = await streamed('gzip&chunk-delay-ms=5');
    expect(isDone(gunzipSync(Buffer.concat(stream.pieces)).toString())).toBe(true);
    expect(stream.pieces.length).toBeGreaterThan(5);
  });

  it('crlf ends every line with CR LF', async () => {
    const { text } = await streamed('crlf');
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(isDone(text.replaceAll('\r\n', '\n'))).toBe(true);
  });

  it('comments precede every frame', async () => {
    const { text } = await streamed('comments');
    expect(text.match(/^: simulated comment$/gm)).toHaveLength(dataOf(text).length);
  });

  it('garbage=N inserts a malformed frame after N deltas, and the stream continues', async () => {
    const { text } = await streamed('garbage=2');
    const bad = dataOf(text).findIndex((data) => data !== '[DONE]' && !data.endsWith('}'));
    expect(bad).toBe(3);
    expect(isDone(text)).toBe(true);
    const { text: body, ended } = await whole('garbage');
    expect(() => JSON.parse(body) as unknown).toThrow(SyntaxError);
    expect(ended).toBe('clean');
  });

  it.each([1, 65536, 300000])(
    'long-line=%i writes one line of that length that does not end',
    async (bytes) => {
      const { text, ended } = await streamed(`long-line=${bytes}`);
      expect(text.slice(text.lastIndexOf('\n') + 1)).toBe(`data: {"simulated":"${'x'.repeat(bytes)}`);
      expect(ended).toBe('clean');
      expect((await whole(`long-line=${bytes}`)).text).toBe(`{"simulated":"${'x'.repeat(bytes)}`);
    },
  );
});

describe('streams that end wrongly', () => {
  it('break=0 closes the socket before the head', async () => {
    expect((await streamed('break=0')).ended).toBe('no head');
    expect((await whole('break')).ended).toBe('no head');
  });

  it.each([1, 3, 40])('break=%i closes the socket after that many deltas', async (count) => {
    const { text, ended } = await streamed(`break=${count}`);
    expect(ended).toBe('broken');
    expect(contentOf(text)).toHaveLength(count);
    expect(text.endsWith('\n\n')).toBe(true);
  });

  it('a position after the last of a given number of deltas means the last', async () => {
    expect(contentOf((await streamed('chunks=2&break=9')).text)).toHaveLength(2);
  });

  it.each([
    ['role', 1],
    ['finish', 4],
    ['end', 5],
  ])('break=%s closes the socket after %i frames', async (place, frames) => {
    const { text, ended } = await streamed(`break=${place}&chunks=2&usage=last`);
    expect(ended).toBe('broken');
    expect(dataOf(text)).toHaveLength(frames);
  });

  it.each([
    ['0', 0],
    ['1', 1],
    ['2', 2],
    ['finish', 3],
    ['usage', 4],
    ['done', 5],
  ])('cut=%s closes the socket in the middle of that frame', async (frame, before) => {
    const { text, ended } = await streamed(`cut=${frame}&chunks=2&usage=last`);
    expect(ended).toBe('broken');
    expect(text.split('\n\n')).toHaveLength(before + 1);
    expect(text.split('\n\n').at(-1)).toMatch(/^data: /);
  });

  it.each([0, 2])('eof=%i ends the body cleanly after that many deltas', async (count) => {
    const { text, ended } = await streamed(`eof=${count}`);
    expect(ended).toBe('clean');
    expect(contentOf(text)).toHaveLength(count);
    expect(text).not.toMatch(/DONE|"stop"/);
  });

  it('no-done and no-finish omit only that', async () => {
    const { text: undone } = await streamed('no-done');
    expect(chunksOf(undone).at(-1)?.choices[0]?.finish_reason).toBe('stop');
    expect(isDone(undone)).toBe(false);
    const { text: unfinished } = await streamed('no-finish');
    expect(unfinished).not.toContain('"stop"');
    expect(isDone(unfinished)).toBe(true);
    expect(completionOf(await whole('no-finish')).choices[0]?.finish_reason).toBeNull();
  });

  it.each(['break=1', 'cut'])('%s sends half of a whole answer', async (query) => {
    const { text, ended } = await whole(query);
    expect(ended).toBe('broken');
    expect(text).toMatch(/^\{"id"/);
  });

  it('eof sends half of a whole answer with a clean end', async () => {
    const { text, ended } = await whole('eof');
    expect(ended).toBe('clean');
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  });

  it('faults apply to tool calls as to text', async () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const { text, ended } = await streamed('tools&break=1', { tools });
    expect(ended).toBe('broken');
    expect(chunksOf(text).at(-1)?.choices[0]?.delta.tool_calls?.[0]?.function.name).toBe('f');
  });

  it('a break by directive is not counted as a client disconnect', async () => {
    const before = upstream().aborted();
    await streamed('break=1');
    await streamed('cut=1');
    await eventually(() => upstream().inFlight() === 0);
    expect(upstream().aborted()).toBe(before);
  });
});

describe('silence and client disconnects', () => {
  it.each([
    ['hang=headers', ''],
    ['hang=0', 'HTTP/1.1 200'],
    ['hang=1', '"content":"This is '],
    ['hang=finish&usage=last', '"finish_reason":"stop"'],
    ['hang&usage=last', '"total_tokens":36'],
  ])('%s sends what precedes it and then nothing, until the client disconnects', async (query, last) => {
    const before = upstream().aborted();
    const received: Buffer[] = [];
    const body = JSON.stringify({ model: `simulated?${query}`, messages: hello, stream: true });
    const socket = connect(Number(new URL(upstream().url).port), '127.0.0.1');
    socket.on('data', (piece) => received.push(piece));
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await eventually(() => upstream().inFlight() === 1 && Buffer.concat(received).toString().includes(last));
    await new Promise((resolve) => setTimeout(resolve, 150));
    const text = Buffer.concat(received).toString();
    expect(text).toContain(last);
    expect(text).not.toContain('[DONE]');
    if (query.startsWith('hang=finish')) expect(text).not.toContain('total_tokens');
    expect(socket.closed).toBe(false);
    expect(upstream().inFlight()).toBe(1);
    socket.destroy();
    await eventually(() => upstream().inFlight() === 0);
    expect(upstream().aborted()).toBe(before + 1);
  });

  it.each([
    ['chunk-delay-ms=60000', 10],
    ['chunks=1000000', 100_000],
    ['chunks=1000000&chunk-bytes=10000&gzip', 1000],
    ['long-line=1000000000', 1_000_000],
  ])('%s: everything is cancelled when the client disconnects', async (query, bytes) => {
    const before = upstream().aborted();
    await leave(query, (received) => received > bytes);
    await eventually(() => upstream().inFlight() === 0);
    expect(upstream().aborted()).toBe(before + 1);
  });

  it('latency-ms=60000: everything is cancelled when the client disconnects before the head', async () => {
    const before = upstream().aborted();
    const body = JSON.stringify({ model: 'simulated?latency-ms=60000', messages: hello });
    const url = `${upstream().url}/chat/completions`;
    const leaving = new AbortController();
    const left = expect(fetch(url, { method: 'POST', body, signal: leaving.signal })).rejects.toThrow();
    await eventually(() => upstream().inFlight() === 1);
    leaving.abort();
    await left;
    await eventually(() => upstream().inFlight() === 0);
    expect(upstream().aborted()).toBe(before + 1);
  });

  it('a client that disconnects in the middle of its own body is counted, too', async () => {
    const before = upstream().aborted();
    const socket = connect(Number(new URL(upstream().url).port), '127.0.0.1');
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"model"');
    await eventually(() => upstream().inFlight() === 1);
    socket.destroy();
    await eventually(() => upstream().inFlight() === 0);
    expect(upstream().aborted()).toBe(before + 1);
  });

  it('a client that does not read is not written to without limit', async () => {
    const before = process.memoryUsage().rss;
    const body = JSON.stringify({ model: 'simulated?long-line=1000000000', messages: hello, stream: true });
    const socket = connect(Number(new URL(upstream().url).port), '127.0.0.1');
    socket.pause();
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    socket.destroy();
  });
});

describe('the server', () => {
  it('counts requests, closes with answers in flight, and counts none of them as aborted', async () => {
    const own = await startSimulatedUpstream({ port: 0 });
    const { port } = new URL(own.url);
    expect(own.url).toBe(`http://127.0.0.1:${port}/v1`);
    await send({ model: 'm', messages: hello }, {}, own);
    const hanging = send({ model: 'm?hang', messages: hello, stream: true }, {}, own);
    await eventually(() => own.inFlight() === 1);
    await own.close();
    expect((await hanging).ended).toBe('broken');
    expect(own.requests()).toBe(2);
    expect(own.aborted()).toBe(0);
    await expect(fetch(`${own.url}/models`)).rejects.toThrow();
  });

  it('fails to start if the port is in use', async () => {
    const port = Number(new URL(upstream().url).port);
    await expect(startSimulatedUpstream({ port })).rejects.toThrow('EADDRINUSE');
  });
});
