import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import {
  expectErrorEvent,
  expectFailedStream,
  expectRefusal,
  expectStreamFailure,
  expectStreamSuccess,
} from '../recordings/expectations.ts';
import { readResponses } from '../recordings/received-responses.ts';
import type { Answer } from '../recordings/rehearsal.ts';
import type { Replay } from '../support/replay-upstream.ts';
import { timed } from '../support/undisturbed.ts';
import {
  upstreamToken,
  keys,
  json,
  sse,
  usage,
  tokens,
  responseOf,
  event,
  created,
  delta,
  completed,
  incomplete,
  quota,
  errorEvent,
  failedEvent,
  done,
  passed,
  responsesScene,
} from './responses-scene.ts';
import { eventually, whenOver } from './traces.ts';

const { open, traceOf, query, upstream, gateway, whole, streamed } = responsesScene();

describe('a stream that succeeds', () => {
  const refusal =
    event('response.refusal.delta', { delta: 'I cannot' }) +
    event('response.refusal.done', { refusal: 'I cannot.' });
  const unnamed = (block: string): string => block.replace(/^event: .*\n/gm, '');
  const dataFirst = (block: string): string => block.replaceAll(/^(event: .*)\n(data: .*)\n/gm, '$2\n$1\n');
  const cost = event('vendor.cost', { usd: 0.1 });

  it.each<[string, string, string]>([
    ['response.completed', created + delta + completed, ''],
    ['response.incomplete', created + delta + incomplete, ''],
    ['a refusal', created + refusal + completed, ''],
    ['a queued response', event('response.queued') + created + completed, ''],
    ['no event names', unnamed(created + delta + completed), ''],
    ['event names after the data', dataFirst(created + delta + completed), ''],
    ['CRLF', (created + delta + completed).replaceAll('\n', '\r\n'), ''],
    ['no sequence numbers', event('response.created') + completed, ''],
    [
      'a status that is unknown',
      created + event('response.completed', { response: responseOf('complete', { usage }) }),
      '',
    ],
    [
      'a hosted tool that failed',
      created + event('response.mcp_call.failed', { item_id: 'mcp_1', error: quota }) + completed,
      '',
    ],
    ['events of unknown types', created + event('vendor.news', { n: 1 }) + completed, ''],
    ['events after the terminal event', created + completed + delta + cost, ''],
    ['two responses in one stream', created + completed + created + delta + completed, ''],
    ['the upstream’s own [DONE]', created + completed, done],
    ['[DONE] twice', created + completed, done + done],
    ['[DONE] with an event name', created + completed, `event: done\n${done}`],
    ['events after [DONE]', created + completed, done + created + errorEvent],
    ['an incomplete last event', created + completed, errorEvent.slice(0, -1)],
    ['comments after the terminal event', created + completed, ': bye\n\n'],
  ])('has its events unchanged, and one [DONE]: %s', async (_, events, rest) => {
    const answer = await streamed(events + rest, {}, { cuts: { kind: 'random', seed: events.length } });
    expect(passed(answer)).toBe(events + done);
    expectStreamSuccess(answer, readResponses(answer.bytes), tokens);
    expect(answer.after.logs).toMatchObject([{ metadata_json: { operation: 'responses', stream: true } }]);
  });

  it('has no comments before or between its events', async () => {
    const answer = await streamed(`: hello\n\n${created}: \n\n: \n\n${completed}`);
    expect(passed(answer)).toBe(created + completed + done);
  });

  it('has the tool calls of its items counted once each', async () => {
    const item = (index: number, type: string): string =>
      ['added', 'done']
        .map((word) =>
          event(`response.output_item.${word}`, { output_index: index, item: { type, id: `i_${index}` } }),
        )
        .join('');
    const items = ['reasoning', 'function_call', 'web_search_call', 'message'].map((type, index) =>
      item(index, type),
    );
    const answer = await streamed(created + items.join('') + completed, {
      more: '"tools":[{"type":"namespace","tools":[{},{}]},{"type":"web_search"}]',
    });
    expect(answer.after.logs).toMatchObject([{ exposed_tool_count: 2, invoked_tool_count: 2 }]);
  });

  it.each<[string, string]>([
    [
      'of null',
      created + event('response.completed', { response: responseOf('completed', { usage: null }) }),
    ],
    ['that is missing', created + event('response.completed', { response: responseOf('completed') })],
    ['outside of the response', created + event('response.completed', { response: {}, usage })],
  ])('with usage %s is recorded as usage_missing', async (_, body) => {
    const answer = await streamed(body);
    expectStreamSuccess(answer, readResponses(answer.bytes), undefined);
  });

  it.each([
    ['a terminal event', created + completed, created + completed + done],
    ['a terminal event and one more', created + completed + cost, created + completed + cost + done],
    ['an error event', created + errorEvent, created + errorEvent],
  ])(
    'ends about one second after %s although the upstream holds its connection open',
    async (_, body, out) => {
      const { value, ms, allMs } = await timed(() => streamed(body, {}, { ending: { kind: 'hang' } }));
      expect(passed(value)).toBe(out);
      expect(allMs).toBeGreaterThan(800);
      expect(ms).toBeLessThan(3000);
    },
  );

  it('is cut off if the upstream sends too much after the terminal event', async () => {
    const aborted = upstream().aborted();
    const news = event('vendor.news', { text: 'x'.repeat(100_000) });
    const answer = await streamed(
      created + completed + news.repeat(100),
      {},
      { cuts: { kind: 'random', seed: 1 } },
    );
    const received = readResponses(answer.bytes);
    expectStreamSuccess(answer, received, tokens);
    expect(passed(answer).startsWith(created + completed + news)).toBe(true);
    expect(answer.bytes.length).toBeLessThan(3_000_000);
    expect(upstream().aborted()).toBe(aborted + 1);
  });
});

