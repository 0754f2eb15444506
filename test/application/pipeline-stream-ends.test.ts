import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ApiFamily } from '../../domain/routing/model.ts';
import { maxHeldBytes } from '../../domain/shared/limits.ts';
import { type Chunk, growing, type Step, streams } from '../support/fakes/scripted-upstream.ts';
import { aBudget, cost, costUsd, Pipeline, type PipelineOptions } from '../support/fakes/pipeline.ts';
import {
  chatFinish,
  chatText,
  chatUsage,
  done,
  failed,
  failedAsTold,
  messageDelta,
  messageStop,
  messageText,
  responsesCompleted,
  responsesFailed,
  responsesText,
} from '../support/fakes/stream-chunks.ts';

/** A family's stream, and its events that are held until the settlement. */
interface Shape {
  readonly family: ApiFamily;
  readonly provider?: PipelineOptions['provider'];
  readonly steps: readonly Step[];
  /** The events that are sent after a successful settlement. */
  readonly held: readonly string[];
}

const asWritten: NonNullable<PipelineOptions['provider']> = { takes: () => 'as_written' };

const shapes: Readonly<Record<string, Shape>> = {
  'a chat stream': {
    family: 'chat_completions',
    steps: [[chatText('Hi')], [chatFinish], [chatUsage]],
    held: ['done'],
  },
  'a responses stream': {
    family: 'responses',
    steps: [[responsesText('Hi')], [responsesCompleted]],
    held: ['held chunk', 'done'],
  },
  'a messages stream in its own words': {
    family: 'messages',
    provider: asWritten,
    steps: [[messageText('Hi')], [messageDelta, messageStop]],
    held: ['held chunk', 'done'],
  },
  'a messages stream that is translated': {
    family: 'messages',
    steps: [[chatText('Hi')], [chatFinish], [chatUsage]],
    held: ['held chunk', 'done'],
  },
};

/** The result of the settlement, and what the caller gets after the chunks that were not held. */
interface Verdict {
  readonly options?: PipelineOptions;
  /** Happens before the stream ends. */
  readonly before?: (pipeline: Pipeline) => unknown;
  readonly refusal?: string;
  readonly outcome: string;
  readonly settled: string;
  readonly rows: number;
}

const verdicts: Readonly<Record<string, Verdict>> = {
  recorded: { outcome: 'success', settled: 'recorded', rows: 1 },
  duplicate: {
    before: (pipeline) => pipeline.ledger.rows.push(rowOf(pipeline)),
    outcome: 'success',
    settled: 'duplicate',
    rows: 1,
  },
  journaled: {
    before: ({ ledger }) => (ledger.database = 'lost'),
    outcome: 'success',
    settled: 'journaled',
    rows: 0,
  },
  blocked: {
    options: { budget: aBudget({ amount: cost - 1n }) },
    refusal: 'budget_exceeded',
    outcome: 'budget_error',
    settled: 'blocked',
    rows: 0,
  },
  'lost, with a hard limit': {
    options: { budget: aBudget() },
    before: ({ ledger }) => (ledger.database = 'lost'),
    refusal: 'store_unavailable',
    outcome: 'overloaded',
    settled: 'lost',
    rows: 0,
  },
  'lost, with a journal that is full': {
    before: ({ ledger }) => {
      ledger.database = 'lost';
      ledger.journalTakes = false;
    },
    refusal: 'store_unavailable',
    outcome: 'overloaded',
    settled: 'lost',
    rows: 0,
  },
  refused: {
    before: ({ ledger }) => (ledger.database = 'refuses'),
    refusal: 'internal_error',
    outcome: 'internal_error',
    settled: 'lost',
    rows: 0,
  },
};

/** A row of another request with the same id. */
const rowOf = ({ caller, ledger }: Pipeline): Pipeline['ledger']['rows'][number] => ({
  charge: {
    requestLogId: 'another',
    requestId: 'request-1',
    caller,
    modelKey: 'fast',
    providerKey: 'up',
    upstreamModel: 'upstream-fast',
    cost: { pricingStatus: 'usage_missing' },
  },
  at: ledger.now,
});

