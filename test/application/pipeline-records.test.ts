import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { sharedText } from '../../application/ports/shared-text.ts';
import type { RateLimit } from '../../domain/limits/rate-limit.ts';
import type { CaptureMode } from '../../domain/request-log/capture-policy.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { FinishedRequest } from '../../application/ports/telemetry.ts';
import { maxEventLoopBodyBytes, maxModelKeyChars, maxUserAgentChars } from '../../domain/shared/limits.ts';
import { fails, says, type Script, streams } from '../support/fakes/scripted-upstream.ts';
import { aBudget, aCaller, answer, cost, Pipeline, type PipelineOptions } from '../support/fakes/pipeline.ts';
import { chatFinish, chatText, chatUsage, done, failed } from '../support/fakes/stream-chunks.ts';

const secret = 'callers-own-secret';
const logging = (captureMode: CaptureMode): NonNullable<PipelineOptions['policy']> => ({
  payloads: { captureMode, requestMaxBytes: 65_536, responseMaxBytes: 65_536, streamMaxEvents: 2 },
});
const unlogged = aCaller({ keyOwner: { kind: 'user', userId: 'user-1', requestLoggingEnabled: false } });

describe('a settled request', () => {
  it('has a ledger row and a log row with the same request log id', async () => {
    const pipeline = await new Pipeline({ asks: { tools: [] }, request: { userAgent: 'curl/8' } }).serve();
    const { requestLogId } = pipeline.ledger.rows[0]?.charge ?? {};
    expect(pipeline.ledger.rows).toMatchObject([
      {
        charge: {
          requestId: 'request-1',
          modelKey: 'fast',
          providerKey: 'up',
          upstreamModel: 'upstream-fast',
          cost: { pricingStatus: 'priced', cost },
        },
      },
    ]);
    expect(pipeline.log).toMatchObject({
      requestLogId,
      requestId: 'request-1',
      modelKey: 'fast',
      resolvedModelKey: 'fast',
      providerKey: 'up',
      statusCode: 200,
      errorCode: undefined,
      latencyMs: 7,
      firstTokenMs: undefined,
      usage: { promptTokens: 10, completionTokens: 20, totalTokens: 30 },
      exposedToolCount: 0,
      invokedToolCount: 0,
      userAgent: 'curl/8',
      metadata: { noted: 'by the upstream', operation: 'chat_completions', stream: false },
      attempts: [{ status: 'success', statusCode: 200, errorDetail: undefined }],
    });
  });

  it('has the price in force at its end, or the price of its route if a reload removed that', async () => {
    const priced = async (reloaded: PipelineOptions['reloaded'] & string): Promise<unknown> =>
      (await new Pipeline({ reloaded }).serve()).ledger.rows[0]?.charge?.cost;
    expect(await priced('unpriced')).toMatchObject({ pricingStatus: 'priced', cost });
    expect(await priced('dearer')).toMatchObject({ pricingStatus: 'priced', cost: 20n * cost });
  });

  it('is reported to the telemetry as one upstream call and one outcome', async () => {
    const pipeline = await new Pipeline().serve();
    expect(pipeline.calls).toMatchObject([
      [{ status: 'success' }, { usage: { totalTokens: 30 } }, undefined],
    ]);
    expect(pipeline.finished).toMatchObject([
      {
        requestId: 'request-1',
        family: 'chat_completions',
        modelKey: 'fast',
        latencyMs: 7,
        settled: 'recorded',
      },
    ]);
  });

  it('with an unknown model has the model in its log row, but not in the telemetry', async () => {
    const pipeline = await new Pipeline({ asks: { model: 'none' } }).serve();
    expect(pipeline.finished).toMatchObject([{ modelKey: undefined, resolved: undefined }]);
    expect(pipeline.log).toMatchObject({ modelKey: 'none', resolvedModelKey: undefined });
  });

  it('is priced at the database time of its admission plus the time elapsed since', async () => {
    const day = 24 * 60 * 60 * 1000;
    const later = (days: number): Script => ({
      ...says(answer),
      meanwhile: () => (pipeline.now += days * day),
    });
    let pipeline: Pipeline;
    const statusAfter = async (databaseTime: string, days: number) => {
      pipeline = new Pipeline({ script: later(days) });
      pipeline.ledger.now = new Date(databaseTime);
      await pipeline.serve();
      return pipeline.ledger.rows[0]?.charge.cost.pricingStatus;
    };
    // The price is effective from 2020; the gateway's own clock is in 2028.
    expect(await statusAfter('2019-12-30T00:00:00Z', 1)).toBe('unpriced');
    expect(await statusAfter('2019-12-30T00:00:00Z', 2)).toBe('priced');
  });

  it('is priced at no earlier time than its admission if the clock is set back', async () => {
    const script: Script = { ...says(answer), meanwhile: () => (pipeline.now = 0) };
    const pipeline: Pipeline = new Pipeline({ script });
    await pipeline.serve();
    expect(pipeline.ledger.rows[0]?.charge.cost.pricingStatus).toBe('priced');
  });

  it('with tools is linked to tool call records, and reports the counts of MCP servers and their tools', async () => {
    const policy = { allowedOwners: [], allowedTools: undefined, deniedTools: [] };
    const toldBy = async (...names: readonly string[]) => {
      const tools = names.map((name) => ({ type: 'function', function: { name } }));
      const pipeline = new Pipeline({ asks: { tools }, policy: { mcpServers: [{ id: 'files', policy }] } });
      const { linked, overheads } = await pipeline.serve();
      return [linked.length, overheads.map(({ serverCount, toolCount }) => [serverCount, toolCount])];
    };
    expect(await toldBy()).toEqual([0, []]);
    expect(await toldBy('weather')).toEqual([1, []]);
    expect(await toldBy('weather', 'files__read', 'files__write')).toEqual([1, [[1, 2]]]);
  });

  it('has no tool counts if its family has no tools', async () => {
    const script = says({ usage: { prompt_tokens: 3, total_tokens: 3 } });
    const pipeline = await new Pipeline({ family: 'embeddings', script }).serve();
    expect(pipeline.log).toMatchObject({ exposedToolCount: undefined, invokedToolCount: undefined });
  });

  it.each<[string, PipelineOptions, object, JsonObject, FinishedRequest['unbilled']]>([
    ['with its cost', {}, { cost_usd: '0.000021' }, {}, [{ reason: 'compaction', cost: 21_000_000n }]],
    ['without a cost if there is no price', { unpriced: true }, {}, {}, []],
    [
      'also if its answer is blocked',
      { budget: aBudget({ amount: cost - 1n }) },
      { cost_usd: '0.000021' },
      { blocked_cost_usd: '0.0000135' },
      [
        { reason: 'blocked', cost },
        { reason: 'compaction', cost: 21_000_000n },
      ],
    ],
  ])(
    'has the usage of the provider’s compaction separately, %s',
    async (_, options, costs, more, unbilled) => {
      const compacted = { type: 'compaction', input_tokens: 100, output_tokens: 10 };
      const used = { input_tokens: 10, output_tokens: 20, iterations: [compacted] };
      const script = says({ type: 'message', content: [], usage: used });
      const provider: PipelineOptions['provider'] = { takes: () => 'as_written' };
      const { log, finished } = await new Pipeline({
        family: 'messages',
        script,
        provider,
        ...options,
      }).serve();
      expect(finished).toMatchObject([{ unbilled }]);
      expect(log?.usage).toEqual({ promptTokens: 10, completionTokens: 20, totalTokens: 30 });
      expect(log?.metadata).toMatchObject({
        accounting: {
          compaction: {
            input_tokens: 100,
            cache_read_input_tokens: 0,
            cache_creation_input_tokens: 0,
            output_tokens: 10,
            ...costs,
          },
          ...more,
        },
      });
    },
  );

  it.each<[string, string, object, FinishedRequest['unbilled']]>([
    [
      'with its cost at the price of that model',
      'upstream-wise',
      { cost_usd: '0.00042' },
      [{ reason: 'advisor', cost: 420_000_000n }],
    ],
    ['without a cost if there is no price', 'unheard-of', {}, []],
  ])('has the usage of an advisor model separately, %s', async (_, model, costs, unbilled) => {
    const advice = { type: 'advisor_message', model, input_tokens: 100, output_tokens: 10 };
    const used = { input_tokens: 10, output_tokens: 20, iterations: [advice] };
    const script = says({ type: 'message', content: [], usage: used });
    const provider: PipelineOptions['provider'] = { takes: () => 'as_written' };
    const { log, finished } = await new Pipeline({ family: 'messages', script, provider }).serve();
    expect(finished).toMatchObject([{ unbilled }]);
    expect(log?.usage).toEqual({ promptTokens: 10, completionTokens: 20, totalTokens: 30 });
    expect(log?.metadata).toMatchObject({
      accounting: {
        advisor: {
          model,
          input_tokens: 100,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
          output_tokens: 10,
          ...costs,
        },
      },
    });
  });

  it.each<[string, string, object, FinishedRequest['unbilled']]>([
    [
      'with its cost at the price of that model',
      'upstream-wise',
      { cost_usd: '0.00042' },
      [{ reason: 'image_generation', cost: 420_000_000n }],
    ],
    ['without a cost if there is no price', 'unheard-of', {}, []],
  ])('has the usage of an image model separately, %s', async (_, model, costs, unbilled) => {
    const script = says({
      object: 'response',
      output: [],
      usage: { input_tokens: 10, output_tokens: 20 },
      tools: [{ type: 'image_generation', model }],
      tool_usage: { image_gen: { input_tokens: 100, output_tokens: 10 }, web_search: { num_requests: 0 } },
    });
    const { log, finished } = await new Pipeline({ family: 'responses', script }).serve();
    expect(finished).toMatchObject([{ unbilled }]);
    expect(log?.usage).toEqual({ promptTokens: 10, completionTokens: 20, totalTokens: 30 });
    expect(log?.metadata).toMatchObject({
      accounting: { image_generation: { model, input_tokens: 100, output_tokens: 10, ...costs } },
    });
  });

  it('may be journaled at the database time of its admission, unless its owner has a hard limit', async () => {
    const lost = (budget?: ReturnType<typeof aBudget>): Pipeline => {
      const script: Script = { ...says(answer), meanwhile: () => (pipeline.ledger.database = 'lost') };
      const pipeline: Pipeline = new Pipeline({ script, ...(budget && { budget }) });
      return pipeline;
    };
    const { ledger } = await lost().serve();
    expect(ledger.journal).toMatchObject([{ deferrableTo: ledger.now }]);
    expect((await lost(aBudget({ hardLimit: false })).serve()).ledger.journal).toHaveLength(1);
    expect((await lost(aBudget()).serve()).ledger.journal).toEqual([]);
  });

  it('of a call that failed may be journaled whatever its owner’s limit: there is no answer to withhold', async () => {
    const meanwhile = () => void (pipeline.ledger.database = 'lost');
    const script: Script = { ...fails({ kind: 'transport' }), meanwhile };
    const pipeline: Pipeline = new Pipeline({ script, budget: aBudget() });
    await pipeline.serve();
    expect(pipeline.ledger.journal).toMatchObject([
      { charge: undefined, logged: { log: { errorCode: 'upstream_error' } } },
    ]);
  });
});