describe('a stream that fails', () => {
  const of = (type: string, status: string): string =>
    event(type, { response: responseOf(status, { usage }) });
  const contradicts = /contradicts itself/;
  const premature = /before the answer was complete/;

  it.each<[string, string, string, RegExp]>([
    ['EOF before the terminal event', created + delta, '', premature],
    ['an empty stream', '', '', premature],
    ['[DONE] before the terminal event', created, done + completed, premature],
    ['only [DONE]', '', done, premature],
    ['completed with the status incomplete', created, of('response.completed', 'incomplete'), contradicts],
    ['completed with the status failed', created, of('response.completed', 'failed') + done, contradicts],
    ['completed with the status cancelled', created, of('response.completed', 'cancelled'), contradicts],
    ['incomplete with the status completed', created, of('response.incomplete', 'completed'), contradicts],
    [
      'failed with the status completed',
      created,
      of('response.failed', 'completed') + completed,
      contradicts,
    ],
    ['in progress with the status failed', created, of('response.in_progress', 'failed'), contradicts],
    [
      'an event name that is not the type',
      created,
      completed.replace('event: response.completed', 'event: response.created'),
      contradicts,
    ],
    ['a terminal event without a response', created, event('response.completed') + done, contradicts],
    [
      'a terminal event with an error inside',
      created,
      event('response.completed', { response: responseOf('completed', { error: quota }) }),
      contradicts,
    ],
    [
      'chat chunks',
      '',
      'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{}}]}\n\n' + done,
      /chat stream/,
    ],
    [
      'chat chunks without an object',
      created,
      'data: {"id":"c","choices":[{"index":0,"finish_reason":"stop"}]}\n\n',
      /chat stream/,
    ],
    ['an event that is not JSON', created, 'data: {"type":\n\n' + completed, /malformed/],
    [
      'an error that is not an event',
      created,
      'data: {"error":{"message":"Overloaded.","code":529}}\n\n' + done,
      /^Overloaded\.$/,
    ],
    [
      'an event named error, of another type',
      created,
      'event: error\ndata: {"type":"x","message":"Gone."}\n\n',
      /^Gone\.$/,
    ],
    [
      'a malformed event after the terminal event',
      created,
      completed + 'data: {"type":\n\n' + done,
      /malformed/,
    ],
    [
      'an error that is not an event after the terminal event',
      created,
      completed + 'data: {"error":"Overloaded."}\n\n',
      /^Overloaded\.$/,
    ],
  ])('ends with one error event of the gateway and no [DONE]: %s', async (_, events, rest, message) => {
    const answer = await streamed(events + rest, {}, { cuts: { kind: 'random', seed: rest.length } });
    const received = readResponses(answer.bytes);
    expect(passed(answer).startsWith(events)).toBe(true);
    expect(received.events).toHaveLength(readResponses(Buffer.from(events)).events.length + 1);
    expectStreamFailure(answer, received, message, 502, expectErrorEvent);
    expect(received.events.at(-1)?.name).toBe('error');
  });

  it('has the next sequence number on its error event', async () => {
    const received = readResponses((await streamed(created + delta)).bytes);
    expect(received.errors).toMatchObject([{ sequence_number: 2 }]);
  });

  it('has its usage on the log row, and no ledger row', async () => {
    const { after } = await streamed(created + of('response.completed', 'failed'));
    expect(after.logs).toMatchObject([
      { prompt_tokens: '5', metadata_json: { accounting: { unbilled_cost_usd: '0.00000495' } } },
    ]);
    expect(after.ledger).toEqual([]);
  });
});