describe.each(Object.entries(shapes))(
  '%s whose settlement is',
  (_shape, { family, provider, steps, held }) => {
    it.each(Object.entries(verdicts))('%s', async (_verdict, { options, before, refusal, ...expected }) => {
      const script = streams(...steps, () => before?.(pipeline), done);
      const pipeline: Pipeline = new Pipeline({
        family,
        stream: true,
        script,
        ...(provider && { provider }),
        ...options,
      });
      await pipeline.serve();
      const after = refusal === undefined ? held : ['failed'];
      expect(pipeline.sentKinds).toEqual([
        ...pipeline.sentKinds.filter((kind) => kind === 'chunk'),
        ...after,
      ]);
      expect(pipeline.sentKinds).toContain('chunk');
      expect(pipeline.refusedWith).toBe(refusal);
      expect(pipeline.ledger.rows).toHaveLength(expected.rows);
      expect(pipeline.finished).toMatchObject([
        { outcome: expected.outcome, settled: expected.settled, attemptStatus: 'success' },
      ]);
    });

    it('not requested until the upstream has ended: if it fails, no held event is sent', async () => {
      const script = streams(...steps, failed());
      const pipeline = await new Pipeline({
        family,
        stream: true,
        script,
        ...(provider && { provider }),
      }).serve();
      expect(pipeline.sentKinds.filter((kind) => kind !== 'chunk')).toEqual(['failed']);
      expect(pipeline.refusedWith).toBe('upstream_error');
      expect(pipeline.ledger.rows).toEqual([]);
      expect(pipeline.log).toMatchObject({ metadata: { accounting: { unbilled_cost_usd: costUsd } } });
    });
  },
);

