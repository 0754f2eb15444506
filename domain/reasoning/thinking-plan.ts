import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { disagreement, fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import type { Json } from '../shared/json.ts';
import type { ModelTier, ThinkingOff } from './model-tier.ts';
import type { ThinkingRequestKind, ReasoningRequest, ThinkingBudget } from './reasoning-request.ts';

/** The platforms that serve messages-family models: A and B. */
export type Platform = 'a' | 'b';

/** Thinking as the messages body expresses it; adaptive thinking and a budget are never combined. */
export type Thinking =
  | { readonly type: 'adaptive' }
  | { readonly type: 'enabled'; readonly budget_tokens: Json }
  | { readonly type: 'disabled' }
  | { readonly type: 'between_tools' };

/** What a request says about thinking, in whichever form the style of its upstream writes it. */
export interface ThinkingPlan {
  /** `undefined` when nothing is decided, and what the caller wrote stays. */
  readonly thinking: Thinking | undefined;
  /** Written as `output_config.effort`; `undefined` leaves there what the caller wrote. */
  readonly effort: string | undefined;
  /** Values of `anthropic_beta` that the upstream requires for this. */
  readonly betas: readonly string[];
}

/** Enables effort on platform B for models from before it was generally available. */
const effortBeta = 'effort-2025-11-24';

/**
 * Thinking by family tier, and by platform where the platforms differ: the specification's table
 * (rules 16.1, 16.4, 16.5, 16.8, 16.11). `off` says how the model is asked not to think.
 */
export function planThinking(
  tier: ModelTier,
  platform: Platform,
  requested: ReasoningRequest,
  off: ThinkingOff,
): Either<GatewayError, ThinkingPlan> {
  const row: Row = thinkingTable[tier];
  const cell = row[requested.kind];
  const decided = rules[typeof cell === 'string' ? cell : cell[platform]](planInput(requested, off));
  if (E.isLeft(decided)) return decided;
  const { thinking, effort } = decided.right;
  const needsBeta = tier === 'one_older' && platform === 'b' && (effort ?? requested.ownEffort) !== undefined;
  return E.right({ thinking, effort, betas: needsBeta ? [effortBeta] : [] });
}

/** One cell of the table. */
type Rule =
  /** The caller's own thinking, if any. */
  | 'as_asked'
  /** `thinking: {type: disabled}`, or what the model has in its place. */
  | 'off'
  /** `thinking: {type: adaptive}` plus `output_config.effort`. */
  | 'adaptive_with_effort'
  /** `output_config.effort` alone. */
  | 'effort_only'
  /** `thinking: {type: enabled, budget_tokens}`. */
  | 'manual'
  /** The same plus `output_config.effort`. */
  | 'manual_with_effort'
  | 'no_manual_thinking'
  | 'no_adaptive_thinking'
  | 'always_thinks'
  | 'budget_required'
  | 'effort_against_budget';

type Row = Readonly<Record<ThinkingRequestKind, Rule | Readonly<Record<Platform, Rule>>>>;

/** The rule for each kind of ask on each tier. */
const thinkingTable = {
  /**
   * Effort maps to adaptive thinking plus `output_config.effort`. Manual `thinking.type: enabled` and `budget_tokens`
   * rejected.
   */
  latest: {
    nothing: 'as_asked',
    off: 'off',
    disabled: 'as_asked',
    between_tools: 'as_asked',
    adaptive: 'as_asked',
    effort: 'adaptive_with_effort',
    budget: 'no_manual_thinking',
    effort_and_budget: 'no_manual_thinking',
  },
  /** Effort maps to adaptive thinking plus `output_config.effort`; caller manual budgets pass through. */
  previous: {
    nothing: 'as_asked',
    off: 'off',
    disabled: 'as_asked',
    between_tools: 'as_asked',
    adaptive: 'as_asked',
    effort: 'adaptive_with_effort',
    budget: 'manual',
    effort_and_budget: 'effort_against_budget',
  },
  /** Effort maps to `output_config.effort` (adaptive on platform B); `thinking.type: disabled` rejected. */
  preview: {
    nothing: 'as_asked',
    off: 'always_thinks',
    disabled: 'always_thinks',
    between_tools: 'as_asked',
    adaptive: 'as_asked',
    effort: { a: 'effort_only', b: 'adaptive_with_effort' },
    budget: 'manual',
    effort_and_budget: 'effort_against_budget',
  },
  /** Adaptive rejected. Effort maps to `output_config.effort` only with a manual budget. */
  one_older: {
    nothing: 'as_asked',
    off: 'as_asked',
    disabled: 'as_asked',
    between_tools: 'as_asked',
    adaptive: 'no_adaptive_thinking',
    effort: 'budget_required',
    budget: 'manual',
    effort_and_budget: 'manual_with_effort',
  },
  /** Adaptive rejected; an explicit manual budget is required; no `output_config.effort` is added. */
  older: {
    nothing: 'as_asked',
    off: 'as_asked',
    disabled: 'as_asked',
    between_tools: 'as_asked',
    adaptive: 'no_adaptive_thinking',
    effort: 'budget_required',
    budget: 'manual',
    effort_and_budget: 'manual',
  },
} as const satisfies Record<ModelTier, Row>;

type Decision = Either<GatewayError, Omit<ThinkingPlan, 'betas'>>;

/**
 * The input of the rules. For an effort or budget that the caller did not send, the field is the one to name in an
 * error.
 */
interface PlanInput {
  /** The caller's own thinking without a budget. */
  readonly own: Thinking | undefined;
  readonly off: ThinkingOff;
  readonly effort: string | undefined;
  readonly effortField: string;
  readonly budget: ThinkingBudget;
}

const leastEffort = 'low';

/**
 * Chat's `minimal` is below `low`, and these models refuse it: it becomes the lowest effort that they have
 * (rule 16.14).
 */
const leastEfforts: ReadonlyMap<string, string> = new Map([['minimal', leastEffort]]);

const planInput = (requested: ReasoningRequest, off: ThinkingOff): PlanInput => {
  const effort = 'effort' in requested ? requested.effort : undefined;
  return {
    own:
      requested.kind === 'adaptive' || requested.kind === 'disabled' || requested.kind === 'between_tools'
        ? { type: requested.kind }
        : undefined,
    off,
    effort: effort === undefined ? undefined : (leastEfforts.get(effort.value) ?? effort.value),
    effortField: effort?.field ?? 'thinking.type',
    budget: 'budget' in requested ? requested.budget : { field: 'thinking.budget_tokens', value: undefined },
  };
};

const decided = (thinking: Thinking | undefined, effort?: string): Decision => E.right({ thinking, effort });

const rejected = (field: string, problem: string): Decision => E.left(fieldError(field, problem));

const manual = ({ field, value }: ThinkingBudget, effort?: string): Decision =>
  value === undefined
    ? rejected(field, 'must be a positive integer.')
    : decided({ type: 'enabled', budget_tokens: value }, effort);

const manualField = ({ field, value }: ThinkingBudget): string =>
  value === undefined ? 'thinking.type' : field;

const rules: Readonly<Record<Rule, (asked: PlanInput) => Decision>> = {
  as_asked: ({ own }) => decided(own),
  off: ({ off }) =>
    off === 'least_effort' ? decided({ type: 'adaptive' }, leastEffort) : decided({ type: off }),
  adaptive_with_effort: ({ effort }) => decided({ type: 'adaptive' }, effort),
  effort_only: ({ effort }) => decided(undefined, effort),
  manual: ({ budget }) => manual(budget),
  manual_with_effort: ({ budget, effort }) => manual(budget, effort),
  no_manual_thinking: ({ budget }) =>
    rejected(
      manualField(budget),
      'is not available: this model thinks adaptively; ask for an effort instead.',
    ),
  no_adaptive_thinking: () =>
    rejected('thinking.type', 'must not be `adaptive`: this model thinks by a manual budget alone.'),
  always_thinks: ({ effortField }) =>
    rejected(effortField, 'cannot turn thinking off: this model always thinks.'),
  budget_required: ({ effortField }) =>
    rejected(
      effortField,
      'needs a manual budget on this model: `reasoning.budget_tokens`, `reasoning_budget_tokens`, ' +
        '`thinking_budget_tokens`, or `thinking.type: enabled` with `budget_tokens`.',
    ),
  effort_against_budget: ({ effortField, budget }) => E.left(disagreement(effortField, manualField(budget))),
};
