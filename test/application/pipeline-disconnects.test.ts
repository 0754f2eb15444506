import { describe, expect, it } from '@jest/globals';
import type { CallerLoss } from '../../application/model-request.ts';
import { fails, growing, says, type Script, type Step, streams } from '../support/fakes/scripted-upstream.ts';
import {
  aBudget,
  answer,
  cost,
  FakeLink,
  Pipeline,
  type PipelineOptions,
} from '../support/fakes/pipeline.ts';
import {
  chatFinish,
  chatText,
  chatUsage,
  done,
  failed,
  failedAsTold,
  responsesCompleted,
  responsesFailed,
  responsesText,
  usage,
} from '../support/fakes/stream-chunks.ts';

/** Steps of a stream; `leave` is the step at which the client disconnects. */
type Steps = (leave: () => unknown) => readonly Step[];

const midway: Steps = (leave) => [[chatText('Hi')], leave, [chatFinish], [chatUsage], done];
const afterUsage: Steps = (leave) => [[chatText('Hi'), chatUsage], leave, [chatFinish], done];
const afterFinish: Steps = (leave) => [[chatText('Hi')], [chatFinish], leave, [chatUsage], done];

async function left(
  options: PipelineOptions & { readonly steps?: Steps },
  why: CallerLoss = 'client_closed',
): Promise<Pipeline> {
  const { steps = midway, ...rest } = options;
  const script = streams(...steps(() => pipeline.link.lose(why)));
  const pipeline: Pipeline = new Pipeline({ stream: true, script, ...rest });
  return pipeline.serve();
}

const hard = { budget: aBudget() };
const soft = { budget: aBudget({ hardLimit: false }) };
const drained = 'cancel within 30000 ms';

/** The rows of a request whose client disconnected: status 499, and the result of the upstream call. */
const rowsOf = ({ log, ledger, finished }: Pipeline) => ({
  status: log?.statusCode,
  code: log?.errorCode,
  attempts: log?.attempts.map(({ status, errorCode }) => [status, errorCode]),
  ledger: ledger.rows.map(({ charge }) => charge.cost.pricingStatus),
  outcome: finished.map(({ outcome }) => outcome).join(),
});
const closed = { status: 499, code: 'client_closed', outcome: 'client_closed' };