describe('a stream', () => {
  const chunks = fc.constantFrom<Chunk>(
    chatText('a'),
    chatFinish,
    chatUsage,
    responsesText('b'),
    responsesCompleted,
    responsesFailed('No.'),
    messageText('c'),
    messageStop,
  );
  const anyStream = fc.record({
    batches: fc.array(fc.array(chunks, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
    end: fc.constantFrom(done, failed(), failedAsTold),
    family: fc.constantFrom<ApiFamily>('chat_completions', 'messages', 'responses'),
    written: fc.boolean(),
    amount: fc.constantFrom(1n, 10n * cost),
  });

  it('always has one settlement and one end, which comes last, and no held event before a failure', async () => {
    await fc.assert(
      fc.asyncProperty(anyStream, async ({ batches, end, family, written, amount }) => {
        const pipeline = await new Pipeline({
          family,
          stream: true,
          script: streams(...batches, end),
          budget: aBudget({ amount }),
          ...(written && { provider: asWritten }),
        }).serve();
        const ends = pipeline.sentKinds.map((kind) => kind === 'done' || kind === 'failed');
        expect(ends.filter(Boolean)).toHaveLength(1);
        expect(ends.at(-1)).toBe(true);
        expect(pipeline.told.filter((line) => line === 'settlement asked')).toHaveLength(1);
        if (pipeline.sentKinds.at(-1) === 'failed') expect(pipeline.sentKinds).not.toContain('held chunk');
      }),
      { seed: 163, numRuns: 300 },
    );
  });

  it('without translation always reaches the caller in order, with each chunk once', async () => {
    await fc.assert(
      fc.asyncProperty(anyStream, async ({ batches, family }) => {
        const script = streams(...batches, done);
        const pipeline = await new Pipeline({ family, stream: true, script, provider: asWritten }).serve();
        expect(pipeline.sent).toEqual([...batches.flat(), done]);
      }),
      { seed: 164, numRuns: 100 },
    );
  });

  it('is forwarded as the identical chunks', async () => {
    const [text, finish] = [chatText('Hi'), chatFinish];
    const pipeline = await new Pipeline({ stream: true, script: streams([text], [finish], done) }).serve();
    expect([pipeline.sent[0] === text, pipeline.sent[1] === finish]).toEqual([true, true]);
  });

  it('must end within 10 s after its `finish_reason`, and 1 s after a terminal event that is held or failed', async () => {
    const ordersOf = async (family: ApiFamily, ...steps: readonly Step[]) =>
      (await new Pipeline({ family, stream: true, script: streams(...steps, done) }).serve()).upstream.orders;
    expect(await ordersOf('chat_completions', [chatFinish])).toEqual(['end within 10000 ms']);
    expect(await ordersOf('chat_completions', [chatFinish], [chatFinish])).toEqual(['end within 10000 ms']);
    expect(await ordersOf('responses', [responsesCompleted])).toEqual(['end within 1000 ms']);
    expect(await ordersOf('responses', [responsesFailed('No.')])).toEqual(['end within 1000 ms']);
    expect(await ordersOf('chat_completions', [chatText('Hi')])).toEqual([]);
  });

  it('has no such limit while another choice continues after a `finish_reason`', async () => {
    const another = { ...chatText('Hi'), reopens: true } as const;
    const script = streams([chatFinish], [another], [chatText('Ho')], [chatFinish], [chatUsage], done);
    const pipeline = await new Pipeline({ stream: true, script }).serve();
    expect(pipeline.upstream.orders).toEqual([
      'end within 10000 ms',
      'end within Infinity ms',
      'end within 10000 ms',
    ]);
    expect(pipeline.sentKinds.at(-1)).toBe('done');
  });

  it('is cancelled when an event after a held event exceeds the limit of held bytes', async () => {
    const large = responsesText('x'.repeat(maxHeldBytes));
    const script = streams([responsesCompleted], [large], [responsesText('never read')], done);
    const pipeline = await new Pipeline({ family: 'responses', stream: true, script }).serve();
    expect(pipeline.upstream.orders).toEqual(['end within 1000 ms', 'cancel']);
    expect(pipeline.sent.map((event) => event.kind === 'chunk' && event.chunk['delta'])).not.toContain(
      'never read',
    );
    expect(pipeline.refusedWith).toBe('upstream_error');
  });

  it('is cancelled when the events after a held event together exceed the limit of held bytes', async () => {
    const quarter = { ...responsesText('more'), wire: Buffer.alloc(maxHeldBytes / 4) };
    const many = Array.from({ length: 4 }, () => [quarter]);
    const script = streams([responsesCompleted], ...many, [{ ...quarter, wire: Buffer.alloc(1) }], done);
    const pipeline = await new Pipeline({ family: 'responses', stream: true, script }).serve();
    expect(pipeline.upstream.orders).toEqual(['end within 1000 ms', 'cancel']);
    expect(pipeline.refusedWith).toBe('upstream_error');
  });

  it('is cancelled when rewritten events after a held event exceed the limit of held bytes', async () => {
    const rewritten = { ...responsesFailed('x'.repeat(maxHeldBytes / 4)), wire: undefined };
    const many = Array.from({ length: 4 }, () => [rewritten]);
    const script = streams([responsesCompleted], ...many, failedAsTold);
    const pipeline = await new Pipeline({ family: 'responses', stream: true, script }).serve();
    expect(pipeline.upstream.orders).toEqual(['end within 1000 ms', 'cancel']);
  });

  it('is complete with a held event of any size, followed by events up to the limit of held bytes', async () => {
    const large = { ...responsesCompleted, wire: Buffer.alloc(maxHeldBytes + 1) };
    const most = { ...responsesText('more'), wire: Buffer.alloc(maxHeldBytes) };
    const script = streams([large], [most], done);
    const pipeline = await new Pipeline({ family: 'responses', stream: true, script }).serve();
    expect(pipeline.upstream.orders).not.toContain('cancel');
    expect(pipeline.sentKinds).toEqual(['held chunk', 'chunk', 'done']);
  });

  it('whose upstream reports a failure after a held event ends with that failure, without the held event', async () => {
    const script = streams([responsesCompleted], [responsesFailed('It is too hot.')], failedAsTold);
    const pipeline = await new Pipeline({ family: 'responses', stream: true, script }).serve();
    expect(pipeline.sentKinds).toEqual(['chunk', 'failed']);
  });

  it('that its translation ends is cancelled, and fails with the error of the translation', async () => {
    const calls = Array.from({ length: 1025 }, (_, index) => ({
      index,
      id: `c${index}`,
      function: { name: 'f' },
    }));
    const [{ chunk }] = [chatText('')];
    const many = { ...chatText(''), chunk: { ...chunk, choices: [{ delta: { tool_calls: calls } }] } };
    const script = streams([many], [chatText('never told')], done);
    const pipeline = await new Pipeline({ family: 'messages', stream: true, script }).serve();
    expect(pipeline.upstream.orders).toEqual(['cancel']);
    expect(pipeline.sent.at(-1)).toMatchObject({
      kind: 'failed',
      error: { message: 'The upstream sent too many tool calls in one answer.' },
    });
    expect(pipeline.log).toMatchObject({
      attempts: [{ status: 'stream_error' }],
      errorCode: 'upstream_error',
    });
  });

  it('whose upstream reported its failure in an event of its own gets no further error event', async () => {
    const script = streams([responsesText('Hi')], [responsesFailed('It is too hot.')], failedAsTold);
    const pipeline = await new Pipeline({ family: 'responses', stream: true, script }).serve();
    expect(pipeline.sentKinds).toEqual(['chunk', 'chunk', 'failed']);
    expect(pipeline.sent.at(-1)).toMatchObject({ alreadyShown: true });
    expect(pipeline.finished).toMatchObject([{ outcome: 'upstream_error' }]);
  });

  it('whose upstream reported its failure keeps it even if its rows cannot be written', async () => {
    const lose = () => (pipeline.ledger.database = 'refuses');
    const script = streams([responsesFailed('It is too hot.')], lose, failedAsTold);
    const pipeline: Pipeline = new Pipeline({ family: 'responses', stream: true, script });
    await pipeline.serve();
    expect(pipeline.sent.at(-1)).toMatchObject({ alreadyShown: true, error: { code: 'upstream_error' } });
  });

  it('has the usage of the chunk that reported its failure', async () => {
    const script = streams([chatText('Hi')], {
      ...failed(),
      kind: 'failed',
      error: noRoom,
      chunk: chatUsage.chunk,
    });
    const pipeline = await new Pipeline({ stream: true, script }).serve();
    expect(pipeline.finished).toMatchObject([
      { usage: { totalTokens: 30 }, unbilled: [{ reason: 'failed', cost }] },
    ]);
  });

  it('reserves memory for a growing event, and gives the upstream the error when that is refused', async () => {
    const script = streams([chatText('Hi')], growing(2_000_000), growing(10), [chatFinish], done);
    const pipeline = await new Pipeline({ stream: true, script }).serve();
    expect(pipeline.upstream.held).toEqual([expect.objectContaining({ code: 'overloaded' }), undefined]);
  });

  it('reports its first content exactly once, after empty chunks', async () => {
    const empty = chatText('');
    const script = streams([empty], [chatText('a')], [chatText('b')], [chatFinish], done);
    const { told } = await new Pipeline({ stream: true, script }).serve();
    expect(told.filter((line) => line === 'first content')).toHaveLength(1);
    expect(told.indexOf('caller: chunk')).toBeLessThan(told.indexOf('first content'));
  });

  it.each(Object.entries(shapes))(
    'is logged with the time from the request to its first content: %s',
    async (_, { family, provider = {}, steps: [text = [], ...rest] }) => {
      const later = (ms: number) => () => void (pipeline.now += ms);
      const script = streams(later(20), text, later(300), text, ...rest, done);
      const pipeline: Pipeline = new Pipeline({ family, provider, stream: true, script });
      await pipeline.serve();
      expect(pipeline.log).toMatchObject({ firstTokenMs: 27, latencyMs: 327 });
    },
  );

  it.each([
    ['forward by a year', 400 * 86_400_000, 2_147_483_647],
    ['back', -86_400_000, 0],
  ])(
    'is logged with durations that fit their columns when the clock is set %s',
    async (_, step, expected) => {
      const set = () => void (pipeline.now += step);
      const script = streams(set, [chatText('Hello')], [chatFinish], [chatUsage], done);
      const pipeline: Pipeline = new Pipeline({ stream: true, script });
      await pipeline.serve();
      expect(pipeline.log).toMatchObject({ firstTokenMs: expected, latencyMs: expected });
      const [attempt] = pipeline.log?.attempts ?? [];
      expect((attempt?.completedAt ?? 0) - (attempt?.startedAt ?? 0)).toBe(expected);
    },
  );

  it.each<[string, readonly Step[]]>([
    ['fails before any content', [[chatText('')], failed()]],
    ['has no content', [[chatText('')], [chatFinish], [chatUsage], done]],
  ])('that %s is logged without a first token time', async (_, steps) => {
    const { log } = await new Pipeline({ stream: true, script: streams(...steps) }).serve();
    expect(log).toMatchObject({ latencyMs: 7, firstTokenMs: undefined });
  });

  it('whose first batch has content is logged with its first token time', async () => {
    const script = streams([chatText(''), chatText('Hi')], [chatFinish], done);
    expect((await new Pipeline({ stream: true, script }).serve()).log).toMatchObject({ firstTokenMs: 7 });
  });

  it('that fails after its first content is logged with its first token time', async () => {
    const { log } = await new Pipeline({ stream: true, script: streams([chatText('Hi')], failed()) }).serve();
    expect(log).toMatchObject({ errorCode: 'upstream_error', firstTokenMs: 7 });
  });
});

const noRoom = { code: 'overloaded', message: 'No room.' } as const;