describe('a request under rate limits', () => {
  const limit: RateLimit = {
    subject: { kind: 'api_key', id: 'key-1' },
    terms: { requests: undefined, tokens: 30, inFlight: 1 },
  };
  const caller = aCaller({ limits: [limit] });

  /** The verdict on a next request in the same minute. */
  async function verdictAfter({ ledger }: Pipeline) {
    const ask = { requestLogId: randomUUID(), requestId: 'request-2', callerChoseRequestId: true };
    const admitted = await ledger.admit({ ...ask, caller, claim: false, limits: [limit] });
    return E.isRight(admitted) ? admitted.right.limits : undefined;
  }

  it('adds its tokens to the limits, and releases its in-flight slot', async () => {
    const pipeline = await new Pipeline({ request: { caller } }).serve();
    expect(await verdictAfter(pipeline)).toMatchObject({
      kind: 'refused',
      full: [{ measure: 'tokens', standing: { requests: 1, tokens: 30, inFlight: 0 } }],
    });
  });

  it('only releases its in-flight slot if its usage is unknown', async () => {
    const pipeline = await new Pipeline({
      request: { caller },
      script: says({ choices: answer['choices'] ?? [] }),
    }).serve();
    expect(pipeline.log).toMatchObject({ statusCode: 200, usage: undefined });
    expect(await verdictAfter(pipeline)).toEqual({ kind: 'admitted', held: true });
  });

  it('releases its in-flight slot even if it failed and is not logged', async () => {
    const keyOwner = { kind: 'user', userId: 'user-1', requestLoggingEnabled: false } as const;
    const script = fails({ kind: 'transport' });
    const pipeline = await new Pipeline({ request: { caller: { ...caller, keyOwner } }, script }).serve();
    expect([pipeline.ledger.rows, pipeline.ledger.logs]).toEqual([[], []]);
    expect(await verdictAfter(pipeline)).toEqual({ kind: 'admitted', held: true });
  });

  it('without limits has no limits in its record', async () => {
    const pipeline: Pipeline = new Pipeline({
      script: { ...says(answer), meanwhile: () => void (pipeline.ledger.database = 'lost') },
    });
    await pipeline.serve();
    expect(pipeline.ledger.journal).toMatchObject([{ release: undefined, limited: undefined }]);
  });
});

