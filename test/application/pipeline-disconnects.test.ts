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

/** Steps of a stream; `leave` is where the caller goes. */
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

/** How a caller that left is logged: with status 499, and what became of the call upstream. */
const rowsOf = ({ log, ledger, finished }: Pipeline) => ({
  status: log?.statusCode,
  code: log?.errorCode,
  attempts: log?.attempts.map(({ status, errorCode }) => [status, errorCode]),
  ledger: ledger.rows.map(({ charge }) => charge.cost.pricingStatus),
  outcome: finished.map(({ outcome }) => outcome).join(),
});
const closed = { status: 499, code: 'client_closed', outcome: 'client_closed' };

describe('a caller that leaves', () => {
  it('before the call was sent has no call, and no ledger row', async () => {
    const pipeline = new Pipeline();
    const served = pipeline.serve();
    pipeline.link.lose();
    await served;
    expect(pipeline.told).not.toContain('sent upstream');
    expect(rowsOf(pipeline)).toEqual({ ...closed, attempts: [], ledger: [] });
  });

  it('before the upstream answered has its call cancelled, and no ledger row: nothing was accepted', async () => {
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

  it('after an upstream 2xx has a ledger row, without usage where none was seen', async () => {
    const script: Script = { ...says(answer), accepts: true, meanwhile: () => pipeline.link.lose() };
    const pipeline: Pipeline = new Pipeline({ script });
    await pipeline.serve();
    expect(rowsOf(pipeline)).toEqual({
      ...closed,
      attempts: [['provider_error', 'client_closed']],
      ledger: ['usage_missing'],
    });
  });

  it('in a call that ends without an answer has a priced ledger row where usage was seen before', async () => {
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

  it('after a 2xx that cannot be said in its family has a priced ledger row all the same', async () => {
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
    ['without usage', midway, 'usage_missing'],
    ['priced where usage was seen before', afterUsage, 'priced'],
  ])('in the middle of a stream has a ledger row %s', async (_, steps, status) => {
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
      'has no time to a first token where none came before',
      (leave) => [leave, [chatText('Hi')], done],
      undefined,
    ],
    ['keeps the time to the first token that it had', midway, 7],
  ])('%s, though its stream is read to its end', async (_, steps, firstTokenMs) => {
    const pipeline = await left({ steps, policy: { drainOnDisconnect: 'always' } });
    expect(pipeline.upstream.orders).toEqual([drained]);
    expect(pipeline.log).toMatchObject({ statusCode: 499, firstTokenMs });
  });

  it('is written to no longer, while its stream goes on to its end', async () => {
    const pipeline = await left(hard);
    expect(pipeline.sentKinds).toEqual(['chunk']);
  });

  it.each<[string, Steps, PipelineOptions]>([
    ['the `finish_reason`', afterFinish, {}],
    [
      'a terminal event that is held',
      (leave) => [[responsesText('Hi')], [responsesCompleted], leave, done],
      { family: 'responses' },
    ],
  ])('after %s has left nothing early: it is a success', async (_, steps, options) => {
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

  it('after the `finish_reason` of one choice has left early where another has begun', async () => {
    const another = { ...chatText('Ho'), reopens: true } as const;
    const pipeline = await left({ steps: (leave) => [[chatFinish], [another], leave, [chatUsage], done] });
    expect(pipeline.upstream.orders.at(-1)).toBe('cancel');
    expect(rowsOf(pipeline)).toMatchObject({ ...closed, ledger: ['usage_missing'] });
  });

  it('after the `finish_reason`, and before another choice begins, is waited for no longer than for the end', async () => {
    const another = { ...chatText('Ho'), reopens: true } as const;
    const pipeline = await left({ steps: (leave) => [[chatFinish], leave, [another], [chatUsage], done] });
    expect(pipeline.upstream.orders).toEqual(['end within 10000 ms']);
    expect(rowsOf(pipeline)).toMatchObject({ status: 200, outcome: 'success', ledger: ['priced'] });
  });

  it('after the upstream told its failure has not left early: the failure is the upstream’s', async () => {
    const steps: Steps = (leave) => [[responsesFailed('It is too hot.')], leave, failedAsTold];
    const pipeline = await left({ steps, family: 'responses' });
    expect(rowsOf(pipeline)).toMatchObject({ code: 'upstream_error', outcome: 'upstream_error', ledger: [] });
  });

  it('from a call that fails by itself has left first: no ledger row but for what was accepted', async () => {
    const meanwhile = (): void => pipeline.link.lose();
    const script: Script = { ...fails({ kind: 'timeout', phase: 'first_byte' }), meanwhile };
    const pipeline: Pipeline = new Pipeline({ script, policy: { drainOnDisconnect: 'always' } });
    await pipeline.serve();
    expect(pipeline.upstream.orders).toEqual([drained]);
    expect(rowsOf(pipeline)).toMatchObject({ ...closed, ledger: [] });
  });

  it('is no failure of its own where its cost is blocked: it has left', async () => {
    const policy = { drainOnDisconnect: 'always' } as const;
    const pipeline = await left({ budget: aBudget({ amount: cost - 1n }), policy });
    expect(pipeline.finished).toMatchObject([{ outcome: 'client_closed', settled: 'blocked' }]);
    expect(rowsOf(pipeline)).toMatchObject({ ...closed, ledger: [] });
  });
});

describe('a stream that its caller left is drained', () => {
  it.each<[string, PipelineOptions]>([
    [
      'for an owner with a hard limit, where that is asked',
      { ...hard, policy: { drainOnDisconnect: 'hard_budget' } },
    ],
    ['for anybody, where that is asked', { policy: { drainOnDisconnect: 'always' } }],
  ])('%s: for a bounded time, so that its cost is known', async (_, options) => {
    const pipeline = await left(options);
    expect(pipeline.upstream.orders).toEqual([drained]);
    expect(rowsOf(pipeline)).toEqual({
      ...closed,
      attempts: [['success', undefined]],
      ledger: ['priced'],
    });
  });

  it('and its payload has what there was of it, with the failure that it was to its caller', async () => {
    const pipeline = await left({ policy: { drainOnDisconnect: 'always' } });
    const response = (await pipeline.payloads[0]?.make())?.response.text ?? '';
    expect(JSON.parse(response)).toMatchObject({
      stream: true,
      events: [{ choices: [{ delta: { content: 'Hi' } }] }, expect.anything(), expect.anything()],
      error: { code: 'client_closed' },
    });
  });

  it.each<[string, PipelineOptions]>([
    ['where nobody asks for it', { ...hard, policy: { drainOnDisconnect: 'never' } }],
    ['for a soft limit', { ...soft, policy: { drainOnDisconnect: 'hard_budget' } }],
    ['for an owner without a budget', { policy: { drainOnDisconnect: 'hard_budget' } }],
    [
      'where as many are drained as may be at once',
      { policy: { drainOnDisconnect: 'always', maxDrains: 0 } },
    ],
    [
      'where it is not charged',
      {
        family: 'count_tokens',
        provider: { takes: () => 'as_written' },
        policy: { drainOnDisconnect: 'always' },
      },
    ],
  ])('not %s', async (_, options) => {
    expect((await left(options)).upstream.orders).toEqual(['cancel']);
  });

  it('without usage where it does not come to its end in that time', async () => {
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

  it('and not where its call is over: who leaves then takes no place, and ends nothing', async () => {
    const pipeline = await new Pipeline({ ...oneAtOnce, stream: false }).serve();
    pipeline.link.lose();
    expect([pipeline.upstream.orders, pipeline.answer?.kind]).toEqual([[], 'whole']);
  });

  it.each<[string, (leave: () => void) => Script]>([
    ['a stream', (leave) => streams(...midway(leave))],
    ['a whole answer', (leave) => ({ ...says(answer), meanwhile: leave })],
    ['a failure', (leave) => ({ ...fails({ kind: 'transport' }), meanwhile: leave })],
  ])('in a place that the next one has when it has ended: %s', async (_, scriptOf) => {
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
    'in one of as many places as there are, of which each gives one back, and others none: %i',
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

describe('a caller that left, and the database is lost meanwhile,', () => {
  it.each<[string, PipelineOptions]>([
    ['a hard', hard],
    ['a soft', soft],
  ])(
    'has its record in the journal, with the usage that was waited for: owner with %s limit',
    async (_, of) => {
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
    },
  );
});

describe('what the gateway cuts off at its own end', () => {
  const cut = { status: 503, code: 'shutting_down', outcome: 'interrupted' };

  it('is told so in the stream, charged as one that was left, and not its caller’s doing', async () => {
    const pipeline = await left({}, 'shutting_down');
    expect(pipeline.sentKinds).toEqual(['chunk', 'failed']);
    expect(pipeline.refusedWith).toBe('shutting_down');
    expect(rowsOf(pipeline)).toEqual({
      ...cut,
      attempts: [['stream_error', 'shutting_down']],
      ledger: ['usage_missing'],
    });
  });

  it('is told so before its call was sent, too', async () => {
    const pipeline = new Pipeline();
    const served = pipeline.serve();
    pipeline.link.lose('shutting_down');
    await served;
    expect(pipeline.answer).toMatchObject({ kind: 'refused', error: { code: 'shutting_down' } });
    expect(rowsOf(pipeline)).toEqual({ ...cut, attempts: [], ledger: [] });
  });

  it('is told so where the upstream had not answered yet', async () => {
    const script: Script = { ...says(answer), meanwhile: () => pipeline.link.lose('shutting_down') };
    const pipeline: Pipeline = new Pipeline({ script });
    await pipeline.serve();
    expect(pipeline.upstream.orders).toEqual(['cancel']);
    expect(pipeline.answer).toMatchObject({ kind: 'refused', error: { code: 'shutting_down' } });
    expect(rowsOf(pipeline)).toMatchObject({ ...cut, attempts: [['provider_error', 'shutting_down']] });
  });

  it('is told so instead of a whole answer that came while it was drained', async () => {
    const script: Script = { ...says(answer), meanwhile: () => pipeline.link.lose('shutting_down') };
    const pipeline: Pipeline = new Pipeline({ script, policy: { drainOnDisconnect: 'always' } });
    await pipeline.serve();
    expect(pipeline.answer).toMatchObject({ kind: 'refused', error: { code: 'shutting_down' } });
    expect(rowsOf(pipeline)).toEqual({ ...cut, attempts: [['success', undefined]], ledger: ['priced'] });
  });

  it('is a success where the answer was complete already', async () => {
    const pipeline = await left({ steps: afterFinish }, 'shutting_down');
    expect(pipeline.sentKinds.at(-1)).toBe('done');
    expect(rowsOf(pipeline)).toMatchObject({ status: 200, outcome: 'success', ledger: ['priced'] });
  });

  it('goes by what came first: who had left before is not told, and has left', async () => {
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
