import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest, type Outcome } from '../../domain/shared/gateway-error.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import { aModel, allBut, aRoute } from '../support/arbitraries/routing.ts';
import { fails, says, streams } from '../support/fakes/scripted-upstream.ts';
import {
  aBudget,
  aCaller,
  answer,
  cost,
  costUsd,
  Pipeline,
  type PipelineOptions,
} from '../support/fakes/pipeline.ts';
import { chatFinish, chatText, chatUsage, done, failed, usage } from '../support/fakes/stream-chunks.ts';

/** A request, and a change of the ledger before it. */
type Prepared = PipelineOptions & { readonly before?: (pipeline: Pipeline) => unknown };

const served = async ({ before, ...options }: Prepared): Promise<Pipeline> => {
  const pipeline = new Pipeline(options);
  await before?.(pipeline);
  pipeline.told.splice(0);
  return pipeline.serve();
};

/** The same request id was settled before, by another request of the same owner. */
const accounted = (pipeline: Pipeline) =>
  pipeline.serve({ requestLogId: '01900000-0000-7000-8000-000000000001' });

const reject = { duplicateRequestIds: 'reject' } as const;

describe('a request that is rejected before the provider has zero attempts, no ledger row, and one outcome', () => {
  it.each<[string, Prepared, GatewayError['code'], number, Outcome]>([
    ['malformed JSON', { request: { body: E.right('{') } }, 'invalid_request', 400, 'invalid_request'],
    [
      'a body that is too large',
      { request: { body: E.left({ code: 'request_too_large', message: 'No.' }) } },
      'request_too_large',
      413,
      'invalid_request',
    ],
    [
      'more values than a body may have',
      { asks: { metadata: Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`k${n}`, n])) } },
      'invalid_request',
      400,
      'invalid_request',
    ],
    [
      'a tag',
      { request: { tags: E.left(invalidRequest('No.')) } },
      'invalid_request',
      400,
      'invalid_request',
    ],
    ['an unknown model', { asks: { model: 'none' } }, 'model_not_found', 404, 'not_found'],
    [
      'a model that is not granted',
      { request: { caller: aCaller({ allowedModels: ['other'] }) } },
      'model_not_granted',
      403,
      'forbidden',
    ],
    ['a model without a route', { models: [aModel([])] }, 'no_routes_available', 503, 'no_routes_available'],
    [
      'a capability mismatch',
      { stream: true, models: [aModel([aRoute({ capabilities: allBut('stream') })])] },
      'invalid_request',
      400,
      'invalid_request',
    ],
    [
      'a request that the upstream cannot express',
      { script: { ...says(answer), refusal: invalidRequest('No.') } },
      'invalid_request',
      400,
      'invalid_request',
    ],
    [
      'an upstream that cannot count tokens',
      { family: 'count_tokens' },
      'not_supported',
      404,
      'invalid_request',
    ],
    [
      'a token count on a route that does not serve messages',
      { family: 'count_tokens', models: [aModel([aRoute({ capabilities: allBut('chat_completions') })])] },
      'not_supported',
      404,
      'invalid_request',
    ],
    [
      'no memory for the request',
      { before: (pipeline) => (pipeline.room = 10) },
      'overloaded',
      503,
      'overloaded',
    ],
    ['an exhausted hard budget', { budget: aBudget({ amount: 0n }) }, 'budget_exceeded', 429, 'budget_error'],
    [
      'a window that a blocked cost has closed',
      {
        budget: aBudget({ amount: cost - 1n }),
        before: async (pipeline) => {
          pipeline.ledger.closeOnBlock = true;
          await pipeline.serve({ requestId: 'blocked' });
        },
      },
      'budget_exceeded',
      429,
      'budget_error',
    ],
    [
      'a settled request id, if duplicates are rejected',
      { policy: reject, before: accounted },
      'duplicate_request_id',
      409,
      'invalid_request',
    ],
    [
      'a request id in flight, if duplicates are rejected',
      {
        policy: reject,
        before: ({ ledger, caller }) =>
          ledger.admit({
            requestLogId: 'another',
            requestId: 'request-1',
            callerChoseRequestId: true,
            caller,
            claim: true,
          }),
      },
      'duplicate_request_id',
      409,
      'invalid_request',
    ],
  ])('%s', async (_, options, code, status, outcome) => {
    const pipeline = await served(options);
    expect(pipeline.refusedWith).toBe(code);
    expect(pipeline.finished.at(-1)).toMatchObject({ outcome, errorCode: code, statusCode: status });
    expect(pipeline.log).toMatchObject({ statusCode: status, errorCode: code, attempts: [] });
    expect(pipeline.ledger.rows.map(({ charge }) => charge.requestLogId)).not.toContain(
      pipeline.log?.requestLogId,
    );
    expect(pipeline.told).not.toContain('sent upstream');
  });

  it('a lost database before the admission: 503 `store_unavailable`', async () => {
    const pipeline = await served({ before: ({ ledger }) => (ledger.database = 'lost') });
    expect(pipeline.refusedWith).toBe('store_unavailable');
    expect(pipeline.finished).toMatchObject([{ outcome: 'overloaded', statusCode: 503, settled: 'lost' }]);
    expect(pipeline.told).not.toContain('sent upstream');
  });
});