describe('fields with text of the caller', () => {
  const tags = E.right({
    service: `s-${secret}`,
    component: undefined,
    env: 'prod',
    bespoke: [{ key: 'a', value: secret }],
  });
  const clean = {
    service: 's-[REDACTED]',
    component: undefined,
    env: 'prod',
    bespoke: [{ key: 'a', value: '[REDACTED]' }],
  };

  it.each<[string, PipelineOptions]>([
    ['logged', {}],
    ['not logged', { policy: logging('disabled') }],
  ])('have secrets redacted in the tags of a request that is %s', async (_, options) => {
    const pipeline = await new Pipeline({ ...options, request: { tags } }).serve();
    expect(pipeline.finished).toMatchObject([{ tags: clean }]);
    if (pipeline.log !== undefined) expect(pipeline.log.tags).toEqual(clean);
  });

  it('have secrets redacted in model name and user agent before these are truncated', async () => {
    const userAgent = `${'u'.repeat(maxUserAgentChars - 5)}${secret}`;
    const model = `${'m'.repeat(maxModelKeyChars - 5)}${secret}`;
    const { log } = await new Pipeline({ asks: { model }, request: { userAgent } }).serve();
    expect(log?.modelKey).toBe(`${'m'.repeat(maxModelKeyChars - 5)}[REDA`);
    expect(log?.userAgent).toBe(`${'u'.repeat(maxUserAgentChars - 5)}[REDA`);
  });

  it('keep the request id unchanged in the tables, and redact it in the telemetry', async () => {
    const requestId = `mine ${secret}`;
    const pipeline = await new Pipeline({ request: { requestId } }).serve();
    expect([pipeline.log?.requestId, pipeline.ledger.rows[0]?.charge.requestId]).toEqual([
      requestId,
      requestId,
    ]);
    expect(pipeline.finished).toMatchObject([{ requestId: 'mine [REDACTED]' }]);
  });
});

