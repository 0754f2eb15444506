import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { describedShapes } from '../../../domain/chat/chat-functions.ts';
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
  numberOf,
  present,
} from '../../../domain/shared/json.ts';
import {
  disagreement,
  fieldError,
  unsupportedType,
  unavailableField,
} from '../../../domain/shared/field-errors.ts';
import {
  aBoolean,
  type FieldShapes,
  integerFrom,
  maxInt32,
  numberFrom,
  onRoute,
  shapeError,
  strings,
  type ValueShape,
} from '../../../domain/shared/field-shapes.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { OwnField, OwnFields } from './generate-content-own-fields.ts';
import { jsonSchema } from './generate-content-schema.ts';
import { thinkingConfig } from './generate-content-thinking.ts';

/** Members of a generate-content object. */
type Members = Either<GatewayError, JsonObject>;

/** From -2 to below 2. */
const penalty: ValueShape = [
  'a number from -2 to below 2',
  (value) => numberFrom(-2, 2)[1](value) && numberOf(value) !== 2,
  { type: 'number', minimum: -2, exclusiveMaximum: 2 },
];

/**
 * What the platform documents for all of its models, or else the chat API. A model may take less: how many choices and
 * stop sequences, and how large a `top_k`, is left to the upstream.
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference#generationconfig
 */
const controlShapes: FieldShapes = [
  ['temperature', onRoute(numberFrom(0, 2))],
  ['top_p', onRoute(numberFrom(0, 1))],
  ['top_k', onRoute(integerFrom(1, maxInt32))],
  ['n', integerFrom(1, 128)],
  ['seed', onRoute(integerFrom(-maxInt32 - 1, maxInt32))],
  ['presence_penalty', onRoute(penalty)],
  ['frequency_penalty', onRoute(penalty)],
  ['logprobs', aBoolean],
  ['top_logprobs', integerFrom(0, 20)],
  ['parallel_tool_calls', aBoolean],
  ['modalities', strings],
];

/**
 * The controls of a chat request as `generationConfig`, including those that it has in the platform's `own` fields. The
 * platform rejects values of the wrong type or outside their range in its own words for the fields, so they are rejected
 * here (rule 26.9).
 */
export function generationConfig(body: JsonObject, model: string, own: OwnFields): Members {
  const fault = shapeError(body, controlShapes);
  if (fault !== undefined) return E.left(fault);
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
      ...(logprobs === true ? { responseLogprobs: true, logprobs: alternatives(body['top_logprobs']) } : {}),
      ...format.right,
      thinkingConfig: thinking.right,
      responseModalities: modalities.right,
      imageConfig: own.imageConfig?.value,
    }),
  );
}

/** How many alternatives are listed beside each token. None is the default, and the platform takes no 0. */
const alternatives = (asked: Json | undefined): Json | undefined =>
  numberOf(asked) === 0 ? undefined : asked;

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

/** Without empty ones, which stop nothing; `undefined` if none is left. */
function stopSequences(asked: readonly string[] = []): Json | undefined {
  const filled = asked.filter((each) => each !== '');
  return filled.length === 0 ? undefined : filled;
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
  const fault = shapeError(described, describedShapes, `${at}.`);
  if (fault !== undefined) return E.left(fault);
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
