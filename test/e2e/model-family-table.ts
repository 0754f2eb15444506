import type { ModelTier } from '../../domain/reasoning/model-tier.ts';

type Members = Readonly<Record<string, unknown>>;

/** What goes out of a request, beside the conversation and its limit. */
export interface Sent {
  /** Members of the messages body on platform A. */
  readonly a: Members;
  /** The same on platform B. */
  readonly b: Members;
  /** Values of `anthropic_beta` on platform B, wherever a style has them. */
  readonly betas: readonly string[];
  /** `additionalModelRequestFields` of the converse body; undefined: it has none. */
  readonly fields: Members | undefined;
  /** Members of `inferenceConfig` of the converse body. */
  readonly inference: Members;
}

/** An error that names its field; the same wherever the model is. */
export interface Refused {
  readonly param: string;
  readonly message: string;
}

export type Cell = Sent | Refused;

const refused = (param: string, problem: string): Refused => ({ param, message: `\`${param}\` ${problem}` });

const disagree = (param: string, other: string): Refused => refused(param, `and \`${other}\` disagree.`);

const noManual = (param: string): Refused =>
  refused(param, 'is not available: this model thinks adaptively; ask for an effort instead.');

const noAdaptive: Refused = refused(
  'thinking.type',
  'must not be `adaptive`: this model thinks by a manual budget alone.',
);

const alwaysThinks = (param: string): Refused =>
  refused(param, 'cannot turn thinking off: this model always thinks.');

const needsBudget = (param: string): Refused =>
  refused(
    param,
    'needs a manual budget on this model: `reasoning.budget_tokens`, `reasoning_budget_tokens`, ' +
      '`thinking_budget_tokens`, or `thinking.type: enabled` with `budget_tokens`.',
  );

const noBudget: Refused = refused('thinking.budget_tokens', 'must be a positive integer.');

const fixedSampling = (param: string, fix: string): Refused =>
  refused(param, `cannot be set on this model, which samples by itself: ${fix}.`);

const high = { effort: 'high' } as const;
const effortBeta = 'effort-2025-11-24';

/** The same members on both platforms, and what they are in the words of converse. */
const sent = (members: Members, fields: Members | undefined, more: Partial<Sent> = {}): Sent => ({
  a: members,
  b: members,
  betas: [],
  fields,
  inference: {},
  ...more,
});

/** On platform B an effort also adds the beta that the model wants for it. */
const withBeta = (cell: Sent): Sent => ({
  ...cell,
  betas: [effortBeta],
  fields: { ...cell.fields, anthropic_beta: [effortBeta] },
});

const adaptive = { type: 'adaptive' } as const;
const disabled = { type: 'disabled' } as const;
const manual = { type: 'enabled', budget_tokens: 2048 } as const;

const untouched = sent({}, undefined);
const ownEffort = sent({ output_config: high }, { output_config: high });
const adaptively = sent({ thinking: adaptive }, { thinking: adaptive });
const withEffort = sent(
  { thinking: adaptive, output_config: high },
  { thinking: { type: 'adaptive', effort: 'high' } },
);
/** The preview thinks adaptively without being told so on platform A. */
const effortOfPreview: Sent = { ...withEffort, a: { output_config: high } };
const off = sent({ thinking: disabled }, { thinking: disabled });
const offWithEffort = sent(
  { thinking: disabled, output_config: high },
  { thinking: disabled, output_config: high },
);
const manually = sent({ thinking: manual }, { thinking: manual });
const manualWithEffort = sent(
  { thinking: manual, output_config: high },
  { thinking: manual, output_config: high },
);

type Row = { readonly asked: Members } & Readonly<Record<ModelTier, Cell>>;

const everywhere = (cell: Cell): Readonly<Record<ModelTier, Cell>> => ({
  latest: cell,
  previous: cell,
  preview: cell,
  one_older: cell,
  older: cell,
});

/** Effort in chat's words, by the field that says it. */
const effortRow = (asked: Members, field: string): Row => ({
  asked,
  latest: withEffort,
  previous: withEffort,
  preview: effortOfPreview,
  one_older: needsBudget(field),
  older: needsBudget(field),
});

/** A manual budget, by the field that says it. */
const budgetRow = (asked: Members, field: string): Row => ({
  asked,
  ...everywhere(manually),
  latest: noManual(field),
});

/** Effort and a manual budget, by the fields that say them. */
const bothRow = (asked: Members, effort: string, budget: string): Row => ({
  asked,
  latest: noManual(budget),
  previous: disagree(effort, budget),
  preview: disagree(effort, budget),
  one_older: withBeta(manualWithEffort),
  older: manually,
});

/** A sampling field that the latest generation does not take. */
const samplingRow = (asked: Members, refusal: Refused, inference: Members): Row => ({
  asked,
  ...everywhere(sent(asked, undefined, { inference })),
  latest: refusal,
});

/** A default that the latest generation is not told. */
const defaultRow = (asked: Members, inference: Members): Row => ({
  asked,
  ...everywhere(sent(asked, undefined, { inference })),
  latest: untouched,
});

const conflict = (asked: Members, refusal: Refused): Row => ({ asked, ...everywhere(refusal) });

/**
 * "Model-family request policy for messages-body upstreams", row by row: what each tier makes of each request. Every
 * request has a cell for every tier.
 */