describe('log rows', () => {
  it.each<[string, PipelineOptions, number]>([
    ['are not written if capture is disabled', { policy: logging('disabled') }, 0],
    ['are not written for a user with logging off', { request: { caller: unlogged } }, 0],
    ['are written without payloads for `summary_only`', { policy: logging('summary_only') }, 1],
  ])('%s, and the ledger row is written in any case', async (_, options, rows) => {
    const pipeline = await new Pipeline(options).serve();
    expect(pipeline.ledger.logs).toHaveLength(rows);
    expect(pipeline.payloads).toEqual([]);
    expect(pipeline.ledger.rows).toHaveLength(1);
  });

  it('are not written for a rejected request without logging, and the ledger is not called', async () => {
    const { told, finished } = await new Pipeline({
      policy: logging('disabled'),
      asks: { model: 'none' },
    }).serve();
    expect(told).toEqual(['outcome: not_found', 'caller: refused']);
    expect(finished).toMatchObject([{ settled: 'recorded' }]);
  });
});

describe('a payload', () => {
  const payloadOf = async (options: PipelineOptions) => {
    const pipeline = await new Pipeline(options).serve();
    const { request, response } = (await pipeline.payloads[0]?.make()) ?? {};
    return { pipeline, request: JSON.parse(request?.text ?? ''), response: JSON.parse(response?.text ?? '') };
  };

  it('has the caller’s redacted body and headers, and the answer as it was returned', async () => {
    const { pipeline, request, response } = await payloadOf({ asks: { user: secret } });
    expect(request).toEqual({
      headers: { 'content-type': 'application/json' },
      body: { model: 'fast', messages: [{ role: 'user', content: 'Hi' }], user: '[REDACTED]' },
    });
    expect(response).toEqual({ body: answer });
    expect(pipeline.payloads).toMatchObject([{ requestLogId: pipeline.log?.requestLogId }]);
  });

  it('has the caller’s body, never the outbound body', async () => {
    const { pipeline, request } = await payloadOf({ family: 'messages' });
    expect(pipeline.upstream.calls[0]?.body).toContain('max_completion_tokens');
    expect(request.body).toHaveProperty('max_tokens');
    expect(request.body).not.toHaveProperty('max_completion_tokens');
  });

  it('of a stream has its first events as they were sent, its usage and its error', async () => {
    const events = [[chatText('a')], [chatText('b')], [chatText('c')], [chatUsage]];
    const policy = logging('redacted_payloads');
    const good = await payloadOf({ stream: true, policy, script: streams(...events, [chatFinish], done) });
    expect(good.response).toMatchObject({
      stream: true,
      events: [chatText('a').chunk, chatText('b').chunk],
      usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
      error: null,
    });
    const bad = await payloadOf({ stream: true, policy, script: streams([chatText('a')], failed('Broke.')) });
    expect(bad.response).toMatchObject({ error: { code: 'upstream_error', message: 'Broke.' } });
  });

  it.each<[string, PipelineOptions, object]>([
    ['a failure', { script: fails({ kind: 'transport' }) }, { code: 'upstream_error' }],
    ['a blocked answer', { budget: aBudget({ amount: cost - 1n }) }, { code: 'budget_exceeded' }],
    ['a refusal with a field', { asks: { model: 'none' } }, { code: 'model_not_found', param: 'model' }],
  ])('of %s has only the error', async (_, options, error) => {
    const { response } = await payloadOf(options);
    expect(response.body).toMatchObject({ error });
    expect(JSON.stringify(response)).not.toContain('Hello.');
  });

  it('of a request whose client disconnected has the error `client_closed`', async () => {
    const pipeline: Pipeline = new Pipeline({
      script: { ...says(answer), meanwhile: () => pipeline.link.lose() },
    });
    await pipeline.serve();
    const { response } = (await pipeline.payloads[0]?.make()) ?? {};
    expect(JSON.parse(response?.text ?? '')).toEqual({
      body: { error: { code: 'client_closed', message: 'The caller left.' } },
    });
  });

  it('of large bodies has the request body, and the answer redacted', async () => {
    const large = JSON.stringify({ ...answer, pad: `${secret} ${'x'.repeat(maxEventLoopBodyBytes)}` });
    const reply = { value: answer, text: Buffer.from(large) };
    const body = sharedText([Buffer.from('{"model":"fast","messages":[{"role":"user","content":"Hi"}]}')]);
    const { request, response } = await payloadOf({
      request: { body: E.right(body) },
      script: { answer: E.right({ kind: 'whole', status: 200, answer: reply }) },
    });
    expect(request.body).toEqual({ model: 'fast', messages: [{ role: 'user', content: 'Hi' }] });
    expect(JSON.stringify(response)).not.toContain(secret);
  });

  it('reserves the memory of its request and its answer until that is released', async () => {
    const { payloads, told } = await new Pipeline().serve();
    expect(payloads).toMatchObject([{ held: { bytes: 4 + JSON.stringify(answer).length } }]);
    payloads[0]?.held?.release();
    expect(told.at(-1)).toBe('memory let go');
  });

  it('is not kept if the log row is in the journal or could not be written', async () => {
    for (const database of ['lost', 'refuses'] as const) {
      const script: Script = { ...says(answer), meanwhile: () => (pipeline.ledger.database = database) };
      const pipeline: Pipeline = new Pipeline({ script });
      await pipeline.serve();
      expect(pipeline.payloads).toEqual([]);
    }
  });
});
