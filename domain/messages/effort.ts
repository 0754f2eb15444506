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
 * Manual thinking budgets as efforts. The steps lie between the budgets that agents choose: some 4,000 tokens to think,
 * 10,000 to think hard, 31,999 to think as hard as they can. Not every upstream has a level above `high`.
 */
const efforts = [
  { fromTokens: 16_384, effort: 'high' },
  { fromTokens: 4096, effort: 'medium' },
  { fromTokens: 1, effort: 'low' },
] as const;

/** The effort for a budget; `undefined` when it is not a budget. */
export function effortOfBudget(budget: Json | undefined): string | undefined {
  const tokens = numberOf(budget);
  return efforts.find(({ fromTokens }) => tokens !== undefined && tokens >= fromTokens)?.effort;
}

/**
 * Thinking for providers that translate chat bodies: in chat fields, and also in the caller's own fields, which can say
 * that there is to be no thinking, or an effort without thinking. A provider reads those that its models know. A budget
 * stays a budget, but with an effort only `thinking` carries it. A budget for the whole task is for the provider to
 * judge.
 */
export function requestedReasoning(body: JsonObject): JsonObject {
  const { thinking: asked } = body;
  const thinking = isObject(asked) && isString(asked['type']) ? asked : undefined;
  const effort = requestedEffort(body);
  const { task_budget } = membersOf(body['output_config']);
  const own = { thinking, output_config: present({ effort, task_budget }) };
  if (thinking?.['type'] === 'disabled') return own;
  const budget = effort === undefined ? thinking?.['budget_tokens'] : undefined;
  return { ...own, reasoning_effort: effort, reasoning_budget_tokens: budget };
}

/**
 * Translates `output_config.effort` and `thinking` to `reasoning_effort`. Agents always send them, so they are never a
 * reason to reject a request. An effort is forwarded as the caller wrote it, including `xhigh` and `max`: an upstream
 * without that level says so, while a lower one in its place would be a silent downgrade. `adaptive` without an effort
 * leaves the choice to the upstream, and so does `disabled`, because most upstreams reject the level `none`.
 */
export function reasoningEffort(body: JsonObject): string | undefined {
  const thinking = membersOf(body['thinking']);
  if (thinking['type'] === 'disabled') return undefined;
  return (
    requestedEffort(body) ??
    (thinking['type'] === 'enabled' ? effortOfBudget(thinking['budget_tokens']) : undefined)
  );
}

/** The effort that a body, or a system message in it, asks for. */
export function requestedEffort({ output_config: config }: JsonObject): string | undefined {
  const { effort } = membersOf(config);
  return isString(effort) && effort !== '' ? effort : undefined;
}
