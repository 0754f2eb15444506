import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { embeddingUsage } from '../ledger/usage.ts';
import { isAbsent, isArray, type JsonObject } from '../shared/json.ts';
import { type Observation, observation } from '../upstream/observation.ts';
import { answerObject, protocolFault, type UpstreamFault } from '../upstream/upstream-fault.ts';
import { hasError } from '../upstream/error-shapes.ts';
import { upstreamFailure, type Sanitise } from '../upstream/upstream-words.ts';

/** Reads an upstream's list of embeddings, which is sent on as it came. An error body under status 200 is an error. */
export function readEmbeddings(text: string, sanitise: Sanitise): Either<UpstreamFault, JsonObject> {
  const parsed = answerObject(text);
  if (E.isLeft(parsed)) return parsed;
  const value = parsed.right;
  const { data, error, usage } = value;
  if (isArray(data) && !hasError(error)) return E.right(value);
  const message = isAbsent(error)
    ? 'The upstream answered without `data`.'
    : 'The upstream reported an error.';
  return protocolFault(upstreamFailure(value, message, sanitise), usage);
}

/** Missing embedding token counts yield `usage_missing`. */
export const observeEmbeddings = (answer: JsonObject): Observation =>
  observation(answer['usage'], embeddingUsage, 0);
