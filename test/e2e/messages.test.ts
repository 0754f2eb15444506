import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { grammarFault } from '../support/messages-grammar.ts';
import { keys, unanswered, ownId, usage, messagesScene } from './messages-scene.ts';
import {
  type Answer,
  type Asked,
  eventsIn,
  expectCompleteStream,
  json,
  type Loose,
  expectSold,
  payloadsOf,
  priced,
  streamed,
  textOf,
  usageMissing,
  whole,
} from './scene.ts';
import { chat, messages, wholeStream } from './talk.ts';
import { eventually } from './traces.ts';

const { ask, gateway, databaseUrl, query, simulated, simulation } = messagesScene();

describe.each(['/v1/messages', '/messages'])('POST %s', (path) => {
  it('returns a messages-style response', async () => {
    const answer = await ask(messages, whole(chat.upstream.whole), { stream: false, path });
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(json(answer.text)).toEqual({
      id: expect.stringMatching(ownId),
      type: 'message',
      role: 'assistant',
      model: 'fast',
      content: [{ type: 'text', text: 'all' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: expect.objectContaining(usage(10, 20)),
    });
    expectSold(answer, priced);
  });

  it('returns SSE for a streamed request', async () => {
    const answer = await ask(messages, streamed(wholeStream(chat)), { path });
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expectCompleteStream(messages, answer, priced);
    expect(answer.events.map(({ event }) => event)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(payloadsOf(answer).map(({ type }) => type)).toEqual(answer.events.map(({ event }) => event));
    expect(textOf(messages, answer)).toBe('piece');
    expect(payloadsOf(answer)[0]?.['message']).toMatchObject({
      id: expect.stringMatching(ownId),
      model: 'fast',
    });
    expect(payloadsOf(answer)[4]).toMatchObject({
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: usage(10, 20),
    });
  });
});

describe('a messages call', () => {
  it('returns its request id in both headers, also on errors', async () => {
    const answers = [
      await ask(messages, whole(chat.upstream.whole), { stream: false }),
      await ask(messages, streamed(wholeStream(chat))),
      await ask(messages, whole({ error: { message: 'No.' } }, { status: 500 })),
      await ask(messages, unanswered, { body: { model: 'nope' } }),
    ];
    for (const { headers, requestId } of answers) {
      expect(headers.get('x-request-id')).toBe(requestId);
      expect(headers.get('request-id')).toBe(requestId);
    }
  });

  it('is logged as a messages call, with its tools and its model', async () => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const answer = await simulation({ body: { model: 'tools', tools } });
    expect(answer.after.logs).toEqual([
      expect.objectContaining({
        metadata_json: expect.objectContaining({ operation: 'messages', stream: true }),
        model_key: 'tools',
        provider_key: 'sim',
        exposed_tool_count: 1,
        invoked_tool_count: 2,
        status_code: 200,
      }),
    ]);
    expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'success' })]);
  });

  it.each([
    ['nothing special', {}],
    ['an old version', { 'anthropic-version': '2023-06-01' }],
    ['a new version', { 'anthropic-version': '2026-10-21' }],
    ['a version that is none', { 'anthropic-version': 'tomorrow' }],
    ['flags that nobody knows', { 'anthropic-beta': 'a-2030-01-01,b,,', 'anthropic-version': '2023-06-01' }],
  ])('is accepted with %s, and with a query', async (_, headers) => {
    for (const query of ['', '?beta=true', '?beta=true&x=%zz']) {
      const answer = await ask(messages, streamed(wholeStream(chat)), {
        path: `/v1/messages${query}`,
        headers,
      });
      expectCompleteStream(messages, answer, priced);
    }
  });

  it('is authenticated by x-api-key or Authorization', async () => {
    for (const headers of [
      { 'x-api-key': keys.narrow },
      { authorization: `bearer ${keys.narrow}` },
      { authorization: 'Basic abc', 'x-api-key': keys.narrow },
    ]) {
      const asked = { key: undefined, headers: { ...headers }, body: { model: 'text' } };
      expect((await simulation(asked)).status).toBe(200);
    }
  });

  it.each([true, false])('completes a round of tool calls (stream: %p)', async (stream) => {
    const tools = [
      {
        name: 'weather',
        description: 'How it is',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
      {
        type: 'custom',
        name: 'time',
        input_schema: { type: 'object', properties: {} },
        cache_control: { type: 'ephemeral' },
      },
    ];
    const user = {
      role: 'user',
      content: [{ type: 'text', text: 'How is it?', cache_control: { type: 'ephemeral' } }],
    };
    const first = await simulation({ stream, body: { model: 'tools', tools, messages: [user] } });
    const content = stream ? blocksOf(first) : json(first.text).content;
    expect(content.map(({ type, name }: Loose) => [type, name])).toEqual([
      ['tool_use', 'weather'],
      ['tool_use', 'time'],
    ]);
    const stop = stream ? payloadsOf(first).at(-2)?.['delta'] : json(first.text);
    expect(stop).toMatchObject({ stop_reason: 'tool_use' });
    if (stream) expect(grammarFault(payloadsOf(first))).toBeUndefined();

    const results = content.map(({ id }: Loose) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: 'Fine.',
      is_error: false,
    }));
    const turn = [user, { role: 'assistant', content }, { role: 'user', content: results }];
    const second = await simulation({ stream, body: { model: 'tools', tools, messages: turn } });
    const text = stream ? textOf(messages, second) : json(second.text).content[0].text;
    expect(text).toContain('Fine.');
    if (stream) expectCompleteStream(messages, second);
    expect(second.after.logs).toEqual([expect.objectContaining({ invoked_tool_count: 0 })]);
  });

  it('returns reasoning as a thinking block before the text', async () => {
    const answer = await simulation({ body: { model: 'thinking' } });
    expect(blocksOf(answer).map(({ type }: Loose) => type)).toEqual(['thinking', 'text']);
    expectCompleteStream(messages, answer);
  });
});