describe('the upstream’s own failure', () => {
  const cancelled = event('response.cancelled', { response: responseOf('cancelled') });

  it.each<[string, string]>([
    ['error, then response.failed', errorEvent + failedEvent],
    ['response.failed, then error', failedEvent + errorEvent],
    ['response.failed without an error before it', failedEvent],
    [
      'response.failed with its error beside the response',
      event('response.failed', { response: responseOf('failed', { error: null }), error: quota }),
    ],
    ['only an error', errorEvent],
    ['response.cancelled', cancelled],
    ['an unnamed error', errorEvent.replace('event: error\n', '')],
    ['an error with only a name', 'event: error\ndata: {"message":"m"}\n\n'],
    ['an error in an envelope', 'event: error\ndata: {"error":{"message":"m","code":500}}\n\n'],
    ['an empty error', 'event: error\ndata: {}\n\n'],
    [
      'an error with unusual members',
      'event: error\ndata: {"type":"error","code":7,"message":null,"x":[1.50]}\n\n',
    ],
    ['CRLF', (errorEvent + failedEvent).replaceAll('\n', '\r\n')],
  ])('is forwarded unchanged as a failure, and the gateway adds no error: %s', async (_, failure) => {
    for (const rest of ['', done, completed]) {
      const answer = await streamed(created + delta + failure + rest);
      expect(passed(answer)).toBe(created + delta + failure);
      expectFailedStream(answer);
    }
  });

  it('is forwarded after a terminal event, and the terminal event is not', async () => {
    const answer = await streamed(created + completed + errorEvent + done);
    expect(passed(answer)).toBe(created + errorEvent);
    expectFailedStream(answer);
  });

  const said = `Key ${upstreamToken} may not read https://me:pw@files.example.com/a.png?sig=abc now`;
  const shown = 'Key [REDACTED] may not read https://files.example.com/a.png?[REDACTED] now';

  it.each<[string, string]>([
    ['in an error event', `{"type":"error","n":9007199254740993,"message":"${said}","m":1.50}`],
    ['in an error envelope', `{"type":"error","error":{"message":"${said}","n":1.0}}`],
    ['in an error that is a string', `{"type":"error","error":"${said}"}`],
    [
      'in a failed response',
      `{"type":"response.failed","response":{"status":"failed","error":{"message":"${said}"},"n":1.0}}`,
    ],
    ['in its code', `{"type":"error","message":"m","code":"${said}"}`],
    ['in a quoted error', `{"type":"error","message":"m","error":{"metadata":{"raw":"${said}"}}}`],
  ])(
    'has its secrets removed for the client and in the rows, and no other change: %s',
    async (_, payload) => {
      const { type } = JSON.parse(payload) as { type: string };
      const answer = await streamed(`${created}event: ${type}\ndata: ${payload}\n\n`);
      expect(passed(answer)).toBe(`${created}event: ${type}\ndata: ${payload.replace(said, shown)}\n\n`);
      expectFailedStream(answer);
      const kept = JSON.stringify(answer.after);
      for (const secret of [upstreamToken, 'sig=abc', 'me:pw']) expect(kept).not.toContain(secret);
    },
  );

  it.each([
    ['with a name and no type', 'event: error\ndata: {"message":"WORDS"}\n\n'],
    ['without a name', 'data: {"type":"error","message":"WORDS"}\n\n'],
    ['after a terminal', 'event: error\ndata: {"error":"WORDS","x":1.50}\n\n'],
  ])('keeps its event name, or has none, if its message is redacted: %s', async (title, block) => {
    const before = title === 'after a terminal' ? created + completed : created;
    const answer = await streamed(before + block.replace('WORDS', said));
    expect(passed(answer)).toBe(created + block.replace('WORDS', shown));
    expectFailedStream(answer);
  });

  it('has its usage on the log row, and no ledger row', async () => {
    const { after } = await streamed(event('response.failed', { response: responseOf('failed', { usage }) }));
    expect(after.logs).toMatchObject([
      { total_tokens: '12', metadata_json: { accounting: { unbilled_cost_usd: '0.00000495' } } },
    ]);
    expect(after.ledger).toEqual([]);
  });

  it('has its secrets redacted in an error that the gateway sends in its place', async () => {
    const answer = await streamed(`${created}data: {"error":{"message":"${said}"}}\n\n`);
    expectStreamFailure(answer, readResponses(answer.bytes), shown, 502, expectErrorEvent);
  });

  it('has no code if that is a secret of the configuration or the client’s own key', async () => {
    for (const code of [upstreamToken, keys.filled]) {
      const by = { key: keys.filled };
      const answer = await streamed(`${created}data: {"error":{"message":"m","code":"${code}"}}\n\n`, by);
      expectStreamFailure(answer, readResponses(answer.bytes), 'm', 502, expectErrorEvent);
      const body = JSON.stringify({ error: { message: 'm', code, param: `p.${code}` } });
      const refused = await whole({ status: 400, headers: json, body }, by);
      expectRefusal(refused, { status: 400, message: 'm', attempt: 'provider_error' });
      expect(JSON.stringify([answer.after, refused.after])).not.toContain(code);
    }
  });
});

