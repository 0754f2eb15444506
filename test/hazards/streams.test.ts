import { describe, expect, it } from '@jest/globals';
import {
  expectCompleteStream,
  expectFailedStream,
  expectRefused,
  payloadsOf,
  priced,
  scene,
  streamed,
  textOf,
  usageMissing,
  whole,
} from '../e2e/scene.ts';
import { chat, messages, responses, type Talk, talks, wholeStream } from '../e2e/talk.ts';
import { basicConfig } from '../support/gateway.ts';
import { timed } from '../support/undisturbed.ts';

const { ask, open, upstream } = scene((url, key) =>
  basicConfig(url, key, { more: { server: { bind: '127.0.0.1:0', stream_keepalive_secs: 1 } } }),
);

/** Rows for `it.each`. */
const every = (family: readonly Talk[] = talks) => family.map((talk) => [talk.operation, talk] as const);
const spokenAsChat = [chat, messages];

const begun = ({ upstream: { begin, piece } }: Talk): string => begin + piece;

/** An answer, or a chunk of one, with an error in its choice. */
const failedChoice = {
  choices: [
    {
      index: 0,
      message: { content: 'Half an ans' },
      delta: {},
      finish_reason: 'error',
      error: { code: 502, message: 'Provider disconnected' },
    },
  ],
};

/** A stream with the given text. */
const saying = (talk: Talk, text: string): string =>
  wholeStream(talk).replace('"piece"', JSON.stringify(text));