/** The content blocks of a streamed message, assembled as clients do. */
function blocksOf(answer: Answer): Loose[] {
  const blocks: Loose[] = [];
  for (const { type, index, content_block, delta } of payloadsOf(answer) as readonly Loose[]) {
    if (type === 'content_block_start') blocks[index] = { ...content_block };
    if (type !== 'content_block_delta') continue;
    const block = blocks[index];
    if (delta.type === 'text_delta') block.text += delta.text;
    if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
    if (delta.type === 'input_json_delta') block.json = (block.json ?? '') + delta.partial_json;
  }
  return blocks.map(({ json: input, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(input || '{}') } : block,
  );
}

describe('the upstream body of a messages call', () => {
  const sent = async (asked: Asked): Promise<Loose> =>
    (await ask(messages, streamed(wholeStream(chat)), asked)).upstream?.body;

  it('is a chat body', async () => {
    const answer = await ask(messages, streamed(wholeStream(chat)), {
      body: {
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        stop_sequences: ['END'],
        temperature: 0.2,
        metadata: { user_id: '{}' },
        context_management: { edits: [] },
        thinking: { type: 'adaptive', display: 'omitted' },
        output_config: { effort: 'high' },
      },
    });
    expect(answer.upstream?.path).toBe('/v1/chat/completions');
    expect(answer.upstream?.body).toEqual({
      model: 'simulated-fast',
      stream: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      max_completion_tokens: 64,
      stop: ['END'],
      temperature: 0.2,
      reasoning_effort: 'high',
    });
  });

  it('has the compat shims, the router block, extra_body and extra_headers of its route', async () => {
    const asked = {
      body: { model: 'shimmed', temperature: 0.9, output_config: { effort: 'low' }, tools: [], top_p: 0.5 },
    };
    const answer = await ask(messages, streamed(wholeStream(chat)), asked);
    expect(answer.upstream?.body).toEqual({
      model: 'shimmed',
      stream: true,
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 64,
      temperature: 0.5,
      top_p: 0.5,
      reasoning: { effort: 'low' },
      stream_options: { include_usage: true },
      provider: { zdr: true, order: ['one', 'two'] },
      provider_options: { a: 1 },
    });
    expect(answer.upstream?.headers['x-route']).toBe('yes');
  });

  it('asks for usage only where the route supports it', async () => {
    expect(await sent({})).not.toHaveProperty('stream_options');
    const unasked = await ask(messages, streamed(wholeStream(chat).replace(chat.upstream.usage, '')));
    expectCompleteStream(messages, unasked, usageMissing);
    expect(payloadsOf(unasked).at(-2)).toMatchObject({ usage: usage(0, 0) });
  });

  it('keeps every digit of a tool input', async () => {
    const answer = await ask(messages, streamed(wholeStream(chat)), {
      body: {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: { n: 'DIGITS' } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'ok' }] },
        ],
      },
      spelled: (body) => body.replace('"DIGITS"', '[9007199254740993,0.10]'),
    });
    const [, assistant]: Loose = answer.upstream?.body['messages'] ?? [];
    expect(assistant.tool_calls[0].function.arguments).toBe('{"n":[9007199254740993,0.10]}');
  });
});

describe('a capability that no route has is refused, and the field that requires it is named', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
  it.each<[string, Asked, RegExp]>([
    ['no-stream', { stream: true }, /`stream`/],
    ['no-tools', { body: { tools: [{ name: 'f', input_schema: { type: 'object' } }] } }, /`tools`/],
    [
      'no-vision',
      { body: { messages: [{ role: 'user', content: [image] }] } },
      /`vision`.*`messages\[0\]\.content\[0\]`/,
    ],
    [
      'no-schema',
      { body: { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } } },
      /`json_schema`.* `output_config\.format`/,
    ],
    [
      'no-schema',
      { body: { output_format: { type: 'json_schema', schema: { type: 'object' } } } },
      /`json_schema`.* `output_format`/,
    ],
    ['no-chat', {}, /`chat_completions`/],
  ])('%s', async (model, asked, message) => {
    const answer = await ask(messages, unanswered, {
      stream: false,
      ...asked,
      body: { ...asked.body, model },
    });
    expect(answer.status).toBe(400);
    expect(json(answer.text)).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.stringMatching(message) },
    });
    expect(answer.upstream).toBeUndefined();
    expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'invalid_request' })]);
  });

  it('a request without that field is served by every route', async () => {
    for (const model of ['no-stream', 'no-tools', 'no-vision', 'no-schema']) {
      const asked = { stream: false, body: { model, tools: [] } };
      expect((await ask(messages, whole(chat.upstream.whole), asked)).status).toBe(200);
    }
  });
});