describe('a failure of the upstream is one failed attempt, no ledger row, and outcome `upstream_error`', () => {
  const status = (status: number): UpstreamFault => ({ kind: 'status', status, message: 'No.', headers: {} });
  const faults: readonly (readonly [string, UpstreamFault, number, number | undefined])[] = [
    ['400', status(400), 400, 400],
    ['429', status(429), 429, 429],
    ['401, the gateway’s own credential', status(401), 502, 401],
    ['500', status(500), 502, 500],
    ['503', status(503), 503, 503],
    ['a timeout', { kind: 'timeout', phase: 'first_byte' }, 504, undefined],
    ['a broken connection', { kind: 'transport' }, 502, undefined],
    ['an idle timeout after the response head', { kind: 'timeout', phase: 'idle', status: 200 }, 504, 200],
    ['a broken connection after the response head', { kind: 'transport', status: 200 }, 502, 200],
    ['a malformed answer', { kind: 'protocol', message: 'No JSON.', status: 200 }, 502, 200],
  ];

  it.each(
    faults.flatMap(([name, ...rest]) => [[name, false, ...rest] as const, [name, true, ...rest] as const]),
  )('%s (stream: %p)', async (_, stream, fault, told, upstreamStatus) => {
    const pipeline = await new Pipeline({ stream, script: fails(fault) }).serve();
    expect(pipeline.answer).toMatchObject({
      kind: 'refused',
      error: { code: 'upstream_error', upstream: { status: told } },
    });
    expect(pipeline.log).toMatchObject({ statusCode: told, errorCode: 'upstream_error' });
    expect(pipeline.log?.attempts).toMatchObject([
      {
        attemptNumber: 1,
        providerKey: 'up',
        upstreamModel: 'upstream-fast',
        status: stream ? 'stream_start_error' : 'provider_error',
        statusCode: upstreamStatus,
        errorCode: 'upstream_error',
        stream,
      },
    ]);
    expect(pipeline.finished).toMatchObject([
      { outcome: 'upstream_error', statusCode: told, cost: undefined },
    ]);
    expect(pipeline.ledger.rows).toEqual([]);
  });

  it('its usage is recorded as unbilled, with the cost', async () => {
    const pipeline = await new Pipeline({ script: fails({ kind: 'transport', usage }) }).serve();
    expect(pipeline.log).toMatchObject({
      statusCode: 502,
      usage: { promptTokens: 10, completionTokens: 20 },
      metadata: { accounting: { unbilled_cost_usd: costUsd } },
    });
    expect(pipeline.ledger.rows).toEqual([]);
    expect(pipeline.finished).toMatchObject([{ unbilled: [{ reason: 'failed', cost }] }]);
  });

  it('its runtime error code is in the log and telemetry, but not in the caller’s error', async () => {
    const faults: readonly UpstreamFault[] = [
      { kind: 'transport', faultCode: 'ECONNREFUSED' },
      { kind: 'timeout', phase: 'connect', faultCode: 'UND_ERR_CONNECT_TIMEOUT' },
    ];
    for (const fault of faults) {
      const { faultCode = '' } = fault as { readonly faultCode?: string };
      const pipeline = await new Pipeline({ script: fails(fault) }).serve();
      const told = pipeline.answer?.kind === 'refused' ? pipeline.answer.error.message : '';
      expect(told).not.toContain(faultCode);
      expect(pipeline.log?.attempts).toMatchObject([{ errorDetail: `${told} (${faultCode})` }]);
      expect(pipeline.finished).toMatchObject([{ upstreamFault: faultCode }]);
    }
  });

  it('a broken stream is a failed attempt with its original status, and its usage is unbilled', async () => {
    const script = streams([chatText('Hi')], [chatUsage], failed('It broke.'));
    const pipeline = await new Pipeline({ stream: true, script }).serve();
    expect(pipeline.log).toMatchObject({
      statusCode: 502,
      attempts: [
        { status: 'stream_error', statusCode: 200, errorCode: 'upstream_error', errorDetail: 'It broke.' },
      ],
      metadata: { accounting: { unbilled_cost_usd: costUsd } },
    });
    expect(pipeline.ledger.rows).toEqual([]);
    expect(pipeline.finished).toMatchObject([
      { outcome: 'upstream_error', cost: undefined, unbilled: [{ reason: 'failed', cost }] },
    ]);
  });
});

