import { describe, expect, it } from '@jest/globals';
import { expectSuccessRows } from './expectations.ts';
import { leftOut } from './left-out.ts';
import { type EmbeddingsFacts, embeddingsRecordings, noRecordings, named } from './library.ts';
import { isLoose, listOf } from './received.ts';
import { describeRefusals, parsed, replaying } from './replaying.ts';

const { answers, refusals } = embeddingsRecordings();

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);

function replayed(): void {
  const askFor = replaying('embeddings', [...answers, ...refusals]);

  it('recordings of answers and of errors exist', () => {
    expect([answers, refusals].map(({ length }) => length > 0)).toEqual([true, true]);
  });

  describe('recorded embeddings reach the caller byte for byte, float and base64', () => {
    it.each(named(answers))('%s', async (_name, recording) => {
      for (const seed of [1, 2]) {
        const answer = await askFor(recording, false, { cuts: { kind: 'random', seed } });
        expect(answer.bytes.equals(recording.body)).toBe(true);
        expectVectors(recording.facts, parsed(answer.bytes));
        expectSuccessRows(answer, { ...recording.facts.usage, completion_tokens: 0 });
        expect(answer.after.logs[0]).toMatchObject({
          metadata_json: { operation: 'embeddings', stream: false },
        });
      }
    });
  });

  describeRefusals(refusals, askFor, [false]);
}

/** The number of dimensions of a vector, as a list or as base64 of 32-bit floats. */
const dimensions = (vector: unknown): number =>
  Array.isArray(vector) ? vector.length : Buffer.from(String(vector), 'base64').length / 4;

function expectVectors(facts: EmbeddingsFacts, answer: unknown): void {
  const data = isLoose(answer) ? listOf(answer['data']) : [];
  expect(data.map(({ index }) => index)).toEqual(facts.indexes);
  for (const { embedding } of data) {
    expect(typeof embedding).toBe(facts.encoding);
    expect(dimensions(embedding)).toBe(facts.dims);
  }
  expect(data).toHaveLength(facts.count);
}
