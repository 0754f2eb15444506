import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { askedStops } from '../../../domain/chat/stop-sequences.ts';
import { askedLimit } from '../../../domain/chat/token-limit.ts';
import { describedSchema } from '../../../domain/chat/described-schema.ts';
import {
  isObject,
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  present,
} from '../../../domain/shared/json.ts';
import {
  disagreement,
  fieldError,
  unsupportedType,
  unavailableField,
} from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { OwnField, OwnFields } from './generate-content-own-fields.ts';
import { jsonSchema } from './generate-content-schema.ts';
import { thinkingConfig } from './generate-content-thinking.ts';

/** Members of a generate-content object. */
type Members = Either<GatewayError, JsonObject>;

/**
 * The controls of a chat request as `generationConfig`, including those that it has in the platform's `own` fields.
 * Their values are validated by the upstream.
 */
export function generationConfig(body: JsonObject, model: string, own: OwnFields): Members {
  const limit = askedLimit(body);
  if (E.isLeft(limit)) return limit;
  const format = formatMembers(body['response_format']);
  if (E.isLeft(format)) return format;
  const thinking = thinkingConfig(body, model, own.thinkingConfig);
  if (E.isLeft(thinking)) return thinking;
  const modalities = responseModalities(body['modalities'], own.responseModalities);
  if (E.isLeft(modalities)) return modalities;
  const stop = askedStops(body);
  if (E.isLeft(stop)) return stop;
  const { logprobs } = body;
  return E.right(
    present({
      maxOutputTokens: limit.right?.value,
      temperature: body['temperature'],
      topP: body['top_p'],
      topK: body['top_k'],
      candidateCount: body['n'],
      seed: body['seed'],
      presencePenalty: body['presence_penalty'],
      frequencyPenalty: body['frequency_penalty'],
      stopSequences: stopSequences(stop.right?.value),
      ...(logprobs === true ? { responseLogprobs: true, logprobs: body['top_logprobs'] } : {}),
      ...format.right,
      thinkingConfig: thinking.right,
      responseModalities: modalities.right,
      imageConfig: own.imageConfig?.value,
    }),
  );
}

/** Text and images. Text alone is the default, and is not sent. */
function responseModalities(
  modalities: Json | undefined,
  own: OwnField | undefined,
): Either<GatewayError, Json | undefined> {
  if (!isArray(modalities)) return E.right(own?.value);
  const other = modalities.findIndex((each) => each !== 'text' && each !== 'image');
  if (other >= 0)
    return E.left(fieldError(`modalities[${other}]`, "must be `text` or `image` on this model's route."));
  const asked = modalities.flatMap((each) => (isString(each) ? [each.toUpperCase()] : []));
  if (own !== undefined && !isDeepStrictEqual(own.value, asked))
    return E.left(disagreement('modalities', own.path));
  return E.right(asked.includes('IMAGE') ? asked : own?.value);
}

/** `undefined` if all of them are empty. */
function stopSequences(asked: Json | undefined): Json | undefined {
  return isArray(asked) && asked.every((each) => each === '') ? undefined : asked;
}

function formatMembers(format: Json | undefined): Members {
  if (!isObject(format)) return E.right({});
  switch (isString(format['type']) ? format['type'] : '') {
    case 'text':
      return E.right({});
    case 'json_object':
      return E.right({ responseMimeType: 'application/json' });
    case 'json_schema':
      return schemaMembers(format['json_schema']);
    default:
      return unsupportedType(format, 'response_format');
  }
}

function schemaMembers(described: Json | undefined): Members {
  const at = 'response_format.json_schema';
  if (!isObject(described)) return E.left(fieldError(at, 'must be an object.'));
  const { schema, description } = described;
  if (isAbsent(schema))
    return isAbsent(description)
      ? E.right({ responseMimeType: 'application/json' })
      : E.left(unavailableField(`${at}.description`, 'it goes along with a `schema` alone'));
  if (!isObject(schema)) return E.left(fieldError(`${at}.schema`, 'must be an object.'));
  return E.right({
    responseMimeType: 'application/json',
    responseJsonSchema: jsonSchema(describedSchema(schema, description)),
  });
}