describe('billing of a messages call', () => {
  const dear = { prompt_tokens: 1_000_000, completion_tokens: 1_000_000, total_tokens: 2_000_000 };
  const using = (reported: object): string =>
    wholeStream(chat).replace(/"usage":\{[^}]*\}/, `"usage":${JSON.stringify(reported)}`);
  const wholeUsing = (reported: object) => ({ ...json(chat.upstream.whole), usage: reported });

  it('reports a total above the sum as output tokens, and bills it as such', async () => {
    const reported = {
      prompt_tokens: 12,
      completion_tokens: 2,
      total_tokens: 354,
      completion_tokens_details: { reasoning_tokens: 340 },
    };
    const ledger = {
      prompt_tokens: '12',
      completion_tokens: '2',
      total_tokens: '354',
      cost_picousd: String(12n * 150_000n + 342n * 600_000n),
    };
    const stream = await ask(messages, streamed(using(reported)));
    expectCompleteStream(messages, stream, ledger);
    expect(payloadsOf(stream).at(-2)).toMatchObject({ usage: usage(12, 342) });
    const answer = await ask(messages, whole(wholeUsing(reported)), { stream: false });
    expectSold(answer, ledger);
    expect(json(answer.text).usage).toMatchObject(usage(12, 342));
  });

  it("excludes cached tokens from the message's input tokens, and includes them in the ledger", async () => {
    const reported = {
      prompt_tokens: 10,
      completion_tokens: 20,
      total_tokens: 30,
      prompt_tokens_details: { cached_tokens: 8 },
    };
    const stream = await ask(messages, streamed(using(reported)));
    expectCompleteStream(messages, stream, priced);
    expect(payloadsOf(stream).at(-2)).toMatchObject({ usage: usage(2, 20, 8) });
  });

  it('withholds message_stop and the whole body after a budget block', async () => {
    const fits = await ask(messages, streamed(wholeStream(chat)), { key: keys.tight });
    expectCompleteStream(messages, fits, priced);
    const stream = await ask(messages, streamed(using(dear)), { key: keys.tight });
    expect(stream.status).toBe(200);
    expect(textOf(messages, stream)).toBe('piece');
    expect(stream.text).not.toContain('message_stop');
    expect(stream.events.at(-1)?.event).toBe('error');
    expect(payloadsOf(stream).at(-1)).toEqual({
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: expect.stringMatching(/\S/),
        details: { error_code: 'budget_exceeded' },
      },
      request_id: stream.requestId,
    });
    const answer = await ask(messages, whole(wholeUsing(dear)), { key: keys.tight, stream: false });
    expect(answer.status).toBe(429);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(answer.text).not.toContain('"all"');
    for (const { after } of [stream, answer]) {
      expect(after.ledger).toEqual([]);
      expect(after.logs).toEqual([
        expect.objectContaining({
          error_code: 'budget_exceeded',
          metadata_json: expect.objectContaining({ accounting: { blocked_cost_usd: '0.75' } }),
        }),
      ]);
      expect(after.outcomes).toEqual([expect.objectContaining({ outcome: 'budget_error' })]);
    }
  });

  it('withholds message_stop and the whole body until the commit', async () => {
    const blocker = new Client(databaseUrl());
    await blocker.connect();
    // Readers may proceed; a new ledger row may not be written.
    await blocker.query('begin; lock table usage_cost_events in share mode');
    const before = simulated().requests();
    const calls = [true, false].map((stream) =>
      fetch(`${gateway().url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': keys.narrow, 'content-type': 'application/json' },
        body: JSON.stringify({ ...messages.body(stream), model: 'slow' }),
      }),
    );
    let told = '';
    const [streaming, answering] = calls.map(async (call, index) => {
      const response = await call;
      for await (const bytes of response.body!) if (index === 0) told += Buffer.from(bytes).toString();
      return response.status;
    });
    await eventually(() => (told.includes('message_delta') ? true : undefined));
    await eventually(() => simulated().requests() === before + 2 || undefined);
    await eventually(() => simulated().inFlight() === 0 || undefined);
    expect(await Promise.race([streaming, answering, sleep(300, 'held back')])).toBe('held back');
    expect(simulated().inFlight()).toBe(0);
    expect(told).not.toContain('message_stop');
    await blocker.query('rollback');
    await blocker.end();
    expect(await Promise.all([streaming, answering])).toEqual([200, 200]);
    expect(eventsIn(told).at(-1)?.event).toBe('message_stop');
    expect(await query("select 1 from usage_cost_events where model_key = 'slow'")).toHaveLength(2);
  });
});