describe('the two checks of a hard limit', () => {
  it('admit a request below the amount, and block its cost if it would exceed the amount', async () => {
    const pipeline = await new Pipeline({ budget: aBudget({ amount: cost - 1n }) }).serve();
    expect(pipeline.refusedWith).toBe('budget_exceeded');
    expect(pipeline.ledger.rows).toEqual([]);
    expect(pipeline.log).toMatchObject({
      statusCode: 429,
      errorCode: 'budget_exceeded',
      attempts: [{ status: 'success', statusCode: 200 }],
      metadata: { accounting: { blocked_cost_usd: costUsd } },
    });
    expect(pipeline.finished).toMatchObject([
      {
        outcome: 'budget_error',
        statusCode: 429,
        settled: 'blocked',
        attemptStatus: 'success',
        cost: undefined,
        unbilled: [{ reason: 'blocked', cost }],
      },
    ]);
  });

  it('allow a spend of exactly the amount, and reject the next request', async () => {
    const pipeline = await new Pipeline({ budget: aBudget({ amount: cost }) }).serve();
    expect(pipeline.finished).toMatchObject([{ outcome: 'success', cost: { cost } }]);
    await pipeline.serve({ requestId: 'request-2' });
    expect(pipeline.refusedWith).toBe('budget_exceeded');
  });

  it('never reject the owner of a soft limit', async () => {
    const pipeline = new Pipeline({ budget: aBudget({ amount: 0n, hardLimit: false }) });
    await pipeline.serve();
    await pipeline.serve({ requestId: 'request-2' });
    expect(pipeline.finished).toMatchObject([{ outcome: 'success' }, { outcome: 'success' }]);
    expect(pipeline.ledger.rows).toHaveLength(2);
  });

  it('do not apply to a duplicate, which is served and writes no second row', async () => {
    const pipeline = new Pipeline({ budget: aBudget({ amount: cost }) });
    await pipeline.serve();
    await pipeline.serve();
    expect(pipeline.answer?.kind).toBe('whole');
    expect(pipeline.ledger.rows).toHaveLength(1);
    expect(pipeline.finished[1]).toMatchObject({
      outcome: 'success',
      settled: 'duplicate',
      cost: undefined,
      unbilled: [{ reason: 'duplicate', cost }],
    });
  });

  it('ignore a request without a price', async () => {
    const pipeline = await new Pipeline({ budget: aBudget({ amount: 1n }), unpriced: true }).serve();
    expect(pipeline.ledger.rows).toMatchObject([{ charge: { cost: { pricingStatus: 'unpriced' } } }]);
    expect(pipeline.finished).toMatchObject([{ outcome: 'success', unbilled: [] }]);
  });
});

