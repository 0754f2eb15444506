import { describe, expect, it } from '@jest/globals';
import { randomNumbers, type ReplayRequest } from '../support/replay-upstream.ts';
import { expectSuccessRows } from './expectations.ts';
import { leftOut } from './left-out.ts';
import { noRecordings, type Recording, recordingsOf, refusalsIn, type UsageFacts, named } from './library.ts';
import { expectCredentials, onPlatformA, type PlatformModel, platformRehearsal } from './platforms.ts';
import { isLoose, listOf, type Loose } from './received.ts';
import type { Answer, Replaying } from './rehearsal.ts';
import { type AskFor, describeRefusals } from './replaying.ts';

interface PredictFacts {
  readonly protocol: 'vertex-predict';
  readonly count: number;
  readonly dims: readonly number[];
  readonly tokenCounts: readonly number[];
  /** Of the first vector. */
  readonly first3: readonly number[];
}

/** Facts of a call for several texts, which the gateway does not use; it returns the same vectors. */
interface EmbedContentFacts {
  readonly protocol: 'embed-content';
  readonly count: number;
  readonly dims: readonly number[];
  readonly first3: readonly number[];
  readonly usageMetadata?: { readonly promptTokenCount: number };
}

const capabilities = Object.fromEntries(
  ['chat_completions', 'responses', 'stream', 'tools', 'vision', 'json_schema'].map((name) => [name, false]),
);

const embedding = (name: string, method: string): PlatformModel => ({
  id: name,
  ...onPlatformA(`google/${name}`, [method, method]),
  capabilities,
});
const predicting = ['gemini-embedding-001', 'text-embedding-005', 'text-multilingual-embedding-002'].map(
  (name) => embedding(name, 'predict'),
);
const embedding2 = embedding('gemini-embedding-2', 'embedContent');

const { ask } = platformRehearsal([...predicting, embedding2]);

const headers = { 'content-type': 'application/json; charset=UTF-8' };

const embed = (replay: Replaying, { id }: PlatformModel, input: readonly string[]): Promise<Answer> =>
  ask(replay, { model: id, stream: false, family: 'embeddings', more: `"input":${JSON.stringify(input)}` });

/** The vectors in a text, with their digits unchanged. */
const spelled = (text: string, member: 'values' | 'embedding'): readonly string[] =>
  [...text.matchAll(new RegExp(`"${member}":\\s*(\\[[^\\]]*\\])`, 'g'))].map(([, vector = '']) =>
    vector.replaceAll(/\s/g, ''),
  );

const usageOf = (tokens: number | undefined): UsageFacts | undefined =>
  tokens === undefined ? undefined : { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };

/** A list with exactly these vectors in request order, and its rows. */
function expectEmbedded(
  answer: Answer,
  model: PlatformModel,
  vectors: readonly string[],
  tokens: number | undefined,
): void {
  expectSuccessRows(answer, usageOf(tokens));
  const text = answer.bytes.toString();
  expect(spelled(text, 'embedding')).toEqual(vectors);
  const list = JSON.parse(text) as Loose;
  expect(list).toMatchObject({ object: 'list', model: model.id });
  expect(listOf(list['data']).map(({ object, index }) => [object, index])).toEqual(
    vectors.map((_, index) => ['embedding', index]),
  );
  expect(list['usage']).toEqual(
    tokens === undefined ? undefined : { prompt_tokens: tokens, total_tokens: tokens },
  );
  expectCredentials(answer, model);
}

/** The texts that a call embeds. */
function textsIn({ body }: ReplayRequest): readonly string[] {
  const instances = listOf(body['instances']).map(({ content }) => String(content));
  const { content } = body;
  const parts = isLoose(content) ? listOf(content['parts']).map(({ text }) => String(text)) : [];
  return [...instances, ...parts];
}

const factsHold = (
  { facts }: Recording<PredictFacts | EmbedContentFacts>,
  vectors: readonly string[],
): void => {
  const numbers = vectors.map((vector) => JSON.parse(vector) as readonly number[]);
  expect(numbers.map(({ length }) => length)).toEqual(facts.dims);
  expect(numbers[0]!.slice(0, 3)).toEqual(facts.first3);
  expect(vectors).toHaveLength(facts.count);
};

