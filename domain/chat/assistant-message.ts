import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { listIn, unavailableField } from '../shared/field-errors.ts';
import { aString, shapeError } from '../shared/field-shapes.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, type JsonObject, textIn } from '../shared/json.ts';

/** What a message of the assistant has beside its content. */
interface AssistantMembers {
  /** Empty if there is none. */
  readonly refusal: string;
  readonly calls: readonly JsonObject[];
  readonly images: readonly JsonObject[];
}

/**
 * The members of an assistant's message that translations send, each of its type (rule 26.12). Those that no other API
 * has are rejected.
 */
export function assistantMembers(message: JsonObject, path: string): Either<GatewayError, AssistantMembers> {
  const { audio, function_call: call, refusal } = message;
  if (!isAbsent(audio)) return E.left(unavailableField(`${path}.audio`));
  if (!isAbsent(call)) return E.left(unavailableField(`${path}.function_call`, 'use `tool_calls`'));
  const fault = shapeError(message, [['refusal', aString]], `${path}.`);
  if (fault !== undefined) return E.left(fault);
  const calls = listIn(message, 'tool_calls', path);
  if (E.isLeft(calls)) return calls;
  const images = listIn(message, 'images', path);
  if (E.isLeft(images)) return images;
  return E.right({ refusal: textIn(refusal), calls: calls.right, images: images.right });
}
