import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { ApiFamily } from '../../domain/routing/model.ts';
import { invalidRequest } from '../../domain/shared/gateway-error.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import { aModel, aRoute } from '../support/arbitraries/routing.ts';
import { fails, says, type Script, streams, turn } from '../support/fakes/scripted-upstream.ts';
import { aBudget, answer, Pipeline, type PipelineOptions } from '../support/fakes/pipeline.ts';
import {
  chatFinish,
  chatText,
  chatUsage,
  done,
  responsesCompleted,
  responsesText,
} from '../support/fakes/stream-chunks.ts';

const chatStream = streams([chatText('Hel')], [chatText('lo.')], [chatFinish], [chatUsage], done);

describe('the order of a model request', () => {
  it('for a whole answer is admission, upstream call, settlement, payload, answer', async () => {
    const { told } = await new Pipeline().serve();
    expect(told).toEqual([
      'admission asked',
      'admitted',
      'sent upstream',
      'settlement asked',
      'recorded',
      'payload kept',
      'outcome: success',
      'caller: whole',
    ]);
  });

  it('for a stream is the same, but its chunks do not wait for the settlement', async () => {
    const { told } = await new Pipeline({ stream: true, script: chatStream }).serve();
    expect(told).toEqual([
      'admission asked',
      'admitted',
      'sent upstream',
      'first content',
      'caller: chunk',
      'caller: chunk',
      'caller: chunk',
      'caller: chunk',
      'settlement asked',
      'recorded',
      'payload kept',
      'outcome: success',
      'caller: done',
    ]);
  });

  const families = fc.constantFrom<ApiFamily>(
    'chat_completions',
    'messages',
    'responses',
    'embeddings',
    'count_tokens',
  );
  const faults = fc.constantFrom<UpstreamFault>(
    { kind: 'transport' },
    { kind: 'timeout', phase: 'total' },
    { kind: 'status', status: 400, message: 'No.', headers: {} },
    { kind: 'protocol', message: 'Not JSON.' },
  );
  const scripts: fc.Arbitrary<Script> = fc.oneof(
    fc.constant(says(answer)),
    fc.constant(chatStream),
    faults.map(fails),
  );
  const pipelines = fc.record({
    family: families,
    stream: fc.boolean(),
    script: scripts,
    amount: fc.constantFrom(0n, 1n, 1_000_000_000n),
    hardLimit: fc.boolean(),
    database: fc.constantFrom('there' as const, 'lost' as const),
    request: fc.constantFrom<NonNullable<PipelineOptions['request']>>(
      {},
      { body: E.left(invalidRequest('No body.')) },
    ),
  });

  it('always sends at most one upstream call, only after the admission, and has exactly one outcome', async () => {
    await fc.assert(
      fc.asyncProperty(pipelines, async ({ amount, hardLimit, database, ...options }) => {
        const pipeline = new Pipeline({
          ...options,
          budget: aBudget({ amount, hardLimit }),
          provider: { takes: () => 'as_written' },
        });
        pipeline.ledger.database = database;
        await pipeline.serve();
        const { told, finished } = pipeline;
        const sent = told.indexOf('sent upstream');
        if (sent >= 0) expect(told.slice(0, sent)).toContain('admitted');
        expect(told.filter((line) => line === 'sent upstream').length).toBeLessThanOrEqual(1);
        expect(finished).toHaveLength(1);
      }),
      { seed: 161, numRuns: 150 },
    );
  });

  it('always commits or journals the rows before the caller has a complete answer', async () => {
    await fc.assert(
      fc.asyncProperty(pipelines, async ({ amount, hardLimit, database, ...options }) => {
        const pipeline: Pipeline = new Pipeline({
          ...options,
          script: { ...options.script, meanwhile: () => (pipeline.ledger.database = database) },
          budget: aBudget({ amount, hardLimit }),
          provider: { takes: () => 'as_written' },
        });
        const { told } = await pipeline.serve();
        const complete = told.findIndex((line) => /^caller: (?:whole|done|held chunk)$/.test(line));
        if (complete >= 0) expect(told.slice(0, complete).join()).toMatch(/recorded|journaled/);
      }),
      { seed: 162, numRuns: 150 },
    );
  });
});

