import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import type { TokenUsage } from '../../domain/ledger/usage.ts';
import { listOf } from '../recordings/received.ts';
import { byteByByte, chunkingsOf, cutAt } from '../support/arbitraries/bytes.ts';
import { countAnswers, embeddingsAnswers } from './number-samples.ts';
import { type Replayed, replayStream, replayWhole } from './replay.ts';
import type { CallerFamily, Sample, UsageFacts } from './sample.ts';
import { answers, rowsOf, streams } from './samples.ts';
import { expectedOf, objectIn, readers } from './told.ts';
import { upstreams } from './upstreams.ts';

/** A stream of up to this size is split at each of its bytes; a longer one at random positions. */
const smallBytes = 1600;

/** Makes the random splits the same in every run. */
const seed = 20_260_101;

const readersOf = (caller: CallerFamily) => {
  if (caller === 'embeddings' || caller === 'count_tokens') throw new Error(`${caller} says no text`);
  return readers[caller];
};

const counted = (usage: UsageFacts | undefined): TokenUsage | undefined =>
  usage && { promptTokens: usage.prompt, completionTokens: usage.completion, totalTokens: usage.total };

function expectFacts(
  { bytes, observation }: Replayed,
  { facts, upstream }: Sample,
  caller: CallerFamily,
  how: 'stream' | 'whole',
): void {
  const told = readersOf(caller)[how](bytes, upstreams[upstream].namespace);
  expect(told).toEqual(expectedOf(facts, caller));
  expect(observation).toEqual({
    usage: counted(facts.usage),
    usageUnusable: false,
    invokedToolCount: (facts.calls ?? []).length,
  });
  for (const kept of facts.keeps?.[caller] ?? []) expect(bytes.toString()).toContain(kept);
}

const streamRows = rowsOf<Sample>(streams);

describe('a streamed sample', () => {
  it.each(streamRows)('$upstream: a caller of $caller gets $name', async ({ sample, caller }) => {
    expectFacts(await replayStream(sample, caller, [sample.body]), sample, caller, 'stream');
  });

  it.each(streamRows)('$upstream: a caller of $caller gets, byte by byte, $name', async (row) => {
    const { sample, caller } = row;
    expectFacts(await replayStream(sample, caller, byteByByte(sample.body)), sample, caller, 'stream');
  });

  it.each(streamRows.filter(({ sample }) => sample.body.length <= smallBytes))(
    '$upstream: a caller of $caller gets, split at each of its bytes, $name',
    async ({ sample, caller }) => {
      const { body } = sample;
      const whole = await replayStream(sample, caller, [body]);
      for (let at = 1; at < body.length; at += 1)
        expect([at, same(await replayStream(sample, caller, cutAt(body, [at])), whole)]).toEqual([at, true]);
    },
  );

  it.each(streamRows)(
    '$upstream: a caller of $caller gets, split at random positions, $name',
    async ({ sample, caller }) => {
      await fc.assert(
        fc.asyncProperty(chunkingsOf(sample.body), async (pieces) => {
          expectFacts(await replayStream(sample, caller, pieces), sample, caller, 'stream');
        }),
        { seed, numRuns: 25 },
      );
    },
  );

  it('exists with multi-byte characters for each upstream', () => {
    const multibyte = streams.filter(({ body }) => body.some((byte) => byte >= 0x80));
    expect(new Set(multibyte.map(({ upstream }) => upstream))).toEqual(
      new Set(streams.map(({ upstream }) => upstream)),
    );
  });
});

/** Output and usage are the same. */
const same = (one: Replayed, other: Replayed): boolean =>
  one.bytes.equals(other.bytes) && JSON.stringify(one.observation) === JSON.stringify(other.observation);

const rightOf = (replayed: ReturnType<typeof replayWhole>): Replayed => {
  if (E.isLeft(replayed)) throw new Error(JSON.stringify(replayed.left));
  return replayed.right;
};

describe('a non-streamed sample', () => {
  it.each(rowsOf<Sample>(answers))('$upstream: a caller of $caller gets $name', ({ sample, caller }) => {
    expectFacts(rightOf(replayWhole(sample, caller)), sample, caller, 'whole');
  });

  it.each(rowsOf(embeddingsAnswers))('$upstream: a caller of $caller gets $name', ({ sample, caller }) => {
    const { vectors, usage } = sample.facts;
    const { bytes, observation } = rightOf(replayWhole(sample, caller, vectors.length));
    const told = objectIn(bytes);
    expect(listOf(told['data'])).toEqual(
      vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    );
    expect(told['usage']).toEqual(usage && { prompt_tokens: usage.prompt, total_tokens: usage.total });
    expect(observation).toEqual({ usage: counted(usage), usageUnusable: false, invokedToolCount: 0 });
  });

  it.each(rowsOf(countAnswers))('$upstream: a caller of $caller gets $name', ({ sample, caller }) => {
    const { bytes, observation } = rightOf(replayWhole(sample, caller));
    expect(objectIn(bytes)).toEqual({ input_tokens: sample.facts });
    expect(observation.usage).toBeUndefined();
  });
});