describe('a client disconnect', () => {
  it('before the upstream call prevents the call, and there is no ledger row', async () => {
    const pipeline = new Pipeline();
    const served = pipeline.serve();
    pipeline.link.lose();
    await served;
    expect(pipeline.told).not.toContain('sent upstream');
    expect(rowsOf(pipeline)).toEqual({ ...closed, attempts: [], ledger: [] });
  });

  it('before the upstream accepted cancels the call, and there is no ledger row', async () => {
    const script: Script = { ...says(answer), accepts: false, meanwhile: () => pipeline.link.lose() };
    const pipeline: Pipeline = new Pipeline({ script });
    await pipeline.serve();
    expect(pipeline.upstream.orders).toEqual(['cancel']);
    expect(rowsOf(pipeline)).toEqual({
      ...closed,
      attempts: [['provider_error', 'client_closed']],
      ledger: [],
    });
  });

  it('after an upstream 2xx leaves a ledger row, with `usage_missing` if no usage was seen', async () => {
    const script: Script = { ...says(answer), accepts: true, meanwhile: () => pipeline.link.lose() };
    const pipeline: Pipeline = new Pipeline({ script });
    await pipeline.serve();
    expect(rowsOf(pipeline)).toEqual({
      ...closed,
      attempts: [['provider_error', 'client_closed']],
      ledger: ['usage_missing'],
    });
  });

  it('in a call that fails after it reported usage leaves a priced ledger row', async () => {
    const script: Script = {
      ...fails({ kind: 'transport', usage }),
      accepts: true,
      meanwhile: () => pipeline.link.lose(),
    };
    const pipeline: Pipeline = new Pipeline({ script, policy: { drainOnDisconnect: 'always' } });
    await pipeline.serve();
    expect(rowsOf(pipeline)).toEqual({
      ...closed,
      attempts: [['provider_error', 'client_closed']],
      ledger: ['priced'],
    });
  });

  it('after a 2xx that cannot be translated leaves a priced ledger row', async () => {
    const script: Script = { ...says({ choices: [], usage }), meanwhile: () => pipeline.link.lose() };
    const policy = { drainOnDisconnect: 'always' } as const;
    const pipeline: Pipeline = new Pipeline({ family: 'messages', script, policy });
    await pipeline.serve();
    expect(rowsOf(pipeline)).toEqual({
      ...closed,
      attempts: [['provider_error', 'client_closed']],
      ledger: ['priced'],
    });
  });

  it.each<[string, Steps, string]>([
    ['with `usage_missing`', midway, 'usage_missing'],
    ['priced if usage was seen before', afterUsage, 'priced'],
  ])('during a stream cancels the call and leaves a ledger row %s', async (_, steps, status) => {
    const pipeline = await left({ steps });
    expect(pipeline.upstream.orders).toEqual(['cancel']);
    expect(rowsOf(pipeline)).toEqual({
      ...closed,
      attempts: [['stream_error', 'client_closed']],
      ledger: [status],
    });
  });

  it.each<[string, Steps, number | undefined]>([
    [
      'before the first token leaves a log row without a first token time',
      (leave) => [leave, [chatText('Hi')], done],
      undefined,
    ],
    ['after the first token leaves a log row with its first token time', midway, 7],
  ])('%s, even if the stream is drained', async (_, steps, firstTokenMs) => {
    const pipeline = await left({ steps, policy: { drainOnDisconnect: 'always' } });
    expect(pipeline.upstream.orders).toEqual([drained]);
    expect(pipeline.log).toMatchObject({ statusCode: 499, firstTokenMs });
  });

  it('during a stream ends the writing to the caller', async () => {
    const pipeline = await left(hard);
    expect(pipeline.sentKinds).toEqual(['chunk']);
  });

  it.each<[string, Steps, PipelineOptions]>([
    ['the `finish_reason`', afterFinish, {}],
    [
      'a held terminal event',
      (leave) => [[responsesText('Hi')], [responsesCompleted], leave, done],
      { family: 'responses' },
    ],
  ])('after %s is a success', async (_, steps, options) => {
    const pipeline = await left({ steps, ...options });
    expect(pipeline.upstream.orders).not.toContain('cancel');
    expect(rowsOf(pipeline)).toEqual({
      status: 200,
      code: undefined,
      attempts: [['success', undefined]],
      ledger: ['priced'],
      outcome: 'success',
    });
  });

  it('after the `finish_reason` of one choice cancels the call if another choice has begun', async () => {
    const another = { ...chatText('Ho'), reopens: true } as const;
    const pipeline = await left({ steps: (leave) => [[chatFinish], [another], leave, [chatUsage], done] });
    expect(pipeline.upstream.orders.at(-1)).toBe('cancel');
    expect(rowsOf(pipeline)).toMatchObject({ ...closed, ledger: ['usage_missing'] });
  });

  it.each<[string, PipelineOptions, readonly string[], string]>([
    ['is cancelled', {}, ['cancel'], 'usage_missing'],
    [
      'is drained, if configured',
      { policy: { drainOnDisconnect: 'always' } },
      [drained, 'end within Infinity ms'],
      'priced',
    ],
  ])(
    'after the `finish_reason` was early if the answer goes on: the call %s',
    async (_, options, orders, row) => {
      const another = { ...chatText('Ho'), reopens: true } as const;
      const steps: Steps = (leave) => [[chatFinish], leave, [another], [chatUsage], [chatFinish], done];
      const pipeline = await left({ steps, ...options });
      expect(pipeline.upstream.orders).toEqual(['end within 10000 ms', ...orders]);
      expect(rowsOf(pipeline)).toMatchObject({ ...closed, ledger: [row] });
    },
  );

  it('after the `finish_reason` leaves a ledger row if the answer goes on and is then broken off', async () => {
    const another = { ...chatText('Ho'), reopens: true } as const;
    const pipeline = await left({ steps: (leave) => [[chatFinish], leave, [another], failed] });
    expect(rowsOf(pipeline)).toMatchObject({ ...closed, ledger: ['usage_missing'] });
  });

  it('after the upstream reported its failure is logged as an upstream error', async () => {
    const steps: Steps = (leave) => [[responsesFailed('It is too hot.')], leave, failedAsTold];
    const pipeline = await left({ steps, family: 'responses' });
    expect(rowsOf(pipeline)).toMatchObject({ code: 'upstream_error', outcome: 'upstream_error', ledger: [] });
  });

  it('before the upstream call times out is logged as `client_closed`, without a ledger row', async () => {
    const meanwhile = (): void => pipeline.link.lose();
    const script: Script = { ...fails({ kind: 'timeout', phase: 'first_byte' }), meanwhile };
    const pipeline: Pipeline = new Pipeline({ script, policy: { drainOnDisconnect: 'always' } });
    await pipeline.serve();
    expect(pipeline.upstream.orders).toEqual([drained]);
    expect(rowsOf(pipeline)).toMatchObject({ ...closed, ledger: [] });
  });

  it('in a request whose cost is blocked is logged as `client_closed`, without a ledger row', async () => {
    const policy = { drainOnDisconnect: 'always' } as const;
    const pipeline = await left({ budget: aBudget({ amount: cost - 1n }), policy });
    expect(pipeline.finished).toMatchObject([{ outcome: 'client_closed', settled: 'blocked' }]);
    expect(rowsOf(pipeline)).toMatchObject({ ...closed, ledger: [] });
  });
});

