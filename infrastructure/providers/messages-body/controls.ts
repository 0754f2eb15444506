import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  controlsOfA,
  controlsOfB,
  foreignIn,
  withoutControls,
} from '../../../domain/compatibility/foreign-fields.ts';
import { describedShapes } from '../../../domain/chat/chat-functions.ts';
import { askedStops, blankStop } from '../../../domain/chat/stop-sequences.ts';
import { askedLimit } from '../../../domain/chat/token-limit.ts';
import { describedSchema } from '../../../domain/chat/described-schema.ts';
import { isAbsent, isObject, type JsonObject, membersOf, numberOf } from '../../../domain/shared/json.ts';
import { disagreement, fieldError, unavailableField } from '../../../domain/shared/field-errors.ts';
import {
  aCount,
  type FieldShapes,
  numberFrom,
  onRoute,
  shapeError,
} from '../../../domain/shared/field-shapes.ts';
import { readReasoningRequest } from '../../../domain/reasoning/reasoning-request.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { enforcedSchema } from './enforced-schema.ts';
import type { BodyCall } from './outbound-body.ts';
import type { BodyRules } from './rules.ts';

type Members = Either<GatewayError, JsonObject>;

/** Chat controls that the messages body has no equivalent of. */
const foreignControls = withoutControls(
  'n',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'modalities',
  'audio',
  'web_search_options',
  'moderation',
  ...controlsOfA,
  ...controlsOfB,
  'verbosity',
  'function_call',
);

/**
 * The error for the first control that would change the answer and cannot be expressed upstream. Controls that would
 * not change it are in `unsentFields`.
 */
export function controlFault(body: JsonObject, rules: BodyRules): GatewayError | undefined {
  const { response_format: format } = body;
  if (isObject(format) && format['type'] === 'json_object') return noJsonMode(rules);
  const forbidden = rules.rejected.find((field) => !isAbsent(body[field]));
  const field = forbidden ?? foreignIn(body, foreignControls);
  return field === undefined ? undefined : unavailableField(field);
}

/** The limit if the caller sets none and that of the model is unknown: enough for any answer that a person reads. */
const defaultLimit = 8192;

/**
 * `max_tokens`, from `max_tokens` or `max_completion_tokens`: the messages body requires it. Without either, it is the
 * route's `default_max_tokens`, else the model's output limit, else 8192. Invoke rejects a missing limit unless the
 * route sets a default.
 */
export function limitMember(body: JsonObject, route: BodyCall['route'], rules: BodyRules): Members {
  const asked = askedLimit(body);
  if (E.isLeft(asked)) return asked;
  if (asked.right !== undefined) return E.right({ max_tokens: asked.right.value });
  if (!isAbsent(route.extraBody['max_tokens'])) return E.right({});
  const { defaultMaxTokens, outputLimit } = route;
  if (defaultMaxTokens === undefined && rules.needsLimit)
    return E.left(
      fieldError('max_tokens', "is required on this model's route (or `max_completion_tokens`)."),
    );
  return E.right({
    max_tokens: besideThinking(defaultMaxTokens ?? outputLimit ?? defaultLimit, body, outputLimit),
  });
}

/**
 * A thinking budget is part of `max_tokens` and must be below it. If the budget leaves no room within a default, the
 * default applies to the answer alone, and the budget is added to it, up to the model's output limit.
 */
function besideThinking(limit: number, body: JsonObject, outputLimit: number | undefined): number {
  const requested = readReasoningRequest(body);
  const budget =
    E.isRight(requested) && 'budget' in requested.right ? numberOf(requested.right.budget.value) : undefined;
  return budget === undefined || budget < limit ? limit : Math.min(budget + limit, outputLimit ?? Infinity);
}

/** `stop_sequences`, from the chat body's `stop` or `stop_sequences`. */
export function stopMember(body: JsonObject): Members {
  const asked = askedStops(body);
  if (E.isLeft(asked)) return asked;
  if (asked.right === undefined) return E.right({});
  const blank = blankStop(asked.right);
  if (blank !== undefined) return E.left(blank);
  const { value } = asked.right;
  return E.right(value.length === 0 ? {} : { stop_sequences: value });
}

/** What the messages API documents. */
const samplingShapes: FieldShapes = [
  ['temperature', onRoute(numberFrom(0, 1))],
  ['top_p', onRoute(numberFrom(0, 1))],
  ['top_k', aCount],
];

/** The error for a sampling field that the upstream rejects, whatever the model (rule 26.9). */
export const samplingFault = (body: JsonObject): GatewayError | undefined => shapeError(body, samplingShapes);

/** `output_config`, including the schema of `response_format` where the upstream takes one. */
export function outputConfigMember(body: JsonObject, rules: BodyRules): Members {
  const { response_format: format, output_config: config } = body;
  const own = isAbsent(config) ? {} : { output_config: config };
  if (!isObject(format) || format['type'] === 'text') return E.right(own);
  const asked = format['json_schema'];
  if (!rules.takesSchemas || format['type'] !== 'json_schema' || !isObject(asked))
    return E.left(unavailableField('response_format'));
  const fault = shapeError(asked, describedShapes, 'response_format.json_schema.');
  if (fault !== undefined) return E.left(fault);
  if (!isObject(asked['schema']))
    return E.left(fieldError('response_format.json_schema.schema', 'must be an object.'));
  if (isObject(config) && !isAbsent(config['format']))
    return E.left(disagreement('response_format', 'output_config.format'));
  return E.right({
    output_config: {
      ...membersOf(config),
      format: {
        type: 'json_schema',
        schema: enforcedSchema(describedSchema(asked['schema'], asked['description'])),
      },
    },
  });
}

/** The messages API can follow a JSON schema, but has no JSON mode without one. */
const noJsonMode = ({ takesSchemas }: BodyRules): GatewayError =>
  fieldError(
    'response_format',
    `cannot be \`json_object\` on this model's route, whose API has no such mode: ${
      takesSchemas ? 'send a `json_schema`' : 'ask for JSON in a message, or have a tool called'
    }.`,
  );
