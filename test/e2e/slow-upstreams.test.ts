import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { expectRefusal, expectStreamFailure, expectStreamSuccess } from '../recordings/expectations.ts';
import { readStream } from '../recordings/received.ts';
import type { Answer } from '../recordings/rehearsal.ts';
import type { Replay } from '../support/replay-upstream.ts';
import { peakGrowth } from '../support/peak-memory.ts';
import { type Timed, timed, undisturbed } from '../support/undisturbed.ts';
import {
  json,
  sse,
  hello,
  stop,
  done,
  usage,
  usageChunk,
  completion,
  until,
  malformedScene,
} from './malformed-scene.ts';

const { ask, upstream, sim, whole, streamed } = malformedScene();

/** A chunk of the second of two choices. */
const second = (of: string): string => of.replaceAll('"index":0', '"index":1');

/** Requests that take ten seconds and longer: they run during the other tests. */
let hanging: Promise<Timed<Answer>>;
let twoChoices: readonly Promise<Answer>[];
beforeAll(() => {
  twoChoices = [
    [hello, second(hello), stop],
    [hello, stop, second(hello)],
  ].map((begun) => {
    const before = begun.join('');
    const body = before + second(hello + stop) + usageChunk(usage) + done;
    const cuts = { kind: 'at', offsets: [before.length] } as const;
    return streamed({ headers: sse, body, cuts, pauseMs: 11_000 });
  });
  hanging = timed(() =>
    streamed({
      headers: sse,
      body: hello + stop + usageChunk(usage),
      ending: { kind: 'hang' },
    }),
  );
});

describe('an endless line', () => {
  it.each([
    ['streamed', true],
    ['non-streamed', false],
  ])('of 1 GiB is cut off (%s), and memory stays bounded', async (_name, stream) => {
    const aborted = sim().aborted();
    const { result: answer, bytes } = await peakGrowth(() =>
      ask({ body: '' }, { model: 'simulated', stream }),
    );
    if (stream) expectStreamFailure(answer, readStream(answer.bytes), /too large/);
    else expectRefusal(answer, { status: 502, message: /too large/, attempt: 'provider_error' });
    await until(() => sim().aborted() > aborted);
    expect(sim().aborted()).toBe(aborted + 1);
    // Twice the larger of the two limits (64 MiB), and the memory of the runtime itself.
    expect(bytes).toBeLessThan(256 * 1024 * 1024);
  });
});

describe('a response in chunks of one byte', () => {
  it('uses memory for its bytes, and not for its chunks', async () => {
    const spaces = '1\r\n \r\n'.repeat(2 * 1024 * 1024);
    const text = completion().replaceAll(/./g, '1\r\n$&\r\n');
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
    const body = Buffer.from(`${head}${spaces}${text}0\r\n\r\n`);
    const { result, bytes } = await peakGrowth(() => whole({ raw: true, body }));
    expect(result.status).toBe(200);
    expect(bytes).toBeLessThan(256 * 1024 * 1024);
  });
});