describe('after a client disconnect, a stream is drained', () => {
  it.each<[string, PipelineOptions]>([
    [
      'for an owner with a hard limit, if configured',
      { ...hard, policy: { drainOnDisconnect: 'hard_budget' } },
    ],
    ['for any owner, if configured', { policy: { drainOnDisconnect: 'always' } }],
  ])('%s: for at most 30 s, and its usage is charged', async (_, options) => {
    const pipeline = await left(options);
    expect(pipeline.upstream.orders).toEqual([drained]);
    expect(rowsOf(pipeline)).toEqual({
      ...closed,
      attempts: [['success', undefined]],
      ledger: ['priced'],
    });
  });

  it('and its payload has the events of the stream and the error `client_closed`', async () => {
    const pipeline = await left({ policy: { drainOnDisconnect: 'always' } });
    const response = (await pipeline.payloads[0]?.make())?.response.text ?? '';
    expect(JSON.parse(response)).toMatchObject({
      stream: true,
      events: [{ choices: [{ delta: { content: 'Hi' } }] }, expect.anything(), expect.anything()],
      error: { code: 'client_closed' },
    });
  });

  it.each<[string, PipelineOptions]>([
    ['if it is disabled', { ...hard, policy: { drainOnDisconnect: 'never' } }],
    ['for a soft limit', { ...soft, policy: { drainOnDisconnect: 'hard_budget' } }],
    ['for an owner without a budget', { policy: { drainOnDisconnect: 'hard_budget' } }],
    [
      'if the maximum number of streams is being drained',
      { policy: { drainOnDisconnect: 'always', maxDrains: 0 } },
    ],
    [
      'if the request is not charged',
      {
        family: 'count_tokens',
        provider: { takes: () => 'as_written' },
        policy: { drainOnDisconnect: 'always' },
      },
    ],
  ])('not %s', async (_, options) => {
    expect((await left(options)).upstream.orders).toEqual(['cancel']);
  });

  it('and charged with `usage_missing` if it does not end in time', async () => {
    const steps: Steps = (leave) => [[chatText('Hi')], leave, failed('The upstream did not finish in time.')];
    const pipeline = await left({ steps, policy: { drainOnDisconnect: 'always' } });
    expect(rowsOf(pipeline)).toEqual({
      ...closed,
      attempts: [['stream_error', 'client_closed']],
      ledger: ['usage_missing'],
    });
  });

  const oneAtOnce: PipelineOptions = {
    stream: true,
    policy: { drainOnDisconnect: 'always', maxDrains: 1 },
  };

  it('but not if its upstream call has ended already', async () => {
    const pipeline = await new Pipeline({ ...oneAtOnce, stream: false }).serve();
    pipeline.link.lose();
    expect([pipeline.upstream.orders, pipeline.answer?.kind]).toEqual([[], 'whole']);
  });

  it.each<[string, (leave: () => void) => Script]>([
    ['a stream', (leave) => streams(...midway(leave))],
    ['a whole answer', (leave) => ({ ...says(answer), meanwhile: leave })],
    ['a failure', (leave) => ({ ...fails({ kind: 'transport' }), meanwhile: leave })],
  ])('in a slot that is released at its end: %s', async (_, scriptOf) => {
    const links = [new FakeLink(), new FakeLink()];
    let served = 0;
    const script = scriptOf(() => links[served]?.lose());
    const pipeline = new Pipeline({ ...oneAtOnce, script });
    for (const link of links) {
      await pipeline.serve({ link });
      served += 1;
    }
    expect(pipeline.upstream.orders).toEqual([drained, drained]);
  });

  it.each([1, 2, 3])(
    'if one of the slots is free, and each drain releases exactly one slot: %i slots',
    async (maxDrains) => {
      const links: FakeLink[] = [];
      const script = streams(...midway(() => leaveAndBegin(links.shift())));
      const pipeline = new Pipeline({ ...oneAtOnce, script, policy: { ...oneAtOnce.policy, maxDrains } });
      const leaveAndBegin = async (link: FakeLink | undefined) => {
        link?.lose();
        const [next] = links;
        if (next !== undefined) await pipeline.serve({ link: next });
      };
      await pipeline.serve({ link: new FakeLink() });
      const before = new FakeLink();
      links.push(before);
      await pipeline.serve({ link: before });
      const first = new FakeLink();
      links.push(first, ...Array.from({ length: maxDrains }, () => new FakeLink()));
      await pipeline.serve({ link: first });
      const left = pipeline.upstream.orders.filter((order) => order.startsWith('cancel'));
      expect(left).toEqual([...Array.from({ length: maxDrains + 1 }, () => drained), 'cancel']);
      expect(pipeline.finished).toHaveLength(maxDrains + 3);
    },
  );
});

