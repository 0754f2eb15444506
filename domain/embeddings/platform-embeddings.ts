import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { tokenCount } from '../ledger/usage.ts';
import {
  isAbsent,
  isArray,
  isDeeperThan,
  type Json,
  type JsonObject,
  membersOf,
  objectsOf,
  parseExactObject,
  parseJson,
  itemsIn,
} from '../shared/json.ts';
import { maxJsonDepth } from '../shared/limits.ts';
import { answerObject, protocolFault, type UpstreamFault } from '../upstream/upstream-fault.ts';
import { upstreamFailure, type Sanitise } from '../upstream/upstream-words.ts';
import type { EmbeddingModel } from './embedding-models.ts';

/** One embedding as the platform returned it. */
export interface PlatformEmbedding {
  readonly values: readonly Json[];
  /** The values as JSON text, digit for digit as they came. */
  readonly text: string;
  /** As reported by the platform, never estimated. */
  readonly tokens: number | undefined;
}

/** Reads the answer to one predict or embed-content call, which must contain as many embeddings as texts were sent. */
export function readPlatformEmbeddings(
  text: string,
  method: EmbeddingModel['method'],
  texts: number,
  sanitise: Sanitise,
): Either<UpstreamFault, readonly PlatformEmbedding[]> {
  const parsed = answerObject(text);
  if (E.isLeft(parsed)) return parsed;
  const answer = parsed.right;
  if (!isAbsent(answer['error']))
    return protocolFault(upstreamFailure(answer, 'The upstream reported an error.', sanitise));
  const found = embeddingsOf[method](answer);
  if (found.length !== texts || !found.every(({ values }) => isVector(values)))
    return protocolFault(`The upstream did not answer with one embedding for each of ${texts} texts.`);
  const written = vectorTexts(text, found) ?? rebuiltTexts(text, answer, method);
  if (written === undefined) return protocolFault('The upstream answered with something too deep.');
  return E.right(
    found.map(({ values, tokens }, index) => ({
      values: itemsIn(values),
      text: written[index] ?? '',
      tokens: tokenCount(tokens),
    })),
  );
}

interface Found {
  readonly values: Json | undefined;
  readonly tokens: Json | undefined;
}

/**
 * Where an answer has its embeddings and token counts: predict models count tokens per prediction,
 * `google/gemini-embedding-2` counts the prompt's in its usage metadata.
 */
const embeddingsOf = {
  predict: ({ predictions }) =>
    objectsOf(predictions).map(({ embeddings }) => ({
      values: membersOf(embeddings)['values'],
      tokens: membersOf(membersOf(embeddings)['statistics'])['token_count'],
    })),
  embedContent: ({ embedding, usageMetadata }) => [
    { values: membersOf(embedding)['values'], tokens: membersOf(usageMetadata)['promptTokenCount'] },
  ],
} as const satisfies Record<EmbeddingModel['method'], (answer: JsonObject) => readonly Found[]>;

const isVector = (values: Json | undefined): boolean =>
  isArray(values) && values.length > 0 && values.every((value) => typeof value === 'number');

/** A list of numbers under `values`. Inside a string the quotes would be escaped, so it does not match there. */
const vector = /"values"\s*:\s*(\[[^[\]{}"]*\])/g;

/**
 * The vectors as they are written, cut from the text. `undefined` when they are not exactly the vectors found by
 * parsing, because other lists have the same key, or a vector's key is spelled with escapes.
 */
function vectorTexts(text: string, found: readonly Found[]): readonly string[] | undefined {
  const written = [...text.matchAll(vector)].map(([, values = '']) => values.replaceAll(/\s+/g, ''));
  const same = written.length === found.length && found.every(({ values }, at) => says(written[at], values));
  return same ? written : undefined;
}

/** The same from the parsed answer, which takes several times as long. */
const rebuiltTexts = (
  text: string,
  answer: JsonObject,
  method: EmbeddingModel['method'],
): readonly string[] | undefined =>
  isDeeperThan(answer, maxJsonDepth)
    ? undefined
    : embeddingsOf[method](parseExactObject(text)).map(({ values }) => JSON.stringify(values));

function says(text: string | undefined, values: Json | undefined): boolean {
  const parsed = text === undefined ? undefined : parseJson(text);
  return (
    isArray(parsed) &&
    isArray(values) &&
    parsed.length === values.length &&
    parsed.every((each, at) => each === values[at])
  );
}

/**
 * The public answer: ordered `data[]`, and `usage` only when the provider returned a real token count for every text.
 * Tokens are never inferred from character or byte counts.
 */
export function embeddingsList(
  embeddings: readonly PlatformEmbedding[],
  model: string,
): { readonly value: JsonObject; readonly text: string } {
  const usage = usageOf(embeddings);
  const rest = { model, ...(usage === undefined ? {} : { usage }) };
  const data = embeddings.map(({ values }, index) => ({ object: 'embedding', index, embedding: values }));
  const written = embeddings.map(
    ({ text }, index) => `{"object":"embedding","index":${index},"embedding":${text}}`,
  );
  return {
    value: { object: 'list', data, ...rest },
    text: `{"object":"list","data":[${written.join(',')}],${JSON.stringify(rest).slice(1)}`,
  };
}

function usageOf(embeddings: readonly PlatformEmbedding[]): JsonObject | undefined {
  let sum = 0;
  for (const { tokens } of embeddings) {
    if (tokens === undefined) return undefined;
    sum += tokens;
  }
  return tokenCount(sum) === undefined ? undefined : { prompt_tokens: sum, total_tokens: sum };
}
