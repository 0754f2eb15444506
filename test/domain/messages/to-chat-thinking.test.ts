import { describe, expect, it } from '@jest/globals';
import { requestedReasoning } from '../../../domain/messages/effort.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { chatOf, faultOf } from './told-in-chat.ts';

describe('effort and thinking are mapped or dropped', () => {
  const enabled = (budget_tokens?: unknown) => ({
    thinking: { type: 'enabled', budget_tokens, display: 'omitted' },
  });
  const effort = (effort: unknown) => ({ output_config: { effort } });

  it.each<[object, string | undefined]>([
    [effort('low'), 'low'],
    [effort('medium'), 'medium'],
    [effort('high'), 'high'],
    [effort('xhigh'), 'xhigh'],
    [effort('max'), 'max'],
    [effort(null), undefined],
    [{ thinking: { type: 'adaptive', display: 'omitted' }, ...effort('high') }, 'high'],
    [{ thinking: { type: 'adaptive' } }, undefined],
    [{ thinking: { type: 'between_tools' } }, undefined],
    [{ thinking: { type: 'disabled' } }, undefined],
    [{ thinking: { type: 'disabled' }, ...effort('high') }, undefined],
    [{ ...enabled(1024), ...effort('high') }, 'high'],
    [enabled(1), 'low'],
    [enabled(1024), 'low'],
    [enabled(4000), 'low'],
    [enabled(4095), 'low'],
    [enabled(4096), 'medium'],
    [enabled(10_000), 'medium'],
    [enabled(16_383), 'medium'],
    [enabled(16_384), 'high'],
    [enabled(31_999), 'high'],
    [enabled(32_000), 'high'],
    [enabled(), undefined],
  ])('%j', (over, reasoning_effort) => {
    expect(chatOf(over)).toEqual({
      ...chatOf({}),
      ...(reasoning_effort === undefined ? {} : { reasoning_effort }),
    });
  });

  it.each<[object, string]>([
    [effort(''), 'output_config.effort'],
    [effort(7), 'output_config.effort'],
    [effort(['high']), 'output_config.effort'],
    [enabled(0), 'thinking.budget_tokens'],
    [enabled(-1), 'thinking.budget_tokens'],
    [enabled(1.5), 'thinking.budget_tokens'],
    [enabled('many'), 'thinking.budget_tokens'],
    [{ thinking: {} }, 'thinking.type'],
    [{ thinking: { type: 'often' } }, 'thinking.type'],
    [{ output_config: { format: 'json' } }, 'output_config.format'],
  ])('unless the messages API does not have them, as %j, which is rejected by name', (over, param) => {
    expect(faultOf(over)).toBe(param);
  });
});

describe('thinking for a provider that translates chat bodies', () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      'a budget stays a budget',
      { thinking: { type: 'enabled', budget_tokens: 2048 } },
      {
        thinking: { type: 'enabled', budget_tokens: 2048 },
        output_config: {},
        reasoning_budget_tokens: 2048,
      },
    ],
    [
      'a budget beside an effort stays in `thinking` only',
      { thinking: { type: 'enabled', budget_tokens: 2048 }, output_config: { effort: 'high' } },
      {
        thinking: { type: 'enabled', budget_tokens: 2048 },
        output_config: { effort: 'high' },
        reasoning_effort: 'high',
      },
    ],
    [
      'adaptive stays adaptive',
      { thinking: { type: 'adaptive' } },
      { thinking: { type: 'adaptive' }, output_config: {} },
    ],
    [
      'an effort alone sets no thinking',
      { output_config: { effort: 'max' } },
      { output_config: { effort: 'max' }, reasoning_effort: 'max' },
    ],
    [
      'a task budget is kept beside adaptive thinking',
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max', task_budget: { total: 9 } } },
      {
        thinking: { type: 'adaptive' },
        reasoning_effort: 'max',
        output_config: { effort: 'max', task_budget: { total: 9 } },
      },
    ],
    [
      'a task budget is kept without thinking',
      { output_config: { task_budget: { total: 9 } } },
      { output_config: { task_budget: { total: 9 } } },
    ],
    [
      'disabled thinking sets no `reasoning_effort`, whatever the effort',
      { thinking: { type: 'disabled' }, output_config: { effort: 'max' } },
      { thinking: { type: 'disabled' }, output_config: { effort: 'max' } },
    ],
    ['thinking without a type sets nothing', { thinking: {} }, { output_config: {} }],
  ])('%s', (_, body, asked) => {
    expect(JSON.parse(JSON.stringify(requestedReasoning(body)))).toEqual(asked);
  });
});
