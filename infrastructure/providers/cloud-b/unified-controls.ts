import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { askedStops, blankStop } from '../../../domain/chat/stop-sequences.ts';
import { askedLimit } from '../../../domain/chat/token-limit.ts';
import { controlsOfA, foreignIn, withoutControls } from '../../../domain/compatibility/foreign-fields.ts';
import { isObject, type Json, type JsonObject, present } from '../../../domain/shared/json.ts';
import { fieldError, unsupportedType, unavailableField } from '../../../domain/shared/field-errors.ts';
import type { ModelTier } from '../../../domain/reasoning/model-tier.ts';
import { omittedSampling, type SamplingField } from '../../../domain/reasoning/sampling-policy.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { samplingFault } from '../messages-body/controls.ts';
import { maxStopSequences } from './unified-limits.ts';

/** Chat controls that the platform has no equivalent of. */
const foreignControls = withoutControls(
  'n',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'modalities',
  'audio',
  'web_search_options',
  'moderation',
  'verbosity',
  ...controlsOfA,
  'functions',
  'function_call',
);

/** The error for the first control that the platform cannot express. */
export function foreignControl(body: JsonObject): GatewayError | undefined {
  const field = foreignIn(body, foreignControls);
  if (field !== undefined) return unavailableField(field);
  const format = body['response_format'];
  if (!isObject(format) || format['type'] === 'text') return undefined;
  if (format['type'] === 'json_object') return noJsonMode;
  const foreign = unsupportedType(format, 'response_format');
  return E.isLeft(foreign) ? foreign.left : undefined;
}

const noJsonMode = fieldError(
  'response_format.type',
  "cannot be `json_object` on this model's route, whose API has no such mode: ask for JSON in a message, or have a tool called.",
);

/** `inferenceConfig`, without the sampling fields that the model does not take. */
export function inferenceConfig(
  body: JsonObject,
  tier: ModelTier | undefined,
): Either<GatewayError, JsonObject> {
  const omitted = omittedSampling(tier, body);
  if (E.isLeft(omitted)) return omitted;
  const sampling = (field: SamplingField): Json | undefined =>
    omitted.right.includes(field) ? undefined : body[field];
  const limit = askedLimit(body);
  if (E.isLeft(limit)) return limit;
  const outside = samplingFault(body);
  if (outside !== undefined) return E.left(outside);
  const stopSequences = stops(body, tier);
  if (E.isLeft(stopSequences)) return stopSequences;
  return E.right(
    present({
      maxTokens: limit.right?.value,
      temperature: sampling('temperature'),
      topP: sampling('top_p'),
      stopSequences: stopSequences.right,
    }),
  );
}

function stops(
  body: JsonObject,
  tier: ModelTier | undefined,
): Either<GatewayError, readonly string[] | undefined> {
  const asked = askedStops(body);
  if (E.isLeft(asked) || asked.right === undefined) return E.isLeft(asked) ? asked : E.right(undefined);
  const { field, value } = asked.right;
  const blank = tier === undefined ? undefined : blankStop(asked.right);
  if (blank !== undefined) return E.left(blank);
  if (value.includes(''))
    return E.left(fieldError(field, 'must be a non-empty string, or an array of such strings.'));
  if (value.length > maxStopSequences)
    return E.left(
      fieldError(field, `must have at most ${maxStopSequences} sequences on this model's route.`),
    );
  return E.right(value.length === 0 ? undefined : value);
}
