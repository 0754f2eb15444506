import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Capability } from '../routing/capabilities.ts';
import { otherModels, otherModelsWatched } from '../routing/other-models.ts';
import { type FieldShapes, modelOf, shapeError } from '../shared/field-shapes.ts';
import { fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isArray, isString, type Json } from '../shared/json.ts';
import type { JsonDocument } from '../shared/json-document.ts';
import type { Watched } from '../shared/json-scan.ts';

/** A reading view over the caller's untouched embeddings body. Embeddings are never streamed and carry no tools. */
export interface EmbeddingsRequest {
  readonly document: JsonDocument;
  readonly model: string;
  readonly stream: false;
  readonly needs: readonly Capability[];
  readonly exposedToolCount: undefined;
}

/** Besides the top level, only other models are read. */
export const embeddingsWatched: Watched = otherModelsWatched;

/** Fields that the gateway reads. */
export const embeddingsShapes: FieldShapes = otherModels;

/** Checks what every provider needs. Which shapes of input a route accepts is up to its provider. */
export function readEmbeddingsRequest(document: JsonDocument): Either<GatewayError, EmbeddingsRequest> {
  const model = modelOf(document.value);
  if (E.isLeft(model)) return model;
  if (!isInput(document.value['input']))
    return E.left(fieldError('input', 'must be a string or a non-empty array.'));
  const error = shapeError(document.value, embeddingsShapes);
  if (error !== undefined) return E.left(error);
  return E.right({
    document,
    model: model.right,
    stream: false,
    needs: ['embeddings'],
    exposedToolCount: undefined,
  });
}

/** An empty string is valid input: upstreams that accept it embed it, alone or among others. */
const isInput = (input: Json | undefined): boolean => isString(input) || (isArray(input) && input.length > 0);