describe('a slow upstream', () => {
  it('that does not start its response causes a 504', async () => {
    const silent: Replay = { raw: true, body: '', ending: { kind: 'hang' } };
    const expected = { status: 504, message: /begin to answer/, upstreamStatus: null };
    expectRefusal(await whole(silent, 'quick_head'), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed(silent, 'quick_head'), { ...expected, attempt: 'stream_start_error' });
  });

  it('that sends informational responses, but does not start its response, causes a 504', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\n\r\n';
    const cuts = {
      kind: 'at',
      offsets: Array.from({ length: 100 }, (_, index) => index * hint.length),
    } as const;
    const hinting: Replay = {
      raw: true,
      body: hint.repeat(100),
      cuts,
      pauseMs: 100,
      ending: { kind: 'hang' },
    };
    const expected = { status: 504, message: /begin to answer/, upstreamStatus: null };
    expectRefusal(await whole(hinting, 'quick_head'), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed(hinting, 'quick_head'), { ...expected, attempt: 'stream_start_error' });
  });

  it('that sends an informational response and its head in time may complete its body later', async () => {
    const body = `HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${completion().length}\r\n\r\n${completion()}`;
    const cuts = { kind: 'at', offsets: [body.length - 20] } as const;
    await undisturbed(100, async () => {
      const answer = await whole({ raw: true, body, cuts, pauseMs: 600 }, 'quick_head');
      expect(answer.status).toBe(200);
    });
  });

  it('that becomes silent in the middle of a stream causes an error chunk', async () => {
    const aborted = upstream().aborted();
    const body = hello + hello.slice(0, 40);
    await undisturbed(200, async () => {
      const answer = await streamed({ headers: sse, body, ending: { kind: 'hang' } }, 'quick_idle');
      const received = readStream(answer.bytes);
      expect(received.choices['0']?.text).toBe('Hello');
      expectStreamFailure(answer, received, /silent/, 504);
    });
    await until(() => upstream().aborted() > aborted);
    expect(upstream().aborted()).toBeGreaterThan(aborted);
  });

  it('that becomes silent in the middle of a non-streamed response causes a 504', async () => {
    const answer = await whole({ headers: json, body: '{"id":', ending: { kind: 'hang' } }, 'quick_idle');
    expectRefusal(answer, { status: 504, message: /silent/, attempt: 'provider_error' });
  });

  it('that never completes is cut off after the maximum total time', async () => {
    const dribble = { cuts: { kind: 'bytes' }, pauseMs: 20 } as const;
    const comments = ': still thinking\n\n'.repeat(200);
    await undisturbed(300, async () => {
      const answer = await streamed({ headers: sse, body: hello + comments, ...dribble }, 'quick_total');
      expectStreamFailure(answer, readStream(answer.bytes), /finish in time/, 504);
    });
    const slow = await whole({ headers: json, body: ' '.repeat(500), ...dribble }, 'quick_total');
    expectRefusal(slow, { status: 504, message: /finish in time/, attempt: 'provider_error' });
  });

  it('has its full time, and no more, if the wall clock is set meanwhile', async () => {
    const day = 86_400_000;
    const { now } = Date;
    let offMs = 0;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now.call(Date) + offMs);
    const stepping = async (ms: number, answering: Promise<Answer>): Promise<Answer> => {
      offMs = 0;
      await sleep(150);
      offMs = ms;
      return answering;
    };
    try {
      const dribble = { headers: json, cuts: { kind: 'bytes' }, pauseMs: 5 } as const;
      const good = await stepping(day, whole({ ...dribble, body: completion() }));
      expect(good.status).toBe(200);
      const endless = { ...dribble, pauseMs: 20, body: ' '.repeat(500) };
      const slow = await stepping(-day, whole(endless, 'quick_total'));
      expectRefusal(slow, { status: 504, message: /finish in time/, attempt: 'provider_error' });
    } finally {
      clock.mockRestore();
    }
  });

  it('that does not accept a connection causes a 504', async () => {
    const expected = { status: 504, message: /accept a connection/, upstreamStatus: null };
    expectRefusal(await whole({ body: '' }, 'deaf'), { ...expected, attempt: 'provider_error' });
    expectRefusal(await streamed({ body: '' }, 'deaf'), { ...expected, attempt: 'stream_start_error' });
  });

  it('that accepts no connection causes a 504 for many requests in parallel, not one after the other', async () => {
    const { value: answers, ms } = await timed(() =>
      Promise.all(Array.from({ length: 24 }, () => whole({ body: '' }, 'deaf'))),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 504));
    // One after the other they would take 7200 ms at least; undici's timers are exact to half a second.
    expect(ms).toBeLessThan(6000);
  });
});

