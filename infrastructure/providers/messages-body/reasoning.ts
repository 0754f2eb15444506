import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isRecord } from '../../../domain/messages/blocks.ts';
import { modelTier } from '../../../domain/reasoning/model-tier.ts';
import { chatReasoningFields, readReasoningAsk } from '../../../domain/reasoning/reasoning-ask.ts';
import { omittedSampling } from '../../../domain/reasoning/sampling-policy.ts';
import { type Platform, planThinking } from '../../../domain/reasoning/thinking-plan.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';

/** A messages body that follows the model-family policy, and the betas that it cannot do without. */
export interface Reasoned {
  readonly body: JsonObject;
  readonly betas: readonly string[];
}

/**
 * The policy on a messages body in which `thinking`, `output_config` and the fields of chat stand as the caller wrote
 * them: the normalised fields take their place. What the policy does not touch is the same as before.
 */
export function withReasoning(
  body: JsonObject,
  upstreamModel: string,
  platform: Platform,
): Either<GatewayError, Reasoned> {
  const tier = modelTier(upstreamModel);
  const ask = readReasoningAsk(body);
  if (E.isLeft(ask)) return ask;
  const plan = planThinking(tier, platform, ask.right);
  if (E.isLeft(plan)) return plan;
  const omitted = omittedSampling(tier, body);
  if (E.isLeft(omitted)) return omitted;
  const { thinking, effort, betas } = plan.right;
  const gone = new Set<string>([...chatReasoningFields, ...omitted.right]);
  const kept = Object.entries(body).filter(([key]) => !gone.has(key));
  const set: (readonly [string, Json])[] = [];
  if (thinking !== undefined) set.push(['thinking', { ...recordOf(body['thinking']), ...thinking }]);
  if (effort !== undefined) set.push(['output_config', { ...recordOf(body['output_config']), effort }]);
  return E.right({ body: Object.fromEntries([...kept, ...set]), betas });
}

const recordOf = (value: Json | undefined): JsonObject => (isRecord(value) ? value : {});