export const familyTable = {
  nothing: { asked: {}, ...everywhere(untouched) },
  reasoning_effort: effortRow({ reasoning_effort: 'high' }, 'reasoning_effort'),
  'reasoning.effort': effortRow({ reasoning: high }, 'reasoning.effort'),
  'both efforts, which agree': effortRow({ reasoning_effort: 'high', reasoning: high }, 'reasoning_effort'),
  'reasoning_effort and output_config.effort, which agree': {
    ...effortRow({ reasoning_effort: 'high', output_config: high }, 'reasoning_effort'),
  },
  'an effort of none': {
    asked: { reasoning_effort: 'none' },
    latest: off,
    previous: off,
    preview: alwaysThinks('reasoning_effort'),
    one_older: untouched,
    older: untouched,
  },
  'output_config.effort alone': {
    asked: { output_config: high },
    ...everywhere(ownEffort),
    one_older: withBeta(ownEffort),
  },
  'adaptive thinking': {
    asked: { thinking: adaptive },
    ...everywhere(adaptively),
    one_older: noAdaptive,
    older: noAdaptive,
  },
  'adaptive thinking and reasoning_effort': {
    asked: { thinking: adaptive, reasoning_effort: 'high' },
    ...everywhere(withEffort),
    one_older: needsBudget('reasoning_effort'),
    older: needsBudget('reasoning_effort'),
  },
  'adaptive thinking and output_config.effort': {
    asked: { thinking: adaptive, output_config: high },
    ...everywhere(withEffort),
    one_older: noAdaptive,
    older: noAdaptive,
  },
  'disabled thinking': {
    asked: { thinking: disabled },
    ...everywhere(off),
    preview: alwaysThinks('thinking.type'),
  },
  'disabled thinking and output_config.effort': {
    asked: { thinking: disabled, output_config: high },
    ...everywhere(offWithEffort),
    preview: alwaysThinks('thinking.type'),
    one_older: withBeta(offWithEffort),
  },
  'thinking.budget_tokens': budgetRow({ thinking: manual }, 'thinking.budget_tokens'),
  'reasoning.budget_tokens': budgetRow({ reasoning: { budget_tokens: 2048 } }, 'reasoning.budget_tokens'),
  reasoning_budget_tokens: budgetRow({ reasoning_budget_tokens: 2048 }, 'reasoning_budget_tokens'),
  thinking_budget_tokens: budgetRow({ thinking_budget_tokens: 2048 }, 'thinking_budget_tokens'),
  'enabled thinking without a budget': {
    asked: { thinking: { type: 'enabled' } },
    ...everywhere(noBudget),
    latest: noManual('thinking.type'),
  },
  'enabled thinking, whose budget stands elsewhere': budgetRow(
    { thinking: { type: 'enabled' }, reasoning_budget_tokens: 2048 },
    'reasoning_budget_tokens',
  ),
  'reasoning_effort and a budget': bothRow(
    { reasoning_effort: 'high', thinking: manual },
    'reasoning_effort',
    'thinking.budget_tokens',
  ),
  'reasoning.effort and a budget beside it': bothRow(
    { reasoning: { effort: 'high', budget_tokens: 2048 } },
    'reasoning.effort',
    'reasoning.budget_tokens',
  ),
  'output_config.effort and a budget': {
    asked: { output_config: high, thinking: manual },
    ...everywhere(manualWithEffort),
    latest: noManual('thinking.budget_tokens'),
    one_older: withBeta(manualWithEffort),
  },
  'reasoning_effort against reasoning.effort': conflict(
    { reasoning_effort: 'high', reasoning: { effort: 'low' } },
    disagree('reasoning_effort', 'reasoning.effort'),
  ),
  'reasoning_effort against output_config.effort': conflict(
    { reasoning_effort: 'low', output_config: high },
    disagree('reasoning_effort', 'output_config.effort'),
  ),
  'reasoning.effort against output_config.effort': conflict(
    { reasoning: { effort: 'low' }, output_config: high },
    disagree('reasoning.effort', 'output_config.effort'),
  ),
  'reasoning_effort against disabled thinking': conflict(
    { reasoning_effort: 'high', thinking: disabled },
    disagree('reasoning_effort', 'thinking.type'),
  ),
  'an effort of none against adaptive thinking': conflict(
    { reasoning_effort: 'none', thinking: adaptive },
    disagree('reasoning_effort', 'thinking.type'),
  ),
  'an effort of none against a budget': conflict(
    { reasoning_effort: 'none', thinking: manual },
    disagree('reasoning_effort', 'thinking.budget_tokens'),
  ),
  'two budgets': conflict(
    { thinking: manual, thinking_budget_tokens: 1024 },
    disagree('thinking.budget_tokens', 'thinking_budget_tokens'),
  ),
  'a budget against adaptive thinking': conflict(
    { thinking: adaptive, reasoning_budget_tokens: 2048 },
    disagree('thinking.type', 'reasoning_budget_tokens'),
  ),
  'a budget against disabled thinking': conflict(
    { thinking: disabled, reasoning: { budget_tokens: 2048 } },
    disagree('thinking.type', 'reasoning.budget_tokens'),
  ),
  'temperature 1': defaultRow({ temperature: 1 }, { temperature: 1 }),
  'top_p 1': defaultRow({ top_p: 1 }, { topP: 1 }),
  'another temperature': samplingRow(
    { temperature: 0.5 },
    fixedSampling('temperature', 'leave it out or send 1'),
    { temperature: 0.5 },
  ),
  'temperature 0, which agents send': samplingRow(
    { temperature: 0 },
    fixedSampling('temperature', 'leave it out or send 1'),
    { temperature: 0 },
  ),
  'another top_p': samplingRow({ top_p: 0.5 }, fixedSampling('top_p', 'leave it out or send 1'), {
    topP: 0.5,
  }),
  top_k: {
    asked: { top_k: 40 },
    ...everywhere(sent({ top_k: 40 }, { top_k: 40 })),
    latest: fixedSampling('top_k', 'leave it out'),
  },
} as const satisfies Record<string, Row>;
