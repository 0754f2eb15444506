import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { fault, isRecord } from '../../../domain/messages/blocks.ts';
import type { ModelTier } from '../../../domain/reasoning/model-tier.ts';
import { readReasoningAsk, type ReasoningAsk } from '../../../domain/reasoning/reasoning-ask.ts';
import { planThinking, type ThinkingPlan } from '../../../domain/reasoning/thinking-plan.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { isAbsent, isArray, type Json, type JsonObject, numberOf } from '../../../domain/shared/json.ts';
import { spelled } from './unified-options.ts';

/**
 * `additionalModelRequestFields`, for what only some models take: `top_k`, and thinking (adaptive: `type: adaptive` and
 * `effort`; manual: `type: enabled` and `budget_tokens`). Unrelated keys of the caller's are preserved; a conflicting
 * `thinking` is rejected.
 */
export function modelFields(body: JsonObject, tier: ModelTier): Either<GatewayError, JsonObject | undefined> {
  const given = spelled(body, 'additionalModelRequestFields');
  if (E.isLeft(given)) return given;
  const { path, value: own } = given.right ?? { path: '', value: {} };
  if (!isRecord(own)) return E.left(fault(path, 'must be an object.'));
  const asked = askedFields(body, tier);
  if (E.isLeft(asked)) return asked;
  const fields: Record<string, Json | undefined> = { ...own };
  for (const { name, value, source } of asked.right) {
    const agreed = inAgreement(fields[name], value);
    if (agreed === undefined) return E.left(fault(`${path}.${name}`, `and \`${source}\` disagree.`));
    fields[name] = agreed;
  }
  return E.right(Object.keys(fields).length === 0 ? undefined : fields);
}

/** A field for the model that the request asks for in other words. */
interface AskedField {
  readonly name: string;
  readonly value: Json;
  /** The caller's own field. */
  readonly source: string;
}

/** Both in one; undefined: they contradict each other. */
function inAgreement(present: Json | undefined, asked: Json): Json | undefined {
  if (isAbsent(present)) return asked;
  if (isArray(present) && isArray(asked)) return [...new Set([...present, ...asked])];
  if (!isRecord(present) || !isRecord(asked)) return isDeepStrictEqual(present, asked) ? asked : undefined;
  const shared = Object.keys(asked).filter((key) => key === 'type' || !isAbsent(present[key]));
  const agrees = shared.every((key) => isDeepStrictEqual(present[key], asked[key]));
  return agrees ? { ...present, ...asked } : undefined;
}

function askedFields(body: JsonObject, tier: ModelTier): Either<GatewayError, readonly AskedField[]> {
  const topK = body['top_k'];
  if (!isAbsent(topK) && !isCount(topK))
    return E.left(fault('top_k', 'must be an integer that is not negative.'));
  const ask = readReasoningAsk(body);
  if (E.isLeft(ask)) return ask;
  const plan = planThinking(tier, 'b', ask.right);
  if (E.isLeft(plan)) return plan;
  const source = askedIn(ask.right);
  const thinking = thinkingFields(plan.right, plan.right.effort ?? ask.right.ownEffort, body['thinking']);
  return E.right([
    ...(isAbsent(topK) ? [] : [{ name: 'top_k', value: topK, source: 'top_k' }]),
    ...Object.entries(thinking).map(([name, value]) => ({ name, value, source })),
  ]);
}

const isCount = (value: Json): boolean => {
  const number = numberOf(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0;
};

/** Where the caller asks for thinking. */
function askedIn(ask: ReasoningAsk): string {
  if ('effort' in ask) return ask.effort.field;
  if ('budget' in ask) return ask.budget.field;
  return ask.ownEffort === undefined ? 'thinking' : 'output_config.effort';
}

/**
 * Effort belongs to adaptive thinking; without it, the model knows it by the name that the messages body has. What
 * else the caller's own `thinking` says stays in it.
 */
function thinkingFields(
  { thinking, betas }: ThinkingPlan,
  effort: string | undefined,
  own: Json | undefined,
): Readonly<Record<string, Json>> {
  const { type: _type, budget_tokens: _budget, ...rest } = isRecord(own) ? own : {};
  if (thinking?.type === 'adaptive')
    return { thinking: { ...rest, ...thinking, ...(effort === undefined ? {} : { effort }) } };
  return {
    ...(thinking === undefined ? {} : { thinking: { ...rest, ...thinking } }),
    ...(effort === undefined ? {} : { output_config: { effort } }),
    ...(betas.length === 0 ? {} : { anthropic_beta: betas }),
  };
}
