import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isAbsent, isArray, type JsonObject } from '../shared/json.ts';
import { answerObject, protocolFault, type UpstreamFault } from '../upstream/upstream-fault.ts';
import { hasError } from '../upstream/error-shapes.ts';
import { upstreamFailure, type Sanitise } from '../upstream/upstream-words.ts';
import { failedResponse } from './response-failure.ts';
import { failedStatuses } from './responses-event.ts';

/**
 * Reads an upstream's unary answer, which is sent on as it came. An error body under status 200 is an error, and so is
 * a failed or cancelled response, or anything that is not a response (a chat completion, say).
 */
export function readResponse(text: string, sanitise: Sanitise): Either<UpstreamFault, JsonObject> {
  const parsed = answerObject(text);
  if (E.isLeft(parsed)) return parsed;
  const value = parsed.right;
  const { error, output, status, usage } = value;
  const failed = isArray(output) ? hasError(error) : !isAbsent(error);
  if (failed || failedStatuses.has(status)) return protocolFault(failedResponse(value, sanitise), usage);
  if (isArray(output)) return E.right(value);
  const reported = upstreamFailure(value, 'The upstream answered without `output`.', sanitise);
  return protocolFault(reported, usage);
}
