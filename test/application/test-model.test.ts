import { afterEach, describe, expect, it, jest } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { testModel, type TestModelPorts } from '../../application/models/test-model.ts';
import { wordsOf } from '../../application/models/tiny-request.ts';
import type { ModelTest, RecordedTest } from '../../application/ports/model-tests.ts';
import { testSlot } from '../../composition/model-tests.ts';
import { overloaded, tooManyRequests } from '../../domain/shared/gateway-error.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { cutOff } from '../../interfaces/http/cut-off.ts';
import { type LoadLimits, loadGate } from '../../interfaces/http/load-gate.ts';
import { anActor } from '../support/admin-actor.ts';
import { aModel, aRoute } from '../support/arbitraries/routing.ts';
import { says, type Script } from '../support/fakes/scripted-upstream.ts';
import { answer, cost, Pipeline } from '../support/fakes/pipeline.ts';

/** An upstream that does not answer until it is cancelled. */
const silent: Script = { ...says(answer), meanwhile: () => new Promise(() => undefined), accepts: false };

const limits: LoadLimits = { maxInFlight: 2, maxInFlightPerOwner: 1, maxBufferedBytes: 1_000_000 };
const owner = { kind: 'team', teamId: 't' } as const;
const ask = { modelKey: 'fast', routePosition: undefined, owner, family: undefined };

/** Model tests that use the ledger, upstream and clock of a pipeline. */
function bench(script: Script, maxMs?: number) {
  const pipeline = new Pipeline({
    script,
    models: [aModel([aRoute(), aRoute({ routeId: 'fast#1', upstreamModel: 'second', priority: 200 })])],
  });
  const gate = loadGate(limits);
  const cut = cutOff();
  const recorded: ModelTest[] = [];
  let found: RecordedTest = { kind: 'recorded', keyOwner: owner };
  const ports: TestModelPorts = {
    ...pipeline.ports(),
    modelTests: {
      record: async (test) => {
        recorded.push(test);
        return found;
      },
    },
    enter: testSlot(gate, cut, maxMs),
    telemetry: { begin: () => pipeline.telemetry() },
    digest: textDigest,
  };
  return {
    pipeline,
    gate,
    cut,
    recorded,
    finds: (next: RecordedTest) => void (found = next),
    run: (over: object = {}) => testModel(ports, () => pipeline.policy)({ ...ask, ...over }, anActor),
  };
}

describe('a test of a model', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is served like a caller’s request, for the owner and without an API key', async () => {
    const { pipeline, run, recorded, gate } = bench(says(answer));
    const result = await run();
    expect(result).toMatchObject({
      _tag: 'Right',
      right: {
        family: 'chat_completions',
        error: undefined,
        text: 'Hello.',
        finished: { outcome: 'success', cost: { cost } },
      },
    });
    const [requestId] = recorded.map((test) => test.requestId);
    expect(pipeline.ledger.rows.map(({ charge }) => charge)).toMatchObject([
      {
        requestId,
        requestLogId: requestId,
        caller: { apiKeyId: undefined, keyOwner: owner, allowedModels: [] },
      },
    ]);
    expect(pipeline.log).toMatchObject({
      requestId,
      tags: { service: 'gateway', component: 'model-test', env: undefined, bespoke: [] },
    });
    expect(gate.inFlight()).toBe(0);
  });

  it('uses only the chosen route', async () => {
    const { pipeline, run } = bench(says(answer));
    await run({ routePosition: 1 });
    await run({ routePosition: 7 });
    await run({ modelKey: 'disabled' });
    expect(
      pipeline.finished.map(({ resolved, errorCode }) => resolved?.route.upstreamModel ?? errorCode),
    ).toEqual(['second', 'no_routes_available', 'no_routes_available']);
  });

  it('ends at its timeout: the upstream call is cancelled and not drained', async () => {
    const { pipeline, run, gate } = bench(silent, 500);
    pipeline.policy = { ...pipeline.policy, drainOnDisconnect: 'always' };
    expect(await run()).toMatchObject({ right: { finished: { outcome: 'client_closed', statusCode: 499 } } });
    expect(pipeline.upstream.orders).toEqual(['cancel']);
    expect(gate.inFlight()).toBe(0);
  });

  it('has a timeout of 60 seconds', () => {
    jest.useFakeTimers();
    const entered = testSlot(loadGate(limits), cutOff())('team:t:actor:none');
    if (E.isLeft(entered)) throw new Error('there is no room');
    const { link } = entered.right;
    jest.advanceTimersByTime(59_999);
    expect(link.lost()).toBeUndefined();
    jest.advanceTimersByTime(1);
    expect(link.lost()).toBe('client_closed');
  });

  it('ends as interrupted when the process shuts down', async () => {
    const { run, cut } = bench(silent);
    const running = run();
    setImmediate(() => cut.now());
    expect(await running).toMatchObject({
      right: { finished: { outcome: 'interrupted' }, error: { code: 'shutting_down' } },
    });
  });

  it('is rejected without queueing when the process or its owner has too many requests in flight', async () => {
    const { run, gate, recorded } = bench(says(answer));
    const own = gate.enter();
    own?.belongsTo('team:t:actor:none');
    expect(await run()).toEqual(E.left(tooManyRequests));
    const other = gate.enter();
    expect(await run()).toEqual(E.left(overloaded));
    expect(recorded).toEqual([]);
    own?.release();
    other?.release();
    expect(await run()).toMatchObject({ _tag: 'Right' });
  });

  it.each([
    ['no_model', 'model_id'],
    ['no_route', 'route_position'],
    ['no_owner', 'owner_id'],
  ] as const)('sends nothing upstream for %s, and names %s in the error', async (kind, param) => {
    const { pipeline, run, finds, gate } = bench(says(answer));
    finds({ kind });
    expect(await run()).toMatchObject({ _tag: 'Left', left: { param } });
    expect(pipeline.told).toEqual([]);
    expect(gate.inFlight()).toBe(0);
  });

  it('returns 200 characters of the answer, without a credential that the upstream repeats', async () => {
    const content = `upstream-credential-1 ${'x'.repeat(300)}`;
    const { run } = bench(says({ choices: [{ message: { content } }] }));
    const result = await run();
    const text = E.isRight(result) ? (result.right.text ?? '') : '';
    expect(text).toHaveLength(200);
    expect(text).not.toContain('upstream-credential-1');
  });
});

describe('the text of an answer', () => {
  it.each([
    ['chat_completions', { choices: [{ message: { content: [{ type: 'text', text: 'ok' }] } }] }, 'ok'],
    ['chat_completions', { choices: [{ message: { content: null } }] }, undefined],
    [
      'messages',
      { content: [{ type: 'text', text: 'o' }, { type: 'tool_use' }, { type: 'text', text: 'k' }] },
      'ok',
    ],
    [
      'responses',
      { output: [{ type: 'reasoning' }, { content: [{ type: 'output_text', text: 'ok' }] }] },
      'ok',
    ],
    ['embeddings', { data: [{ embedding: [1] }] }, undefined],
    ['chat_completions', undefined, undefined],
  ] as const)('of %s %j is %j', (family, body, expected) => {
    expect(wordsOf(family, body)).toBe(expected);
  });
});
