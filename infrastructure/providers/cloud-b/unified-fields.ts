import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { EffortPlacement } from '../../../domain/compatibility/cloud-b-style.ts';
import {
  isAbsent,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  membersOf,
  without,
} from '../../../domain/shared/json.ts';
import { fieldError } from '../../../domain/shared/field-errors.ts';
import { type ModelTier, thinkingOff } from '../../../domain/reasoning/model-tier.ts';
import {
  requestingField,
  chatReasoningFields,
  readReasoningRequest,
  type ReasoningRequest,
} from '../../../domain/reasoning/reasoning-request.ts';
import { planThinking, type ThinkingPlan } from '../../../domain/reasoning/thinking-plan.ts';
import { thinkingLeftOut } from '../../../domain/reasoning/tool-loop.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { spelled } from './unified-options.ts';
import { otherFamilyReasoning, type ReasoningAsSent } from './unified-reasoning.ts';
import { isNova } from './unified-schema.ts';

/** What the fields depend on besides the caller's body. */
export interface FieldTerms {
  readonly upstreamModel: string;
  /** `undefined` if the model is not of the messages family. */
  readonly tier: ModelTier | undefined;
  readonly effortPlacement: EffortPlacement;
  /** The tool choice, if `toolConfig` cannot express it. */
  readonly toolChoice: ImpliedField | undefined;
  /** Whether the conversation ends with tool results. */
  readonly inToolLoop: boolean;
  /** Whether the caller sent a messages body: what it asks of thinking is then read from that API's fields alone. */
  readonly translated: boolean;
}

/** The fields, and a note on what was left out or lowered, for the metadata of the log row. */
export interface ModelFields {
  readonly fields: JsonObject | undefined;
  readonly notes: JsonObject | undefined;
}

/**
 * `additionalModelRequestFields`, for what only some models take: `top_k`, a tool choice that allows one call only, and
 * thinking (adaptive: `type: adaptive` and `effort`; manual: `type: enabled` and `budget_tokens`). The caller's
 * unrelated keys are preserved; a conflicting `thinking` is rejected. Thinking is not replayed, and in a tool loop the
 * upstream rejects manual thinking without replay: there it is left out, and noted.
 */
export function modelFields(body: JsonObject, terms: FieldTerms): Either<GatewayError, ModelFields> {
  const given = spelled(body, 'additionalModelRequestFields');
  if (E.isLeft(given)) return given;
  const { path, value: own } = given.right ?? { path: '', value: {} };
  if (!isObject(own)) return E.left(fieldError(path, 'must be an object.'));
  const asked = askedFields(body, terms);
  if (E.isLeft(asked)) return asked;
  const { fields: askedFor, notes } = asked.right;
  const fields: Record<string, Json | undefined> = { ...own };
  for (const { name, value, source } of askedFor) {
    const agreed = inAgreement(fields[name], value);
    if (agreed === undefined) return E.left(fieldError(`${path}.${name}`, `and \`${source}\` disagree.`));
    fields[name] = agreed;
  }
  const leftOut = terms.tier !== undefined && terms.inToolLoop && isManual(fields['thinking']);
  if (leftOut) delete fields['thinking'];
  return E.right({
    fields: Object.keys(fields).length === 0 ? undefined : fields,
    notes: leftOut ? thinkingLeftOut : notes,
  });
}

const isManual = (thinking: Json | undefined): boolean =>
  isObject(thinking) && thinking['type'] === 'enabled';

/** A field for the model that follows from another field of the request. */
export interface ImpliedField {
  readonly name: string;
  readonly value: Json;
  /** The caller's field that it follows from. */
  readonly source: string;
}

/** Merges the two values; `undefined` if they contradict each other. */
function inAgreement(present: Json | undefined, asked: Json): Json | undefined {
  if (isAbsent(present)) return asked;
  if (isArray(present) && isArray(asked)) return [...new Set([...present, ...asked])];
  if (!isObject(present) || !isObject(asked)) return isDeepStrictEqual(present, asked) ? asked : undefined;
  const shared = Object.keys(asked).filter((key) => key === 'type' || !isAbsent(present[key]));
  const agrees = shared.every((key) => isDeepStrictEqual(present[key], asked[key]));
  return agrees ? { ...present, ...asked } : undefined;
}

interface AskedFields {
  readonly fields: readonly ImpliedField[];
  readonly notes: JsonObject | undefined;
}

function askedFields(body: JsonObject, terms: FieldTerms): Either<GatewayError, AskedFields> {
  const topK = body['top_k'];
  const requested = readReasoningRequest(terms.translated ? without(body, ...chatReasoningFields) : body);
  if (E.isLeft(requested)) return requested;
  const reasoning = reasoningFields(requested.right, body['thinking'], terms);
  if (E.isLeft(reasoning)) return reasoning;
  const source = requestingField(requested.right);
  return E.right({
    fields: [
      ...(isAbsent(topK) ? [] : [topKField(topK, terms)]),
      ...(terms.toolChoice === undefined ? [] : [terms.toolChoice]),
      ...Object.entries(reasoning.right.fields).map(([name, value]) => ({
        name,
        value: value ?? null,
        source,
      })),
    ],
    notes: reasoning.right.notes,
  });
}

/**
 * Nova models take it among their own inference parameters, and reject the name that other models use:
 * https://docs.aws.amazon.com/nova/latest/userguide/using-converse-api.html
 */
const topKField = (topK: Json, { upstreamModel }: FieldTerms): ImpliedField =>
  isNova(upstreamModel)
    ? { name: 'inferenceConfig', value: { topK }, source: 'top_k' }
    : { name: 'top_k', value: topK, source: 'top_k' };

function reasoningFields(
  requested: ReasoningRequest,
  own: Json | undefined,
  { upstreamModel, tier, effortPlacement, translated }: FieldTerms,
): Either<GatewayError, ReasoningAsSent> {
  if (tier === undefined) return otherFamilyReasoning(upstreamModel, requested, translated);
  const plan = planThinking(tier, 'b', requested, thinkingOff(upstreamModel));
  if (E.isLeft(plan)) return plan;
  const effort = plan.right.effort ?? requested.ownEffort;
  return E.right({ fields: thinkingFields(plan.right, effort, own, effortPlacement) });
}

/**
 * With adaptive thinking, effort is a member of `thinking`, unless the route's `effort_placement` says otherwise. In
 * all other cases it goes into `output_config`, as in the messages body. Other members of the caller's `thinking` are
 * kept, except those that need a beta of the caller's, which does not go with this style: the platform rejects them.
 */
function thinkingFields(
  { thinking, betas }: ThinkingPlan,
  effort: string | undefined,
  own: Json | undefined,
  placement: EffortPlacement,
): JsonObject {
  const asked = without(membersOf(own), 'type', 'budget_tokens', 'block_binding');
  const rest = asked['display'] === 'updates' ? without(asked, 'display') : asked;
  const effortMember = effort === undefined ? {} : { effort };
  if (thinking?.type === 'adaptive' && placement === 'thinking')
    return { thinking: { ...rest, ...thinking, ...effortMember } };
  return {
    ...(thinking === undefined ? {} : { thinking: { ...rest, ...thinking } }),
    ...(effort === undefined ? {} : { output_config: effortMember }),
    ...(betas.length === 0 ? {} : { anthropic_beta: betas }),
  };
}
