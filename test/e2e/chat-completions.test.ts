import { describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { VERSION } from 'openai/version';
import { idHeader, hello, costOf, narrowKey, tools, openaiScene } from './openai-scene.ts';
import { eventually, outcomesOf } from './traces.ts';

const { query, traceOf, finalTraceOf, gateway, upstream, client } = openaiScene();

describe('the unmodified openai client: whole answers', () => {
  it('receives a completion, and its rows contain the exact cost', async () => {
    const completion = await client().chat.completions.create(
      { model: 'fast', messages: hello },
      {
        headers: {
          'x-request-id': 'whole-1',
          'x-gateway-service': 'checkout',
          'x-gateway-component': 'basket',
          'x-gateway-env': 'test',
          'x-gateway-tags': 'run=42; branch=feature/x',
        },
      },
    );
    expect(completion.choices[0]?.message.content).toContain('Hello');
    expect(completion._request_id).toBe('whole-1');
    const { logs, attempts, tags, ledger } = await traceOf('whole-1');
    const [user] = await query("select user_id from users where email = 'a@example.com'");
    const [apiKey] = await query("select api_key_id from api_keys where name = 'dev'");
    expect(ledger).toEqual([
      expect.objectContaining({
        ownership_scope_key: `user:${String(user?.['user_id'])}`,
        api_key_id: apiKey?.['api_key_id'],
        user_id: user?.['user_id'],
        team_id: null,
        service_account_id: null,
        model_key: 'fast',
        provider_key: 'up',
        upstream_model: 'simulated-fast',
        prompt_tokens: '5',
        completion_tokens: '17',
        total_tokens: '22',
        pricing_status: 'priced',
        unpriced_reason: null,
        input_picousd_per_token: '150000',
        output_picousd_per_token: '600000',
        pricing_source: 'config pricing.overrides',
        cost_picousd: String(5n * 150_000n + 17n * 600_000n),
      }),
    ]);
    expect(logs).toEqual([
      expect.objectContaining({
        request_id: 'whole-1',
        user_id: user?.['user_id'],
        model_key: 'fast',
        resolved_model_key: 'fast',
        provider_key: 'up',
        status_code: 200,
        error_code: null,
        prompt_tokens: '5',
        completion_tokens: '17',
        total_tokens: '22',
        exposed_tool_count: 0,
        invoked_tool_count: 0,
        referenced_mcp_server_count: null,
        filtered_tool_count: null,
        caller_service: 'checkout',
        caller_component: 'basket',
        caller_env: 'test',
        user_agent_raw: `OpenAI/JS ${VERSION}`,
        agent_harness_key: 'openai_sdk',
        metadata_json: {
          operation: 'chat_completions',
          stream: false,
          payload_policy: {
            capture_mode: 'redacted_payloads',
            request_max_bytes: 65_536,
            response_max_bytes: 65_536,
            stream_max_events: 128,
            version: 'builtin:v2',
          },
        },
      }),
    ]);
    expect(logs[0]?.['latency_ms']).toBeGreaterThanOrEqual(0);
    expect(tags).toEqual([
      { tag_key: 'branch', tag_value: 'feature/x' },
      { tag_key: 'run', tag_value: '42' },
    ]);
    expect(attempts).toEqual([
      expect.objectContaining({
        attempt_number: 1,
        provider_key: 'up',
        upstream_model: 'simulated-fast',
        status: 'success',
        status_code: 200,
        error_code: null,
        error_detail: null,
        stream: false,
      }),
    ]);
    expect(outcomesOf(gateway(), 'whole-1')).toEqual([
      expect.objectContaining({ outcome: 'success', status: 200, cost_usd: '0.00001095' }),
    ]);
  });

  it('has the harness that its User-Agent reports, and the owner and rights of its key', async () => {
    const [user] = await query("select user_id from users where email = 'a@example.com'");
    for (const [agent, harness] of [
      ['claude-cli/2.0.1 (external, cli)', 'claude-code'],
      ['opencode/1.18.33', 'opencode'],
      ['curl/8.5.0', 'other'],
    ] as const) {
      const named = (requestId: string) => ({
        headers: { 'x-request-id': requestId, 'user-agent': agent },
      });
      await client().chat.completions.create({ model: 'fast', messages: hello }, named(`as-${harness}`));
      expect((await traceOf(`as-${harness}`)).logs).toEqual([
        expect.objectContaining({
          agent_harness_key: harness,
          user_agent_raw: agent,
          user_id: user?.['user_id'],
        }),
      ]);
      await expect(
        client(narrowKey).chat.completions.create({ model: 'fast', messages: hello }, named(`no-${harness}`)),
      ).rejects.toMatchObject({ status: 403 });
    }
  });

  it('receives a generated request id if it sent none', async () => {
    const completion = await client().chat.completions.create({ model: 'fast', messages: hello });
    expect(completion._request_id).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect((await traceOf(completion._request_id ?? '')).ledger).toHaveLength(1);
  });

  it('is served by a model without a catalogue price, and the ledger row is unpriced with no cost', async () => {
    await client().chat.completions.create({ model: 'unpriced', messages: hello }, idHeader('unpriced-1'));
    const { ledger } = await traceOf('unpriced-1');
    expect(ledger).toEqual([
      expect.objectContaining({
        pricing_status: 'unpriced',
        unpriced_reason: 'no_catalogue_price',
        prompt_tokens: '5',
        cost_picousd: null,
        input_picousd_per_token: null,
      }),
    ]);
  });

  it('makes a tool-call round trip', async () => {
    const asked = await client().chat.completions.create(
      { model: 'tools', messages: hello, tools },
      idHeader('tools-1'),
    );
    const message = asked.choices[0]!.message;
    const [call] = message.tool_calls ?? [];
    expect(asked.choices[0]?.finish_reason).toBe('tool_calls');
    expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather' } });
    expect(JSON.parse(call?.type === 'function' ? call.function.arguments : '')).toEqual({
      city: 'simulated city',
      unit: 'celsius',
    });
    const answered = await client().chat.completions.create(
      {
        model: 'tools',
        tools,
        messages: [...hello, message, { role: 'tool', tool_call_id: call?.id ?? '', content: '21 degrees' }],
      },
      idHeader('tools-2'),
    );
    expect(answered.choices[0]?.message.content).toContain('21 degrees');
    const first = await traceOf('tools-1');
    expect(first.logs).toMatchObject([{ exposed_tool_count: 2, invoked_tool_count: 1 }]);
    expect(first.ledger).toMatchObject([{ cost_picousd: costOf(asked.usage) }]);
    const second = await traceOf('tools-2');
    expect(second.logs).toMatchObject([{ exposed_tool_count: 2, invoked_tool_count: 0 }]);
    expect(second.ledger).toMatchObject([{ cost_picousd: costOf(answered.usage) }]);
  });

  it('receives parallel tool calls with distinct ids', async () => {
    const asked = await client().chat.completions.create(
      { model: 'parallel', messages: hello, tools },
      idHeader('parallel-1'),
    );
    const calls = asked.choices[0]?.message.tool_calls ?? [];
    expect(calls.map((call) => (call.type === 'function' ? call.function.name : ''))).toEqual([
      'get_weather',
      'get_time',
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    expect((await traceOf('parallel-1')).logs).toMatchObject([{ invoked_tool_count: 2 }]);
  });

  it('receives every digit of numbers that no double can represent', async () => {
    const answer = await client().chat.completions.create({ model: 'digits', messages: hello }).asResponse();
    expect(await answer.text()).toContain('"digits":[9007199254740993,0.10]');
  });
});

describe('the unmodified openai client: streams', () => {
  it('reads a stream to its end, and the ledger contains its exact cost', async () => {
    const stream = await client().chat.completions.create(
      { model: 'fast', messages: hello, stream: true, stream_options: { include_usage: true } },
      idHeader('stream-1'),
    );
    let text = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(text).toContain('Hello');
    expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 17, total_tokens: 22 });
    const { logs, attempts, ledger } = await traceOf('stream-1');
    expect(ledger).toMatchObject([
      { pricing_status: 'priced', cost_picousd: String(5n * 150_000n + 17n * 600_000n) },
    ]);
    expect(logs).toMatchObject([
      {
        status_code: 200,
        total_tokens: '22',
        metadata_json: { operation: 'chat_completions', stream: true },
      },
    ]);
    expect(attempts).toMatchObject([{ status: 'success', status_code: 200, stream: true }]);
    expect(outcomesOf(gateway(), 'stream-1')).toMatchObject([{ outcome: 'success', stream: true }]);
  });

  it('gets a ledger row with usage_missing and no estimate for a stream without usage', async () => {
    const stream = await client().chat.completions.create(
      { model: 'fast', messages: hello, stream: true },
      idHeader('stream-2'),
    );
    for await (const chunk of stream) expect(chunk.usage ?? null).toBeNull();
    expect((await traceOf('stream-2')).ledger).toMatchObject([
      { pricing_status: 'usage_missing', prompt_tokens: null, total_tokens: null, cost_picousd: null },
    ]);
  });

  it('assembles the same completion with its stream helper', async () => {
    const completion = await client()
      .chat.completions.stream(
        { model: 'fast', messages: hello, stream_options: { include_usage: true } },
        idHeader('stream-3'),
      )
      .finalChatCompletion();
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop' });
    expect(completion.choices[0]?.message.content).toContain('Hello');
    expect((await traceOf('stream-3')).ledger).toMatchObject([{ cost_picousd: costOf(completion.usage) }]);
  });

  it('assembles streamed tool calls, one or several, and makes the round trip', async () => {
    const asked = await client()
      .chat.completions.stream(
        { model: 'parallel', messages: hello, tools, stream_options: { include_usage: true } },
        idHeader('stream-4'),
      )
      .finalChatCompletion();
    const message = asked.choices[0]!.message;
    const calls = message.tool_calls ?? [];
    expect(asked.choices[0]?.finish_reason).toBe('tool_calls');
    expect(calls.map((call) => (call.type === 'function' ? call.function.name : ''))).toEqual([
      'get_weather',
      'get_time',
    ]);
    const results = calls.map(
      ({ id }): OpenAI.ChatCompletionToolMessageParam => ({
        role: 'tool',
        tool_call_id: id,
        content: `result of ${id}`,
      }),
    );
    const answered = await client()
      .chat.completions.stream({ model: 'parallel', tools, messages: [...hello, message, ...results] })
      .finalContent();
    expect(answered).toContain(`result of ${calls[1]?.id ?? ''}`);
    expect((await traceOf('stream-4')).logs).toMatchObject([
      { exposed_tool_count: 2, invoked_tool_count: 2 },
    ]);
  });

  it('receives reasoning separately from the content, in the canonical field', async () => {
    const stream = await client().chat.completions.create({
      model: 'reasoning',
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    let reasoning = '';
    let content = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta as { reasoning?: string; content?: string } | undefined;
      reasoning += delta?.reasoning ?? '';
      content += delta?.content ?? '';
      expect(Object.keys(delta ?? {})).not.toContain('reasoning_content');
      usage = chunk.usage ?? usage;
    }
    expect(reasoning).toContain('simulated reasoning');
    expect(content).toContain('simulated answer');
    expect(content).not.toContain('reasoning');
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0);
  });

  it('receives every digit of numbers that no double can represent', async () => {
    const answer = await client()
      .chat.completions.create({ model: 'digits', messages: hello, stream: true })
      .asResponse();
    expect(await answer.text()).toContain('"digits":[9007199254740993,0.10]');
  });

  it('receives a stream with 200, as text/event-stream, with no-store and no-transform', async () => {
    const answer = await client()
      .chat.completions.create({ model: 'fast', messages: hello, stream: true }, idHeader('stream-5'))
      .asResponse();
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-request-id': 'stream-5',
      'request-id': 'stream-5',
    });
    expect((await answer.text()).endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('aborts in the middle: the upstream call is aborted, and one log row has 499 client_closed', async () => {
    const before = upstream().aborted();
    const stream = await client().chat.completions.create(
      { model: 'endless', messages: hello, stream: true },
      idHeader('abort-1'),
    );
    for await (const chunk of stream) if ((chunk.choices[0]?.delta.content ?? '') !== '') break;
    await eventually(() => (upstream().aborted() === before + 1 ? true : undefined));
    const { logs, attempts, ledger } = await finalTraceOf('abort-1');
    expect(logs).toMatchObject([{ status_code: 499, error_code: 'client_closed' }]);
    expect(attempts).toMatchObject([
      { status: 'stream_error', status_code: 200, error_code: 'client_closed' },
    ]);
    expect(ledger).toMatchObject([{ pricing_status: 'usage_missing' }]);
    expect(outcomesOf(gateway(), 'abort-1')).toMatchObject([{ outcome: 'client_closed', status: 499 }]);
  });

  it.each([
    ['breaks', 'The model fell over.'],
    ['cut', 'The connection to the upstream could not be made, or it broke. (UND_ERR_SOCKET)'],
  ])(
    'receives the text so far and then throws when the upstream fails in the middle (%s)',
    async (model, words) => {
      const stream = await client().chat.completions.create(
        { model, messages: hello, stream: true, stream_options: { include_usage: true } },
        idHeader(`midway-${model}`),
      );
      let text = '';
      const read = async (): Promise<void> => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      };
      await expect(read()).rejects.toMatchObject({ code: 'upstream_error', type: 'upstream_error' });
      expect(text).not.toBe('');
      const { logs, attempts, ledger } = await traceOf(`midway-${model}`);
      expect(logs).toMatchObject([{ status_code: 502, error_code: 'upstream_error' }]);
      expect(attempts).toMatchObject([{ status: 'stream_error', status_code: 200, error_detail: words }]);
      expect(ledger).toEqual([]);
      expect(outcomesOf(gateway(), `midway-${model}`)).toMatchObject([{ outcome: 'upstream_error' }]);
    },
  );
});