describe('an upstream whose connection fails', () => {
  const transport = { status: 502, message: /connection to the upstream/ };

  it('because it is refused causes a 502, and only the records name the cause', async () => {
    const expected = { ...transport, upstreamStatus: null };
    const { after, ...refused } = await whole({ body: '' }, 'refused');
    expectRefusal({ after, ...refused }, { ...expected, attempt: 'provider_error' });
    expect(after.attempts).toMatchObject([{ error_detail: expect.stringMatching(/ \(ECONNREFUSED\)$/) }]);
    expect(after.outcomes).toMatchObject([{ upstream_fault: 'ECONNREFUSED' }]);
    expect(refused.bytes.toString()).not.toContain('ECONNREFUSED');
    expectRefusal(await streamed({ body: '' }, 'refused'), { ...expected, attempt: 'stream_start_error' });
  });

  it.each(['break', 'reset'] as const)('(%s) before the head causes a 502', async (kind) => {
    const replay: Replay = { raw: true, body: '', ending: { kind } };
    expectRefusal(await whole(replay), { ...transport, attempt: 'provider_error' });
    expectRefusal(await streamed(replay), { ...transport, attempt: 'stream_start_error' });
  });

  it.each(['break', 'reset'] as const)('(%s) in a non-streamed response causes a 502', async (kind) => {
    const answer = await whole({ headers: json, body: completion(), ending: { kind, after: 50 } });
    expectRefusal(answer, { ...transport, attempt: 'provider_error' });
  });

  it.each(['break', 'reset'] as const)('(%s) inside a chunk causes an error chunk', async (kind) => {
    const answer = await streamed({
      headers: sse,
      body: hello + stop,
      ending: { kind, after: hello.length + 9 },
    });
    const received = readStream(answer.bytes);
    expect(received.choices['0']?.text).toBe('Hello');
    expectStreamFailure(answer, received, /connection to the upstream/);
  });

  it.each(['break', 'reset'] as const)(
    '(%s) after the finish reason counts as a success with the usage seen so far',
    async (kind) => {
      const body = hello + stop + usageChunk(usage);
      const answer = await streamed({ headers: sse, body: `${body}data: {"cut`, ending: { kind } });
      expectStreamSuccess(answer, readStream(answer.bytes), usage);
    },
  );

  it.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['an invalid status line', 'HTTP/1.1 okay then\r\n\r\n'],
    [
      'a chunk size that is invalid',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n',
    ],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    ['fewer bytes than its length', 'HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{}'],
    ['an endless head', `HTTP/1.1 200 OK\r\n${`x-h: ${'x'.repeat(1000)}\r\n`.repeat(200)}\r\n{}`],
  ])('because it sends %s causes a 502', async (_name, body) => {
    expectRefusal(await whole({ raw: true, body }), { ...transport, attempt: 'provider_error' });
    expectRefusal(await streamed({ raw: true, body }), { ...transport, attempt: 'stream_start_error' });
  });
});

describe('an upstream that becomes silent after its finish reason', () => {
  it('is waited for ten seconds, then the response completes with the usage seen so far', async () => {
    const { value: answer, ms, allMs } = await hanging;
    expectStreamSuccess(answer, readStream(answer.bytes), usage);
    expect(allMs).toBeGreaterThan(9_900);
    expect(ms).toBeLessThan(15_000);
  });

  it('is waited for without that limit while another choice is incomplete', async () => {
    for (const answering of twoChoices) {
      const answer = await answering;
      const received = readStream(answer.bytes);
      expectStreamSuccess(answer, received, usage);
      expect(received.choices['1']).toMatchObject({ text: 'HelloHello', finishReason: 'stop' });
    }
  });

  it('is cut off by the maximum total time, if that ends before', async () => {
    const body = hello + stop + usageChunk(usage);
    await undisturbed(300, async () => {
      const answer = await streamed({ headers: sse, body, ending: { kind: 'hang' } }, 'quick_total');
      expectStreamSuccess(answer, readStream(answer.bytes), usage);
    });
  });
});
