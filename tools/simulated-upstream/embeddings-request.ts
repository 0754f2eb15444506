import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { dimensionsMax, embeddingInputsMax, embeddingNumbersMax } from './bounds.ts';
import { badRequest, type ErrorAnswer, missingParameter } from './error-answer.ts';
import type { JsonObject } from './json-object.ts';

/** A text to embed, or its tokens. */
export type EmbeddingInput = string | readonly number[];

/** The parts of an embeddings request that the simulation reads. */
export interface EmbeddingsRequest {
  readonly model: string;
  readonly inputs: readonly EmbeddingInput[];
  readonly dimensions: number;
  readonly base64: boolean;
}

/** The size of a vector by default: small enough to read. */
const dimensionsByDefault = 8;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

const isTokens = (value: unknown): value is readonly number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((token) => Number.isSafeInteger(token) && token >= 0);

/** A string, tokens, or a list of either; `undefined` for anything else, and for anything empty. */
function inputsIn(input: unknown): readonly EmbeddingInput[] | undefined {
  if (isText(input) || isTokens(input)) return [input];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  return input.every(isText) || input.every(isTokens) ? input : undefined;
}

const isWidth = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= dimensionsMax;

const invalid = (param: string, expected: string): Either<ErrorAnswer, never> =>
  E.left(badRequest(`Invalid '${param}': expected ${expected}.`, param, 'invalid_value'));

/** Reads the parts of an embeddings body that the simulation needs. Left is the 400 that a provider would answer. */
export function readEmbeddingsRequest(
  body: JsonObject,
  model: string,
): Either<ErrorAnswer, EmbeddingsRequest> {
  const { input } = body;
  if (input === undefined || input === null) return E.left(missingParameter('input'));
  const inputs = inputsIn(input);
  if (inputs === undefined || inputs.length > embeddingInputsMax)
    return invalid('input', `a text or tokens, not empty, or a list of at most ${embeddingInputsMax}`);
  const dimensions = body['dimensions'] ?? dimensionsByDefault;
  if (!isWidth(dimensions)) return invalid('dimensions', `an integer from 1 to ${dimensionsMax}`);
  if (inputs.length * dimensions > embeddingNumbersMax)
    return invalid('input', `at most ${embeddingNumbersMax} numbers in all vectors together`);
  const format = body['encoding_format'] ?? 'float';
  if (format !== 'float' && format !== 'base64') return invalid('encoding_format', "'float' or 'base64'");
  return E.right({ model, inputs, dimensions, base64: format === 'base64' });
}