describe('before the settlement is committed', () => {
  /** What the caller has received before the settlement is recorded. */
  const hasThen = async (options: PipelineOptions): Promise<readonly string[]> => {
    const { told } = await new Pipeline(options).serve();
    return told.slice(0, told.indexOf('recorded')).filter((line) => line.startsWith('caller'));
  };

  it('the caller of a whole answer has received nothing', async () => {
    expect(await hasThen({})).toEqual([]);
  });

  it('the caller of a chat stream has received everything except `[DONE]`', async () => {
    expect(await hasThen({ stream: true, script: chatStream })).toEqual(Array(4).fill('caller: chunk'));
  });

  it('the caller of a responses stream has received everything before the terminal event', async () => {
    const script = streams([responsesText('Hi')], [responsesCompleted, responsesText('late')], done);
    expect(await hasThen({ family: 'responses', stream: true, script })).toEqual(['caller: chunk']);
  });

  it('the caller of a translated messages stream has received everything except `message_stop`', async () => {
    const pipeline = await new Pipeline({ family: 'messages', stream: true, script: chatStream }).serve();
    const types = pipeline.sent.map((event) => event.kind === 'chunk' && event.chunk['type']);
    expect(types.slice(-4)).toEqual(['content_block_stop', 'message_delta', 'message_stop', false]);
    expect(pipeline.told.filter((line) => /caller|settlement|recorded/.test(line)).slice(-5)).toEqual([
      'caller: chunk',
      'settlement asked',
      'recorded',
      'caller: held chunk',
      'caller: done',
    ]);
  });

  it('the journal counts as a commit if the database is lost and no hard limit applies', async () => {
    const script = streams([chatText('Hi')], () => (pipeline.ledger.database = 'lost'), [chatFinish], done);
    const pipeline: Pipeline = new Pipeline({ stream: true, script });
    await pipeline.serve();
    expect(pipeline.before('journaled', 'caller: done')).toBe(true);
    expect(pipeline.ledger.journal).toHaveLength(1);
  });
});

describe('nothing is sent upstream, admitted or charged, and the refusal is logged', () => {
  it.each<[string, PipelineOptions]>([
    ['for a body that could not be received', { request: { body: E.left(invalidRequest('Too slow.')) } }],
    ['for a body that is not JSON', { request: { body: E.right('{') } }],
    ['for tags that are not well-formed', { request: { tags: E.left(invalidRequest('No tag.')) } }],
    ['for an unknown model', { asks: { model: 'none' } }],
    ['for a model without a route', { models: [aModel([])] }],
    [
      'for a request that the upstream cannot express',
      { script: { ...says(answer), refusal: invalidRequest('n') } },
    ],
  ])('%s', async (_, options) => {
    const { told, ledger } = await new Pipeline(options).serve();
    expect(told).not.toContain('admission asked');
    expect(told).not.toContain('sent upstream');
    expect([ledger.rows, ledger.logs.length]).toEqual([[], 1]);
    expect(told.at(-1)).toBe('caller: refused');
  });
});

describe('an upstream call', () => {
  it('uses only the first route, even if that fails', async () => {
    const routes = [aRoute({ upstreamModel: 'first' }), aRoute({ upstreamModel: 'second', priority: 200 })];
    const pipeline = await new Pipeline({
      models: [aModel(routes)],
      script: fails({ kind: 'transport' }),
    }).serve();
    expect(pipeline.upstream.calls.map(({ route }) => route.upstreamModel)).toEqual(['first']);
    expect(pipeline.refusedWith).toBe('upstream_error');
  });

  it('has the caller’s digits in its body, and the trace context of its own span', async () => {
    const pipeline = await new Pipeline({
      request: { body: E.right('{"model":"fast","messages":[{"role":"user","content":""}],"x":1.10}') },
    }).serve();
    expect(pipeline.upstream.calls).toMatchObject([
      { family: 'chat_completions', stream: false, body: expect.stringContaining('"x":1.10') },
    ]);
    expect(pipeline.upstream.traceContexts).toEqual([{ traceparent: 'of the span' }]);
  });

  it.each<[string, ApiFamily, boolean]>([
    ['the received bytes if the body is not translated', 'chat_completions', true],
    ['no received bytes if the body is translated', 'messages', false],
  ])('has %s', async (_, family, isOwn) => {
    const own = { model: 'fast', messages: [{ role: 'user', content: '–' }], max_tokens: 5 };
    const text = JSON.stringify(own);
    const request = { body: E.right(text), takeUtf8: () => Buffer.from(text) };
    const { upstream } = await new Pipeline({ family, request }).serve();
    const [call] = upstream.calls;
    expect(call?.utf8 !== undefined).toBe(isOwn);
    if (isOwn) expect(Buffer.concat(call?.utf8 ?? []).toString()).toBe(call?.body);
    expect(JSON.parse(call?.body ?? '')).toMatchObject({ model: 'upstream-fast' });
  });

  it('is paused while the caller does not read the stream', async () => {
    const room = Promise.withResolvers<void>();
    const pipeline = new Pipeline({ stream: true, script: chatStream });
    pipeline.slow = () => (pipeline.sent.length === 1 ? room.promise : undefined);
    const served = pipeline.serve();
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect(pipeline.sentKinds).toEqual(['chunk']);
    room.resolve();
    await served;
    expect(pipeline.sentKinds).toEqual(['chunk', 'chunk', 'chunk', 'chunk', 'done']);
  });
});
