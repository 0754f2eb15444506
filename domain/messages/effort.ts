import {
  isObject,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  numberOf,
  present,
} from '../shared/json.ts';

/**
 * Manual thinking budgets as efforts. The steps are those between which agents choose: some 4,000 tokens to think,
 * 10,000 to think hard, 31,999 to think as hard as they can; beyond `high` not every upstream has a word.
 */
const efforts = [
  { fromTokens: 16_384, effort: 'high' },
  { fromTokens: 4096, effort: 'medium' },
  { fromTokens: 1, effort: 'low' },
] as const;

/** The effort that a budget comes to; undefined: it is no budget. */
export function effortOfBudget(budget: Json | undefined): string | undefined {
  const tokens = numberOf(budget);
  return efforts.find(({ fromTokens }) => tokens !== undefined && tokens >= fromTokens)?.effort;
}

/**
 * Thinking for providers that translate chat bodies: in chat's words, and beside them in the caller's own, which also say
 * that there is to be no thinking, or an effort without it. A provider reads those that its models know. A budget stays a
 * budget; where an effort says how much, `thinking` alone tells it. A budget of the whole task is the provider's to judge.
 */
export function reasoningAsked(body: JsonObject): JsonObject {
  const { thinking: asked } = body;
  const thinking = isObject(asked) && isString(asked['type']) ? asked : undefined;
  const effort = askedEffort(body);
  const { task_budget } = membersOf(body['output_config']);
  const own = { thinking, output_config: present({ effort, task_budget }) };
  if (thinking?.['type'] === 'disabled') return own;
  const budget = effort === undefined ? thinking?.['budget_tokens'] : undefined;
  return { ...own, reasoning_effort: effort, reasoning_budget_tokens: budget };
}

/**
 * `output_config.effort` and `thinking` as `reasoning_effort`; agents send them always, so they are never a reason
 * to reject. An effort passes as it was asked for, `xhigh` and `max` too: an upstream that has no such level says
 * so, while a lower one in its place would be a silent downgrade. `adaptive` without an effort leaves the choice to
 * the upstream, and so does `disabled`: `none` is a level that most upstreams reject.
 */
export function reasoningEffort(body: JsonObject): string | undefined {
  const thinking = membersOf(body['thinking']);
  if (thinking['type'] === 'disabled') return undefined;
  return (
    askedEffort(body) ??
    (thinking['type'] === 'enabled' ? effortOfBudget(thinking['budget_tokens']) : undefined)
  );
}

/** The effort that a body asks for, or a system message in it. */
export function askedEffort({ output_config: config }: JsonObject): string | undefined {
  const { effort } = membersOf(config);
  return isString(effort) && effort !== '' ? effort : undefined;
}
