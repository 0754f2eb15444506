import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import {
  isAbsent,
  isObject,
  isPositiveInteger,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  numberOf,
} from '../shared/json.ts';
import { disagreement, fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';

/** The effort that asks for no reasoning. */
const noEffort = 'none';

/** A value, and the field in which the caller gave it. */
export interface FieldValue<A> {
  readonly field: string;
  readonly value: A;
}

/** What a body asks of the model's thinking, once all spellings agree. */
export type ReasoningRequest = ThinkingRequest & {
  /** The caller's own `output_config.effort`: how much effort goes into the whole answer, with thinking or without. */
  readonly ownEffort: string | undefined;
};

export type ThinkingRequest =
  | { readonly kind: 'nothing' }
  /** An effort of `none`. */
  | { readonly kind: 'off'; readonly effort: FieldValue<string> }
  /** `thinking.type: disabled`. */
  | { readonly kind: 'disabled' }
  /** `thinking.type: between_tools`; the upstream decides which models accept it. */
  | { readonly kind: 'between_tools' }
  /** `thinking.type: adaptive`, without an effort in a chat field. */
  | { readonly kind: 'adaptive' }
  /** `reasoning_effort` or `reasoning.effort`; the caller's own `thinking`, if present, is adaptive. */
  | { readonly kind: 'effort'; readonly effort: FieldValue<string> }
  /** A manual budget. */
  | { readonly kind: 'budget'; readonly budget: ThinkingBudget }
  | {
      readonly kind: 'effort_and_budget';
      readonly effort: FieldValue<string>;
      readonly budget: ThinkingBudget;
    };

/** The budget with every digit; `undefined` for `thinking.type: enabled` without one. */
export type ThinkingBudget = FieldValue<Json | undefined>;

export type ThinkingRequestKind = ThinkingRequest['kind'];

/** The field in which the caller asks for thinking. */
export function requestingField(requested: ReasoningRequest): string {
  if ('effort' in requested) return requested.effort.field;
  if ('budget' in requested) return requested.budget.field;
  return requested.ownEffort === undefined || requested.kind === 'disabled'
    ? 'thinking.type'
    : 'output_config.effort';
}

/** The chat fields that say what `thinking` and `output_config` say in the messages body. */
export const chatReasoningFields = [
  'reasoning_effort',
  'reasoning',
  'reasoning_budget_tokens',
  'thinking_budget_tokens',
] as const;

const thinkingTypes = ['adaptive', 'enabled', 'disabled', 'between_tools'] as const;
type ThinkingType = (typeof thinkingTypes)[number];

const isThinkingType = (value: Json | undefined): value is ThinkingType =>
  thinkingTypes.some((type) => type === value);

/**
 * Collects effort and budget from every spelling. The request fails when `reasoning_effort` disagrees with
 * `reasoning.effort`, `output_config.effort`, the caller's `thinking` or a manual budget. Effort levels are not checked
 * here: a level that the upstream does not have is refused there, and never replaced by a lower one.
 */
export function readReasoningRequest(body: JsonObject): Either<GatewayError, ReasoningRequest> {
  const notAnObject = ['thinking', 'reasoning', 'output_config'].find(
    (field) => !isAbsent(body[field]) && !isObject(body[field]),
  );
  if (notAnObject !== undefined) return E.left(fieldError(notAnObject, 'must be an object.'));
  const thinking = membersOf(body['thinking']);
  const reasoning = membersOf(body['reasoning']);
  const efforts = agreed(
    [
      ['reasoning_effort', body['reasoning_effort']],
      ['reasoning.effort', reasoning['effort']],
      ['output_config.effort', membersOf(body['output_config'])['effort']],
    ],
    isWord,
    'must be a non-empty string.',
  );
  if (E.isLeft(efforts)) return efforts;
  const budgets = agreed(
    [
      ['thinking.budget_tokens', thinking['budget_tokens']],
      ['reasoning.budget_tokens', reasoning['budget_tokens']],
      ['reasoning.max_tokens', reasoning['max_tokens']],
      ['reasoning_budget_tokens', body['reasoning_budget_tokens']],
      ['thinking_budget_tokens', body['thinking_budget_tokens']],
    ],
    isPositiveInteger,
    'must be a positive integer.',
  );
  if (E.isLeft(budgets)) return budgets;
  if (reasoning['enabled'] === false)
    return E.left(fieldError('reasoning.enabled', 'cannot be `false`: send `reasoning_effort: "none"`.'));
  const { type } = thinking;
  if (!isAbsent(body['thinking']) && !isThinkingType(type))
    return E.left(
      fieldError('thinking.type', 'must be `adaptive`, `enabled`, `disabled` or `between_tools`.'),
    );
  const ownEffort = efforts.right.find(({ field }) => field === 'output_config.effort')?.value;
  const effort = efforts.right.find(({ field }) => field !== 'output_config.effort');
  const manual = manualThinking(isThinkingType(type) ? type : undefined, budgets.right[0]);
  if (E.isLeft(manual)) return manual;
  return pipe(
    withEffort(effort, manual.right),
    E.chain((requested) =>
      reasoning['enabled'] === true ? enabled(requested, ownEffort) : E.right(requested),
    ),
    E.map((requested): ReasoningRequest => ({ ...requested, ownEffort })),
  );
}

/** What `reasoning.enabled: true` alone asks for, as the aggregator documents that has this field. */
const defaultEffort = 'medium';

/** `reasoning.enabled: true` asks for an effort unless the caller says how much to think. */
function enabled(
  requested: ThinkingRequest,
  ownEffort: string | undefined,
): Either<GatewayError, ThinkingRequest> {
  const field = 'reasoning.enabled';
  if (requested.kind === 'off') return E.left(disagreement(requested.effort.field, field));
  if (requested.kind === 'disabled') return E.left(disagreement('thinking.type', field));
  return requested.kind === 'nothing'
    ? withEffort({ field, value: ownEffort ?? defaultEffort }, requested)
    : E.right(requested);
}

const isWord = (value: Json): value is string => isString(value) && value !== '';

type Field = readonly [field: string, value: Json | undefined];

/** The spellings that are present, if each is well-formed and all agree. */
function agreed<A extends Json>(
  fields: readonly Field[],
  isWellFormed: (value: Json) => value is A,
  problem: string,
): Either<GatewayError, readonly FieldValue<A>[]> {
  const given: FieldValue<A>[] = [];
  for (const [field, value] of fields) {
    if (isAbsent(value)) continue;
    if (!isWellFormed(value)) return E.left(fieldError(field, problem));
    const [first] = given;
    if (first !== undefined && !isSame(first.value, value)) return E.left(disagreement(first.field, field));
    given.push({ field, value });
  }
  return E.right(given);
}

const isSame = (a: Json, b: Json): boolean => a === b || (!isString(a) && numberOf(a) === numberOf(b));

type ManualRequest = Extract<
  ThinkingRequest,
  { kind: 'nothing' | 'disabled' | 'between_tools' | 'adaptive' | 'budget' }
>;

/** What the caller's `thinking` and budgets ask for by themselves. */
function manualThinking(
  type: ThinkingType | undefined,
  budget: FieldValue<Json> | undefined,
): Either<GatewayError, ManualRequest> {
  if (type === 'enabled')
    return E.right({
      kind: 'budget',
      budget: budget ?? { field: 'thinking.budget_tokens', value: undefined },
    });
  if (type !== undefined)
    return budget === undefined
      ? E.right({ kind: type })
      : E.left(disagreement('thinking.type', budget.field));
  return E.right(budget === undefined ? { kind: 'nothing' } : { kind: 'budget', budget });
}

/** The same, combined with the effort from a chat field. */
function withEffort(
  effort: FieldValue<string> | undefined,
  requested: ManualRequest,
): Either<GatewayError, ThinkingRequest> {
  if (effort === undefined) return E.right(requested);
  const off = effort.value === noEffort;
  switch (requested.kind) {
    case 'nothing':
      return E.right({ kind: off ? 'off' : 'effort', effort });
    case 'disabled':
      return off ? E.right(requested) : E.left(disagreement(effort.field, 'thinking.type'));
    case 'between_tools':
      return E.left(disagreement(effort.field, 'thinking.type'));
    case 'adaptive':
      return off ? E.left(disagreement(effort.field, 'thinking.type')) : E.right({ kind: 'effort', effort });
    case 'budget':
      return off
        ? E.left(disagreement(effort.field, requested.budget.field))
        : E.right({ kind: 'effort_and_budget', effort, budget: requested.budget });
  }
}