describe('the claim on a request id', () => {
  const askOf = ({ caller }: Pipeline) => ({
    requestLogId: 'another',
    requestId: 'request-1',
    callerChoseRequestId: true,
    caller,
    claim: true,
  });

  it('is released with its request if duplicates are rejected and the caller chose the id', async () => {
    const pipeline = new Pipeline({ policy: reject, script: fails({ kind: 'transport' }) });
    await pipeline.serve();
    await pipeline.serve();
    expect(pipeline.finished).toMatchObject([{ outcome: 'upstream_error' }, { outcome: 'upstream_error' }]);
  });

  it('is released with its request even if a reload allows duplicates meanwhile', async () => {
    const allow = (): void => void (pipeline.policy = { ...pipeline.policy, duplicateRequestIds: 'allow' });
    const pipeline: Pipeline = new Pipeline({
      policy: reject,
      script: { ...says(answer), meanwhile: allow },
    });
    await pipeline.serve();
    expect(await pipeline.ledger.admit(askOf(pipeline))).toMatchObject({ right: { claimed: true } });
  });

  it('is released with a failed request that leaves no ledger row and no log row', async () => {
    const caller = aCaller({ keyOwner: { kind: 'user', userId: 'user-1', requestLoggingEnabled: false } });
    const pipeline = new Pipeline({
      policy: reject,
      script: fails({ kind: 'transport' }),
      request: { caller },
    });
    await pipeline.serve();
    expect([pipeline.ledger.rows, pipeline.ledger.logs]).toEqual([[], []]);
    expect(await pipeline.ledger.admit(askOf(pipeline))).toMatchObject({ right: { claimed: true } });
  });

  it('is held while its request is in flight', async () => {
    const script = streams(
      [chatText('Hi')],
      async () => second.push(await pipeline.serve()),
      [chatFinish],
      done,
    );
    const second: Pipeline[] = [];
    const pipeline: Pipeline = new Pipeline({ policy: reject, stream: true, script });
    await pipeline.serve();
    expect(pipeline.finished).toMatchObject([{ errorCode: 'duplicate_request_id' }, { outcome: 'success' }]);
  });

  it('of another request is not released by a rejected duplicate, which has no settlement if unlogged', async () => {
    const caller = aCaller({ keyOwner: { kind: 'user', userId: 'user-1', requestLoggingEnabled: false } });
    const script = streams([chatText('Hi')], () => pipeline.serve(), [chatFinish], done);
    const pipeline: Pipeline = new Pipeline({ policy: reject, stream: true, script, request: { caller } });
    await pipeline.serve();
    expect(pipeline.finished).toMatchObject([{ errorCode: 'duplicate_request_id' }, { outcome: 'success' }]);
    expect(pipeline.told.filter((line) => line === 'settlement asked')).toHaveLength(1);
  });

  it.each<[string, PipelineOptions]>([
    ['if duplicates are allowed', {}],
    ['if the gateway chose the id', { policy: reject, request: { callerChoseRequestId: false } }],
  ])('is not taken %s', async (_, options) => {
    const script = streams(
      [chatText('Hi')],
      () => inFlight.push(pipeline.ledger.admit(askOf(pipeline))),
      [chatFinish],
      done,
    );
    const inFlight: ReturnType<Pipeline['ledger']['admit']>[] = [];
    const pipeline: Pipeline = new Pipeline({ ...options, stream: true, script });
    await pipeline.serve();
    expect(await inFlight[0]).toMatchObject({ right: { claimed: true } });
  });
});

describe('a token count', () => {
  it('writes a log row, but no ledger row', async () => {
    const script = says({ input_tokens: 10, usage: { prompt_tokens: 1, completion_tokens: 1 } });
    const pipeline = await new Pipeline({
      family: 'count_tokens',
      provider: { takes: () => 'as_written' },
      script,
    }).serve();
    expect(pipeline.answer?.kind).toBe('whole');
    expect(pipeline.ledger.rows).toEqual([]);
    expect(pipeline.log).toMatchObject({ statusCode: 200, attempts: [{ status: 'success' }] });
    expect(pipeline.finished).toMatchObject([{ outcome: 'success', cost: undefined, unbilled: [] }]);
  });
});
