import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  deepMerge,
  isArray,
  isObject,
  isString,
  type JsonObject,
  objectsOf,
  without,
} from '../../../domain/shared/json.ts';
import { chatReasoningFields, readReasoningRequest } from '../../../domain/reasoning/reasoning-request.ts';
import { thinkingOff } from '../../../domain/reasoning/model-tier.ts';
import { messagesTier } from '../../../domain/reasoning/route-tier.ts';
import { omittedSampling } from '../../../domain/reasoning/sampling-policy.ts';
import { type Platform, planThinking } from '../../../domain/reasoning/thinking-plan.ts';
import { isLoopWithoutThinking, thinkingLeftOut } from '../../../domain/reasoning/tool-loop.ts';
import type { Route } from '../../../domain/routing/model.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';

/** A messages body that follows the model-family policy, the betas that it requires, and what was left out. */
export interface Reasoned {
  readonly body: JsonObject;
  readonly betas: readonly string[];
  readonly notes?: JsonObject;
}

/**
 * Applies the policy to a messages body, in which `thinking`, `output_config` and the reasoning fields of chat are
 * still as the caller wrote them: the normalised fields replace them. Everything that the policy does not cover is
 * unchanged. Manual thinking is left out, and noted, if the conversation cannot continue with it.
 */
export function withReasoning(
  body: JsonObject,
  route: Pick<Route, 'upstreamModel' | 'compatibility'>,
  platform: Platform,
): Either<GatewayError, Reasoned> {
  const tier = messagesTier(route);
  const requested = readReasoningRequest(body);
  if (E.isLeft(requested)) return requested;
  const plan = planThinking(tier, platform, requested.right, thinkingOff(route.upstreamModel));
  if (E.isLeft(plan)) return plan;
  const omitted = omittedSampling(tier, body);
  if (E.isLeft(omitted)) return omitted;
  const { thinking, effort, betas } = plan.right;
  const leftOut = thinking?.type === 'enabled' && isLoopWithoutThinking(objectsOf(body['messages']));
  const kept = without(leftOut ? withoutThinking(body) : body, ...chatReasoningFields, ...omitted.right);
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

/** The body without thinking and without edits of it, which the upstream rejects where there is no thinking. */
function withoutThinking(body: JsonObject): JsonObject {
  const { context_management: management } = body;
  const unthinking = without(body, 'thinking');
  if (!isObject(management) || !isArray(management['edits'])) return unthinking;
  const edits = management['edits'].filter((edit) => !isObject(edit) || !isThinkingEdit(edit));
  return edits.length === 0
    ? without(unthinking, 'context_management')
    : { ...unthinking, context_management: { ...management, edits } };
}

const isThinkingEdit = ({ type }: JsonObject): boolean => isString(type) && type.startsWith('clear_thinking');
