import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { deepMerge, type JsonObject, objectsOf, without } from '../../../domain/shared/json.ts';
import { chatReasoningFields, readReasoningAsk } from '../../../domain/reasoning/reasoning-ask.ts';
import { messagesTier } from '../../../domain/reasoning/route-tier.ts';
import { omittedSampling } from '../../../domain/reasoning/sampling-policy.ts';
import { type Platform, planThinking } from '../../../domain/reasoning/thinking-plan.ts';
import { isLoopWithoutThinking, thinkingLeftOut } from '../../../domain/reasoning/tool-loop.ts';
import type { Route } from '../../../domain/routing/model.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';

/** A messages body that follows the model-family policy, the betas that it cannot do without, and what was left out. */
export interface Reasoned {
  readonly body: JsonObject;
  readonly betas: readonly string[];
  readonly notes?: JsonObject;
}

/**
 * The policy on a messages body in which `thinking`, `output_config` and the fields of chat stand as the caller wrote
 * them: the normalised fields take their place. What the policy does not touch is the same as before. Manual thinking
 * that the conversation cannot go on with is left out, and noted.
 */
export function withReasoning(
  body: JsonObject,
  route: Pick<Route, 'upstreamModel' | 'compatibility'>,
  platform: Platform,
): Either<GatewayError, Reasoned> {
  const tier = messagesTier(route);
  const ask = readReasoningAsk(body);
  if (E.isLeft(ask)) return ask;
  const plan = planThinking(tier, platform, ask.right);
  if (E.isLeft(plan)) return plan;
  const omitted = omittedSampling(tier, body);
  if (E.isLeft(omitted)) return omitted;
  const { thinking, effort, betas } = plan.right;
  const leftOut = thinking?.type === 'enabled' && isLoopWithoutThinking(objectsOf(body['messages']));
  const kept = without(body, ...chatReasoningFields, ...omitted.right, ...(leftOut ? ['thinking'] : []));
  const planned: JsonObject = {
    ...(thinking !== undefined && !leftOut && { thinking: { ...thinking } }),
    ...(effort !== undefined && { output_config: { effort } }),
  };
  return E.right({
    body: deepMerge(kept, planned),
    betas,
    ...(leftOut ? { notes: thinkingLeftOut } : {}),
  });
}