describe('a client disconnect while the database is lost', () => {
  it.each<[string, PipelineOptions]>([
    ['a hard', hard],
    ['a soft', soft],
  ])('leaves a record with the drained usage in the journal: owner with %s limit', async (_, of) => {
    const lose = () => (pipeline.ledger.database = 'lost');
    const script = streams(
      [chatText('Hi')],
      () => pipeline.link.lose(),
      lose,
      [chatFinish],
      [chatUsage],
      done,
    );
    const pipeline: Pipeline = new Pipeline({
      stream: true,
      script,
      policy: { drainOnDisconnect: 'always' },
      ...of,
    });
    await pipeline.serve();
    expect(pipeline.ledger.journal).toMatchObject([
      { charge: { cost: { pricingStatus: 'priced' } }, deferrableTo: pipeline.ledger.now },
    ]);
    expect(pipeline.sentKinds).toEqual(['chunk']);
    expect(pipeline.finished).toMatchObject([{ outcome: 'client_closed' }]);
  });
});

describe('a request that is interrupted by shutdown', () => {
  const cut = { status: 503, code: 'shutting_down', outcome: 'interrupted' };

  it('ends its stream with `shutting_down`, is logged with 503, and is charged like a client disconnect', async () => {
    const pipeline = await left({}, 'shutting_down');
    expect(pipeline.sentKinds).toEqual(['chunk', 'failed']);
    expect(pipeline.refusedWith).toBe('shutting_down');
    expect(rowsOf(pipeline)).toEqual({
      ...cut,
      attempts: [['stream_error', 'shutting_down']],
      ledger: ['usage_missing'],
    });
  });

  it('gets `shutting_down` before its upstream call', async () => {
    const pipeline = new Pipeline();
    const served = pipeline.serve();
    pipeline.link.lose('shutting_down');
    await served;
    expect(pipeline.answer).toMatchObject({ kind: 'refused', error: { code: 'shutting_down' } });
    expect(rowsOf(pipeline)).toEqual({ ...cut, attempts: [], ledger: [] });
  });

  it('gets `shutting_down` before the upstream answered, and its call is cancelled', async () => {
    const script: Script = { ...says(answer), meanwhile: () => pipeline.link.lose('shutting_down') };
    const pipeline: Pipeline = new Pipeline({ script });
    await pipeline.serve();
    expect(pipeline.upstream.orders).toEqual(['cancel']);
    expect(pipeline.answer).toMatchObject({ kind: 'refused', error: { code: 'shutting_down' } });
    expect(rowsOf(pipeline)).toMatchObject({ ...cut, attempts: [['provider_error', 'shutting_down']] });
  });

  it('gets `shutting_down` instead of an answer that arrived while draining, which is charged', async () => {
    const script: Script = { ...says(answer), meanwhile: () => pipeline.link.lose('shutting_down') };
    const pipeline: Pipeline = new Pipeline({ script, policy: { drainOnDisconnect: 'always' } });
    await pipeline.serve();
    expect(pipeline.answer).toMatchObject({ kind: 'refused', error: { code: 'shutting_down' } });
    expect(rowsOf(pipeline)).toEqual({ ...cut, attempts: [['success', undefined]], ledger: ['priced'] });
  });

  it('is a success if the answer was already complete', async () => {
    const pipeline = await left({ steps: afterFinish }, 'shutting_down');
    expect(pipeline.sentKinds.at(-1)).toBe('done');
    expect(rowsOf(pipeline)).toMatchObject({ status: 200, outcome: 'success', ledger: ['priced'] });
  });

  it('is logged as `client_closed` if the client had disconnected before', async () => {
    const steps: Steps = (leave) => [
      [chatText('Hi')],
      () => pipeline.link.lose('client_closed'),
      leave,
      growing(10),
      failed(),
    ];
    const pipeline: Pipeline = new Pipeline({
      stream: true,
      script: streams(...steps(() => pipeline.link.lose('shutting_down'))),
    });
    await pipeline.serve();
    expect(rowsOf(pipeline)).toMatchObject(closed);
  });
});