describe('the terminal event and [DONE]', () => {
  it.each([
    ['the terminal event last', ''],
    ['another event after it', delta],
    ['a second response after it', created + completed],
  ])('are held back until the ledger row is committed: %s', async (_, rest) => {
    await query('begin');
    // Allows readers, but no new ledger row.
    await query('lock table usage_cost_events in share mode');
    const { requestId, response } = await open(
      { headers: sse, body: created + delta + completed + rest },
      { model: 'up', stream: true, family: 'responses' },
    );
    let text = '';
    const reading = (async () => {
      for await (const piece of response.body ?? [])
        text += Buffer.from(piece as Uint8Array).toString('latin1');
    })();
    const latin1 = (utf8: string): string => Buffer.from(utf8).toString('latin1');
    try {
      await eventually(() => text.length >= latin1(created + delta).length || undefined);
      await sleep(250);
      expect(text).toBe(latin1(created + delta));
    } finally {
      await query('commit');
    }
    await reading;
    expect(text).toBe(latin1(created + delta + completed + rest + done));
    expect((await traceOf(requestId)).after.ledger).toHaveLength(1);
  });
});

describe('a client disconnect', () => {
  /** Reads until this text has arrived, and disconnects. */
  const leftAfter = async (text: string, replay: Replay): Promise<Answer['after']> => {
    const { requestId, response } = await open(replay, { model: 'up', stream: true, family: 'responses' });
    let seen = '';
    for await (const piece of response.body ?? []) {
      seen += Buffer.from(piece as Uint8Array).toString();
      if (seen.includes(text)) break;
    }
    await whenOver(gateway(), requestId);
    return (await traceOf(requestId)).after;
  };

  it('at the terminal event is one success', async () => {
    const after = await leftAfter('response.completed', { headers: sse, body: created + delta + completed });
    expect(after.outcomes).toMatchObject([{ outcome: 'success', status: 200 }]);
    expect(after.logs).toMatchObject([{ status_code: 200 }]);
    expect(after.ledger).toMatchObject([{ pricing_status: 'priced', total_tokens: '12' }]);
  });

  it('in the middle of a stream is logged with 499 and `usage_missing`', async () => {
    const after = await leftAfter('response.output_text.delta', {
      headers: sse,
      body: created + delta,
      ending: { kind: 'hang' },
    });
    expect(after.outcomes).toMatchObject([{ outcome: 'client_closed', status: 499 }]);
    expect(after.ledger).toMatchObject([{ pricing_status: 'usage_missing' }]);
  });

  it('at the upstream’s own failure is an upstream error', async () => {
    const after = await leftAfter('insufficient_quota', {
      headers: sse,
      body: created + errorEvent,
      ending: { kind: 'hang' },
    });
    expect(after.outcomes).toMatchObject([{ outcome: 'upstream_error', status: 502 }]);
    expect(after.ledger).toEqual([]);
  });
});
