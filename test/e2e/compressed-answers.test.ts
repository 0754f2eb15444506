import { setTimeout as sleep } from 'node:timers/promises';
import { constants, createGzip, gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { maxUpstreamBodyBytes } from '../../domain/shared/limits.ts';
import { expectRefusal, expectStreamSuccess, expectSuccessRows } from '../recordings/expectations.ts';
import { readStream } from '../recordings/received.ts';
import { type Answer, rehearsal, replayConfig } from '../recordings/rehearsal.ts';
import { compressions } from '../support/compressed.ts';
import type { Replay } from '../support/replay-upstream.ts';

/** Upstreams that compress their answers although the gateway asks for `identity`. */

const { ask, open, traceOf } = rehearsal((url, key) => replayConfig(url, key, ['up']));

const whole = (replay: Replay): Promise<Answer> => ask(replay, { model: 'up', stream: false });
const streamed = (replay: Replay): Promise<Answer> => ask(replay, { model: 'up', stream: true });

const json = (coding: string) => ({ 'content-type': 'application/json', 'content-encoding': coding });
const sse = (coding: string) => ({ 'content-type': 'text/event-stream', 'content-encoding': coding });

const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
const completionOf = (content: string): string =>
  JSON.stringify({
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage,
  });

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`;
const usageChunk = `data: ${JSON.stringify({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [],
  usage,
})}\n\n`;
const events = [chunk({ role: 'assistant', content: 'Hel' }), chunk({ content: 'lo' }), chunk({}, 'stop')];
const stream = `${events.join('')}${usageChunk}data: [DONE]\n\n`;

describe.each(compressions)('an answer in %s', (_, coding, compressed) => {
  it('is decompressed if it is whole, also if it arrives in single bytes', async () => {
    for (const cuts of [{ kind: 'whole' }, { kind: 'bytes' }] as const) {
      const body = compressed(Buffer.from(completionOf('Hello')));
      const answer = await whole({ headers: json(coding), body, cuts });
      expectSuccessRows(answer, usage);
      expect(answer.headers.has('content-encoding')).toBe(false);
      expect(answer.bytes.toString()).toBe(completionOf('Hello'));
    }
  });

  it('is decompressed if it is streamed, also if it arrives in single bytes', async () => {
    for (const cuts of [{ kind: 'whole' }, { kind: 'bytes' }] as const) {
      const body = compressed(Buffer.from(stream));
      const answer = await streamed({ headers: sse(coding), body, cuts });
      const received = readStream(answer.bytes);
      expectStreamSuccess(answer, received, usage);
      expect(received.choices['0']?.text).toBe('Hello');
    }
  });

  it('is decompressed if it is an error', async () => {
    const body = compressed(Buffer.from('{"error": {"message": "Too much at once."}}'));
    const expected = { status: 429, message: /^Too much at once\.$/ } as const;
    const replay = { status: 429, headers: json(coding), body };
    expectRefusal(await whole(replay), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed(replay), { ...expected, attempt: 'stream_start_error' });
  });

  it('that is cut off is a 502 if it is whole, and an error without `[DONE]` if it is streamed', async () => {
    const cut = (text: string) => compressed(Buffer.from(text)).subarray(0, -1);
    const refused = await whole({ headers: json(coding), body: cut(completionOf('Hello')) });
    expectRefusal(refused, { status: 502, message: /^The upstream/, attempt: 'provider_error' });
    const broken = readStream((await streamed({ headers: sse(coding), body: cut(events[0] ?? '') })).bytes);
    expect([broken.dones, broken.errors.length]).toEqual([0, 1]);
  });
});

it.each(['none', 'UTF-8'])('an answer with `content-encoding: %s` is read as it is', async (coding) => {
  const answer = await whole({ headers: json(coding), body: Buffer.from(completionOf('Hello')) });
  expectSuccessRows(answer, usage);
  const received = await streamed({ headers: sse(coding), body: Buffer.from(stream) });
  expectStreamSuccess(received, readStream(received.bytes), usage);
});

it('the events of a compressed stream are sent as they arrive, not at the end', async () => {
  const gzip = createGzip();
  const pieces: Buffer[] = [];
  gzip.on('data', (piece: Buffer) => pieces.push(piece));
  const offsets: number[] = [];
  for (const event of [...events, usageChunk, 'data: [DONE]\n\n']) {
    gzip.write(event);
    await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, resolve));
    await sleep(0);
    offsets.push(Buffer.concat(pieces).length);
  }
  const body = Buffer.concat(pieces);
  const pauseMs = 100;
  const replay: Replay = { headers: sse('gzip'), body, cuts: { kind: 'at', offsets }, pauseMs };
  const { requestId, response } = await open(replay, { model: 'up', stream: true });
  const times: number[] = [];
  let text = '';
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece as Uint8Array).toString();
    if (text.includes('data:')) times.push(performance.now());
  }
  expect(text).toMatch(/Hel.*lo.*\[DONE\]/s);
  expect(times.length).toBeGreaterThan(2);
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(pauseMs);
  await traceOf(requestId);
});

it('a compressed stream with a finish reason is a success even if the connection breaks after it', async () => {
  const body = gzipSync(`${events.join('')}${usageChunk}`, { finishFlush: constants.Z_SYNC_FLUSH });
  const answer = await streamed({ headers: sse('gzip'), body, ending: { kind: 'break' } });
  expectStreamSuccess(answer, readStream(answer.bytes), usage);
});

it('a large compressed answer is read, and one that is too large when decompressed is a 502', async () => {
  const large = completionOf('x'.repeat(3 * 1024 * 1024));
  const answer = await whole({ headers: json('gzip'), body: gzipSync(large) });
  expectSuccessRows(answer, usage);
  expect(answer.bytes.toString()).toBe(large);
  const bomb = gzipSync(Buffer.alloc(maxUpstreamBodyBytes + 1));
  const refused = await whole({ headers: json('gzip'), body: bomb });
  expectRefusal(refused, { status: 502, message: /too large/, attempt: 'provider_error' });
});