function replayed(): void {
  const predictions = recordingsOf<PredictFacts>('vertex-predict');
  const embedded = recordingsOf<EmbedContentFacts>('embed-content');
  const refusals = refusalsIn('gemini/embed-content');

  it('recordings of both calls and of an error exist', () => {
    expect([predictions, embedded, refusals].map(({ length }) => length > 0)).toEqual([true, true, true]);
  });

  describe('a recorded prediction becomes an embedding and keeps every digit', () => {
    it.each(named(predictions))('%s', async (_name, recording) => {
      const vectors = spelled(recording.body.toString(), 'values');
      factsHold(recording, vectors);
      for (const model of predicting)
        for (const seed of [1, 2]) {
          const cuts = { kind: 'random', seed } as const;
          const answer = await embed({ body: recording.body, headers, cuts }, model, ['Hi']);
          expectEmbedded(answer, model, vectors, recording.facts.tokenCounts[0]);
          expect(answer.upstream?.body).toEqual({ instances: [{ content: 'Hi' }] });
        }
    });
  });

  describe('recorded vectors of embed-content become embeddings in request order and keep every digit', () => {
    it.each(named(embedded))('%s', async (_name, recording) => {
      const vectors = spelled(recording.body.toString(), 'values');
      factsHold(recording, vectors);
      const { count, usageMetadata } = recording.facts;
      const tokens = usageMetadata && usageMetadata.promptTokenCount / count;
      const usage = tokens === undefined ? '' : `,"usageMetadata":{"promptTokenCount":${tokens}}`;
      const input = vectors.map((_, index) => String(index));
      const answer = await embed(
        (request) => ({
          body: `{"embedding":{"values":${vectors[Number(textsIn(request)[0])]}}${usage}}`,
          headers,
          cuts: { kind: 'random', seed: count },
        }),
        embedding2,
        input,
      );
      expectEmbedded(answer, embedding2, vectors, usageMetadata?.promptTokenCount);
    });
  });

  const askFor: AskFor = ({ body, ...recorded }, _stream, { cuts, status, contentType } = {}) =>
    ask(
      {
        body,
        status: status ?? recorded.status ?? 200,
        headers: { 'content-type': contentType ?? recorded.contentType ?? 'application/json' },
        ...(cuts === undefined ? {} : { cuts }),
      },
      { model: embedding2.id, stream: false, family: 'embeddings' },
    );
  describeRefusals(refusals, askFor, [false]);
}

describe('cases without a recording', () => {
  /** A vector of this width, different for each text. */
  function vectorOf(text: string, width: number): string {
    const random = randomNumbers(text.length * 1000 + Number(text));
    return `[${Array.from({ length: width }, () => (random() * 2 - 1) / 16).join(',')}]`;
  }

  it.each([
    ['gemini-embedding-001', 3072],
    ['text-embedding-005', 768],
    ['text-multilingual-embedding-002', 768],
    ['gemini-embedding-2', 3072],
  ])('several inputs become vectors in request order at the real width of %s', async (name, width) => {
    const model = [...predicting, embedding2].find(({ id }) => id === name)!;
    const input = Array.from({ length: 12 }, (_, index) => String(index));
    const answer = await embed(
      (request) => {
        const said = textsIn(request).map((text) => vectorOf(text, width));
        const statistics = '"statistics":{"token_count":3,"truncated":false}';
        return {
          headers,
          body: request.path.endsWith(':embedContent')
            ? `{"embedding":{"values":${said[0]}},"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3}}`
            : `{"predictions":[${said.map((values) => `{"embeddings":{${statistics},"values":${values}}}`).join(',')}]}`,
        };
      },
      model,
      input,
    );
    const vectors = input.map((text) => vectorOf(text, width));
    expectEmbedded(answer, model, vectors, 3 * input.length);
  });
});

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);
