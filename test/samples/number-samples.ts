import {
  type CallerFamily,
  jsonBytes,
  jsonType,
  type Sample,
  type UpstreamName,
  type VectorFacts,
} from './sample.ts';

const answer = <F>(
  caller: CallerFamily,
  upstream: UpstreamName,
  name: string,
  facts: F,
  body: object,
): Sample<F> => ({ name, upstream, callers: [caller], contentType: jsonType, body: jsonBytes(body), facts });

const vectors = (upstream: UpstreamName, name: string, facts: VectorFacts, body: object) =>
  answer('embeddings', upstream, name, facts, body);

const first = [0.25, -0.5, 1e-7];
const second = [-0.125, 0, 0.75];
/** The bytes of `first`, as 32-bit floats. */
const packed = Buffer.from(new Float32Array(first).buffer).toString('base64');

const list = (embeddings: readonly (readonly number[] | string)[]): object => ({
  object: 'list',
  data: embeddings.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  model: 'loom-embed',
  usage: { prompt_tokens: 6, total_tokens: 6 },
});

const six = { prompt: 6, completion: 0, total: 6 };
const prediction = (values: readonly number[], tokens: number): object => ({
  embeddings: { values, statistics: { token_count: tokens, truncated: false } },
});

/** Embeddings. */
export const embeddingsAnswers: readonly Sample<VectorFacts>[] = [
  vectors('compat', 'vectors of numbers', { vectors: [first, second], usage: six }, list([first, second])),
  vectors('compat', 'a vector in base64', { vectors: [packed], usage: six }, list([packed])),
  vectors(
    'platform A, predict',
    'the vectors of predictions, and the sum of their tokens',
    { vectors: [first, second], usage: { prompt: 9, completion: 0, total: 9 } },
    { predictions: [prediction(first, 5), prediction(second, 4)], metadata: { billableCharacterCount: 31 } },
  ),
  vectors(
    'platform A, predict',
    'vectors without usage if one of them has no token count',
    { vectors: [first, second] },
    { predictions: [prediction(first, 5), { embeddings: { values: second } }] },
  ),
  vectors(
    'platform A, embed content',
    'the vector of an embed-content answer',
    { vectors: [first], usage: { prompt: 7, completion: 0, total: 7 } },
    { embedding: { values: first }, usageMetadata: { promptTokenCount: 7, totalTokenCount: 7 } },
  ),
];

const count = (upstream: UpstreamName, body: object): Sample<number> =>
  answer('count_tokens', upstream, 'a count of tokens', 4321, body);

/** Token counts, under the name that each upstream uses. */
export const countAnswers: readonly Sample<number>[] = [
  count('platform A, messages', { input_tokens: 4321 }),
  count('platform A, generation', { totalTokens: 4321, cachedContentTokenCount: 0 }),
  count('platform B, converse', { inputTokens: 4321 }),
  count('platform B, invoke', { inputTokens: 4321 }),
  count('platform B, messages', { input_tokens: 4321 }),
];