describe('faults of other gateways that this gateway does not have', () => {
  describe('hazard 36: upstream dies, client gets an empty chunk and a clean `[DONE]`; here the stream ends with an error', () => {
    it.each(every())('%s', async (_, talk) => {
      for (const kind of ['break', 'reset'] as const) {
        const answer = await ask(talk, streamed(begun(talk), { ending: { kind } }));
        expect(textOf(talk, answer)).toBe('piece');
        expectFailedStream(talk, answer);
      }
    });
  });

  describe('hazard 37: an upstream that finishes, but closes without a marker, is rejected; here the stream is complete', () => {
    it.each(every())('%s', async (_, talk) => {
      const { finish, usage } = talk.upstream;
      const marked = await ask(talk, streamed(begun(talk) + finish + usage));
      expectCompleteStream(talk, marked, priced);
      // A connection reset after the end of the answer is treated like a close.
      const reset = await ask(talk, streamed(begun(talk) + finish + usage, { ending: { kind: 'reset' } }));
      expectCompleteStream(talk, reset, priced);
    });

    it.each(every(spokenAsChat))('also without usage, or with only `[DONE]`: %s', async (_, talk) => {
      const { finish, done } = talk.upstream;
      expectCompleteStream(talk, await ask(talk, streamed(begun(talk) + finish)), usageMissing);
      expectCompleteStream(talk, await ask(talk, streamed(begun(talk) + done)), usageMissing);
    });
  });

  describe('hazard 38: failure after 200 becomes a well-formed empty message; agents return "" silently; no spend row; here it is an error', () => {
    it.each([
      ['an empty body', ''],
      ['an error first', chat.upstream.error],
      ['an error after the role', chat.upstream.begin + chat.upstream.error],
      ['malformed data first', 'data: {"id":\n\n'],
      ['the end after the role', chat.upstream.begin],
      ['a choice with an error', `${begun(chat)}data: ${JSON.stringify(failedChoice)}\n\n`],
      ['the finish reason `error`', chat.upstream.begin + chat.upstream.finish.replace('"stop"', '"error"')],
    ])('streamed: %s', async (_, body) => {
      expectFailedStream(messages, await ask(messages, streamed(body)));
    });

    it.each([
      ['an error', { error: { message: 'No.' } }],
      ['an empty object', {}],
      ['error, no choices', { id: 'c1', object: 'chat.completion', error: { message: 'No.' }, choices: [] }],
      ['no choices and no error', { id: 'c1', object: 'chat.completion', choices: [] }],
      ['a choice with an error', failedChoice],
    ])('non-streamed with status 200: %s', async (_, body) => {
      const answer = await ask(messages, whole(body), { stream: false });
      expectRefused(messages, answer, 502, 'provider_error');
    });

    it('usage seen before the failure, and its cost, are on the log row', async () => {
      const { usage, error } = chat.upstream;
      const answer = await ask(messages, streamed(begun(chat) + usage + error));
      expectFailedStream(messages, answer);
      expect(answer.after.logs[0]).toMatchObject({
        prompt_tokens: '10',
        completion_tokens: '20',
        metadata_json: { accounting: { unbilled_cost_usd: '0.0000135' } },
      });
    });
  });

  describe('hazard 39: the upstream rejects the request at once, and the client waits for ever; here it gets the error', () => {
    it.each(every())('%s', async (_, talk) => {
      const refusal = whole({ error: { message: 'No such thing.' } }, { status: 400 });
      const { value: answer, ms } = await timed(() => ask(talk, refusal));
      expectRefused(talk, answer, 400, 'stream_start_error');
      expect(answer.text).toContain('No such thing.');
      expect(ms).toBeLessThan(2_000);
    });
  });

  describe('hazard 40: max_tokens truncation loses the end of the stream, or is reported as completed', () => {
    const cutOff = chat.upstream.finish.replace('"stop"', '"length"');

    it('chat_completions: the finish reason `length` is forwarded, and the stream is complete', async () => {
      const { usage, done } = chat.upstream;
      const answer = await ask(chat, streamed(begun(chat) + cutOff + usage + done));
      expect(answer.text).toContain('"finish_reason":"length"');
      expectCompleteStream(chat, answer, priced);
    });

    it('messages: `message_delta` has `max_tokens`, and `message_stop` follows', async () => {
      const { usage, done } = chat.upstream;
      const answer = await ask(messages, streamed(begun(chat) + cutOff + usage + done));
      expectCompleteStream(messages, answer, priced);
      expect(payloadsOf(answer).at(-2)).toMatchObject({
        type: 'message_delta',
        delta: { stop_reason: 'max_tokens' },
        usage: { output_tokens: 20 },
      });
    });

    it('responses: `response.incomplete` is forwarded as an end, with a priced ledger row', async () => {
      const incomplete = responses.upstream.usage
        .replaceAll('response.completed', 'response.incomplete')
        .replace('"status":"completed"', '"status":"incomplete"');
      const answer = await ask(responses, streamed(begun(responses) + incomplete));
      expect(answer.text).toBe(`${begun(responses)}${incomplete}data: [DONE]\n\n`);
      expect(answer.after.ledger).toEqual([expect.objectContaining(priced)]);
    });
  });

  describe('hazard 41: the error frame after response.failed is dropped', () => {
    const failed = responses.upstream.usage
      .replaceAll('response.completed', 'response.failed')
      .replace('"status":"completed"', '"status":"failed"')
      .replace('"error":null', '"error":{"code":"server_error","message":"fell over"}');
    const { error } = responses.upstream;

    it.each([
      ['response.failed, then error', failed + error],
      ['error, then response.failed', error + failed],
    ])('%s: both are forwarded unchanged, and logged as one failure', async (_, failure) => {
      const answer = await ask(responses, streamed(begun(responses) + failure));
      expect(answer.text).toBe(begun(responses) + failure);
      expect(answer.after.logs).toEqual([expect.objectContaining({ error_code: 'upstream_error' })]);
      expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'upstream_error' })]);
      expect(answer.after.ledger).toEqual([]);
    });
  });

  describe('hazard 42: mid-stream failure ends in bare `[DONE]` or silent close; here it ends with one error', () => {
    it.each(every())('%s', async (_, talk) => {
      const { error } = talk.upstream;
      for (const after of ['', 'data: [DONE]\n\n']) {
        const answer = await ask(talk, streamed(begun(talk) + error + after));
        expectFailedStream(talk, answer, { told: talk === responses });
        expect(answer.text).toContain('fell over');
      }
      const silent = await ask(talk, streamed(begun(talk)));
      expectFailedStream(talk, silent);
    });
  });

  describe('hazard 43: a comment, a chunk with empty choices, `[DONE]` or an `event: error` line breaks the parser', () => {
    const odd = (talk: Talk): string => {
      const chunks = [
        '"choices":[]',
        '"choices":[],"id":"","model":"","prompt_filter_results":[]',
        '"id":"x"',
      ];
      const frames = talk === responses ? '' : chunks.map((each) => `data: {${each}}\n\n`).join('');
      return `: ping\n\n:\n\n: OPENROUTER PROCESSING\n\nretry: 5\n\nid: 7\n\n\n\n${frames}`;
    };

    it.each(every())('comments, empty choices and a second `[DONE]` are ignored: %s', async (_, talk) => {
      const { begin, piece, finish, usage, done } = talk.upstream;
      const body = [begin, piece, finish, usage, done].map((each) => odd(talk) + each).join('');
      const answer = await ask(talk, streamed(`${body}${odd(talk)}data: [DONE]\n\n`));
      expect(textOf(talk, answer)).toBe('piece');
      expectCompleteStream(talk, answer, priced);
    });

    it.each(every())('an event named `error` is a failure: %s', async (_, talk) => {
      const error = 'event: error\ndata: {"error":{"message":"fell over"}}\n\n';
      const answer = await ask(talk, streamed(begun(talk) + error));
      expectFailedStream(talk, answer, { told: talk === responses });
      expect(answer.text).toContain('fell over');
    });
  });

  describe('hazard 45: an undecodable frame stalls the stream for ever; a truncated last frame is accepted as a normal end', () => {
    it.each(every())(
      'undecodable frame: the stream ends with an error at once, and the upstream is aborted: %s',
      async (_, talk) => {
        const aborted = upstream().aborted();
        const body = `${begun(talk)}data: {"undecodable\n\n`;
        const { value, ms } = await timed(() => ask(talk, streamed(body, { ending: { kind: 'hang' } })));
        expectFailedStream(talk, value);
        expect(ms).toBeLessThan(2_000);
        expect(upstream().aborted()).toBe(aborted + 1);
      },
    );

    it.each(every())('truncated last frame: an error, and no complete stream: %s', async (_, talk) => {
      const last = talk === responses ? talk.upstream.usage : talk.upstream.finish;
      for (const cut of [1, 20, last.length - 1]) {
        const answer = await ask(talk, streamed(begun(talk) + last.slice(0, cut)));
        expectFailedStream(talk, answer);
      }
    });
  });

  describe('hazard 46: UTF-8 character split between chunks becomes U+FFFD or aborts the stream; here it is intact', () => {
    const text = 'Grüße, 日本語, 👩‍👩‍👧 and \u0000-free';

    it.each(every())('%s', async (_, talk) => {
      const answer = await ask(talk, streamed(saying(talk, text), { cuts: { kind: 'bytes' } }));
      expect(textOf(talk, answer)).toBe(text);
      expect(answer.text).not.toContain('\uFFFD');
      expectCompleteStream(talk, answer, priced);
    });
  });

  describe('hazard 47: streams are silently buffered, or refused with response_payload_too_large', () => {
    it.each(every())('the first events are forwarded before the stream ends: %s', async (_, talk) => {
      const { response } = await open(talk, streamed(begun(talk), { ending: { kind: 'hang' } }));
      let text = '';
      for await (const bytes of response.body!) {
        text += Buffer.from(bytes).toString();
        if (text.includes('piece')) break;
      }
      expect(text).toContain('piece');
    });

    it.each(every())('a stream of 66 MiB is forwarded to its end: %s', async (_, talk) => {
      const { begin, piece, finish, usage, done } = talk.upstream;
      const mebibyte = piece.replace('piece', 'x'.repeat(1024 * 1024));
      const body = Buffer.concat([
        Buffer.from(begin),
        ...Array.from({ length: 66 }, () => Buffer.from(mebibyte)),
        Buffer.from(finish + usage + done),
      ]);
      const { response } = await open(talk, { headers: { 'content-type': 'text/event-stream' }, body });
      let size = 0;
      let tail = '';
      for await (const bytes of response.body!) {
        size += bytes.length;
        tail = (tail + Buffer.from(bytes).toString('latin1')).slice(-1000);
      }
      expect(size).toBeGreaterThan(66 * 1024 * 1024);
      expect(tail).toContain(talk.end.stream);
    });
  });

  describe('hazard 48: OpenAI `[DONE]` is sent inside a messages stream', () => {
    it.each([
      ['that is complete', wholeStream(chat)],
      ['that is complete, with a second `[DONE]`', `${wholeStream(chat)}data: [DONE]\n\n`],
      ['without an end', begun(chat)],
      ['that fails, with a `[DONE]`', `${begun(chat)}${chat.upstream.error}data: [DONE]\n\n`],
    ])('a stream %s has no `[DONE]`, and ends with `message_stop` or `error`', async (_, body) => {
      const answer = await ask(messages, streamed(body));
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain('DONE');
      expect(['message_stop', 'error']).toContain(answer.events.at(-1)?.event);
    });
  });

  describe('hazard 49: idle proxies cut silent reasoning streams', () => {
    it('a stream receives a keep-alive for each server.stream_keepalive_secs of every silence, and completes', async () => {
      await Promise.all(
        talks.map(async (talk) => {
          const offsets = [talk.upstream.begin.length, begun(talk).length];
          // Two keep-alives are due within 2.5 seconds, since the gateway looks four times a second.
          const silences = { cuts: { kind: 'at', offsets }, pauseMs: 3_200 } as const;
          const { response } = await open(talk, streamed(wholeStream(talk), silences));
          const sign = talk === messages ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': keep-alive\n\n';
          const [first = '', second = '', ...more] = (await response.text()).split('piece');
          expect(first.split(sign).length - 1).toBeGreaterThanOrEqual(2);
          expect(second.split(sign).length - 1).toBeGreaterThanOrEqual(2);
          expect(second + more.join('')).toContain(talk.end.stream);
        }),
      );
    });
  });
});
