import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { readReasoningRequest, type ThinkingRequest } from '../../../domain/reasoning/reasoning-request.ts';
import { fieldError } from '../../../domain/shared/field-errors.ts';
import { invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { type JsonObject, parseExact } from '../../../domain/shared/json.ts';

const disagreement = (one: string, other: string) =>
  E.left(invalidRequest(`\`${one}\` and \`${other}\` disagree.`, one));

const ofTypes = 'must be `adaptive`, `enabled`, `disabled` or `between_tools`.';

const asks = (ask: ThinkingRequest, ownEffort?: string) => E.right({ ...ask, ownEffort });

describe('the thinking that a body requests, in each of its fields', () => {
  it.each<[string, JsonObject, ReturnType<typeof asks>]>([
    [
      'nothing',
      { reasoning_effort: null, thinking: null, reasoning: {}, output_config: {} },
      asks({ kind: 'nothing' }),
    ],
    [
      'reasoning_effort',
      { reasoning_effort: 'high' },
      asks({ kind: 'effort', effort: { field: 'reasoning_effort', value: 'high' } }),
    ],
    [
      'reasoning.effort',
      { reasoning: { effort: 'xhigh', summary: 'auto' } },
      asks({ kind: 'effort', effort: { field: 'reasoning.effort', value: 'xhigh' } }),
    ],
    ['output_config.effort', { output_config: { effort: 'max' } }, asks({ kind: 'nothing' }, 'max')],
    [
      'all three, the same',
      { reasoning_effort: 'low', reasoning: { effort: 'low' }, output_config: { effort: 'low' } },
      asks({ kind: 'effort', effort: { field: 'reasoning_effort', value: 'low' } }, 'low'),
    ],
    [
      'an unknown effort',
      { reasoning_effort: 'ultra' },
      asks({ kind: 'effort', effort: { field: 'reasoning_effort', value: 'ultra' } }),
    ],
    [
      'effort `none`',
      { reasoning_effort: 'none' },
      asks({ kind: 'off', effort: { field: 'reasoning_effort', value: 'none' } }),
    ],
    [
      'effort `none` and disabled',
      { reasoning_effort: 'none', thinking: { type: 'disabled' } },
      asks({ kind: 'disabled' }),
    ],
    ['adaptive', { thinking: { type: 'adaptive', display: 'omitted' } }, asks({ kind: 'adaptive' })],
    [
      'adaptive and an effort',
      { thinking: { type: 'adaptive' }, reasoning_effort: 'low' },
      asks({ kind: 'effort', effort: { field: 'reasoning_effort', value: 'low' } }),
    ],
    [
      'disabled, with output_config.effort',
      { thinking: { type: 'disabled' }, output_config: { effort: 'low' } },
      asks({ kind: 'disabled' }, 'low'),
    ],
    [
      'enabled',
      { thinking: { type: 'enabled', budget_tokens: 2048 } },
      asks({ kind: 'budget', budget: { field: 'thinking.budget_tokens', value: 2048 } }),
    ],
    [
      'enabled without a budget',
      { thinking: { type: 'enabled' } },
      asks({ kind: 'budget', budget: { field: 'thinking.budget_tokens', value: undefined } }),
    ],
    [
      'enabled, with reasoning_budget_tokens',
      { thinking: { type: 'enabled' }, reasoning_budget_tokens: 4096 },
      asks({ kind: 'budget', budget: { field: 'reasoning_budget_tokens', value: 4096 } }),
    ],
    [
      'reasoning.max_tokens',
      { reasoning: { max_tokens: 2 } },
      asks({ kind: 'budget', budget: { field: 'reasoning.max_tokens', value: 2 } }),
    ],
    [
      'reasoning.budget_tokens',
      { reasoning: { budget_tokens: 1 } },
      asks({ kind: 'budget', budget: { field: 'reasoning.budget_tokens', value: 1 } }),
    ],
    [
      'reasoning.enabled',
      { reasoning: { enabled: true, exclude: false } },
      asks({ kind: 'effort', effort: { field: 'reasoning.enabled', value: 'medium' } }),
    ],
    [
      'reasoning.enabled and an effort',
      { reasoning: { enabled: true, effort: 'low' } },
      asks({ kind: 'effort', effort: { field: 'reasoning.effort', value: 'low' } }),
    ],
    [
      'reasoning.enabled and output_config.effort',
      { reasoning: { enabled: true }, output_config: { effort: 'max' } },
      asks({ kind: 'effort', effort: { field: 'reasoning.enabled', value: 'max' } }, 'max'),
    ],
    [
      'reasoning.enabled and a budget',
      { reasoning: { enabled: true, max_tokens: 2048 } },
      asks({ kind: 'budget', budget: { field: 'reasoning.max_tokens', value: 2048 } }),
    ],
    [
      'thinking_budget_tokens and an effort',
      { thinking_budget_tokens: 9, reasoning: { effort: 'low' } },
      asks({
        kind: 'effort_and_budget',
        effort: { field: 'reasoning.effort', value: 'low' },
        budget: { field: 'thinking_budget_tokens', value: 9 },
      }),
    ],
  ])('%s', (_, body, expected) => {
    expect(readReasoningRequest(body)).toEqual(expected);
  });

  it('budgets of the same value agree, however they are written', () => {
    const body = parseExact(
      '{"thinking":{"type":"enabled","budget_tokens":4096.0},"reasoning_budget_tokens":4096}',
    );
    expect(readReasoningRequest(body as JsonObject)).toMatchObject({ right: { kind: 'budget' } });
  });
});

describe('the request fails locally if its fields disagree, and both are named', () => {
  it.each<[string, string, JsonObject]>([
    ['reasoning_effort', 'reasoning.effort', { reasoning_effort: 'high', reasoning: { effort: 'low' } }],
    [
      'reasoning_effort',
      'output_config.effort',
      { reasoning_effort: 'high', output_config: { effort: 'low' } },
    ],
    [
      'reasoning.effort',
      'output_config.effort',
      { reasoning: { effort: 'none' }, output_config: { effort: 'low' } },
    ],
    ['reasoning_effort', 'thinking.type', { reasoning_effort: 'high', thinking: { type: 'disabled' } }],
    ['reasoning_effort', 'thinking.type', { reasoning_effort: 'none', thinking: { type: 'adaptive' } }],
    ['reasoning_effort', 'thinking.type', { reasoning_effort: 'none', thinking: { type: 'between_tools' } }],
    ['reasoning_effort', 'thinking.type', { reasoning_effort: 'low', thinking: { type: 'between_tools' } }],
    [
      'reasoning_effort',
      'thinking.budget_tokens',
      { reasoning_effort: 'none', thinking: { type: 'enabled', budget_tokens: 1024 } },
    ],
    [
      'reasoning.effort',
      'thinking_budget_tokens',
      { reasoning: { effort: 'none' }, thinking_budget_tokens: 1024 },
    ],
    ['thinking.type', 'thinking.budget_tokens', { thinking: { type: 'adaptive', budget_tokens: 1024 } }],
    [
      'thinking.type',
      'reasoning_budget_tokens',
      { thinking: { type: 'disabled' }, reasoning_budget_tokens: 1024 },
    ],
    [
      'thinking.budget_tokens',
      'reasoning.budget_tokens',
      { thinking: { type: 'enabled', budget_tokens: 1024 }, reasoning: { budget_tokens: 2048 } },
    ],
    [
      'reasoning_budget_tokens',
      'thinking_budget_tokens',
      { reasoning_budget_tokens: 1024, thinking_budget_tokens: 2048 },
    ],
  ])('%s and %s', (one, other, body) => {
    expect(readReasoningRequest(body)).toEqual(disagreement(one, other));
  });

  it.each<[string, JsonObject]>([
    ['reasoning_effort', { reasoning_effort: 'none' }],
    ['thinking.type', { thinking: { type: 'disabled' } }],
  ])('%s and reasoning.enabled', (field, body) => {
    expect(readReasoningRequest({ ...body, reasoning: { enabled: true } })).toEqual(
      disagreement(field, 'reasoning.enabled'),
    );
  });

  it.each<[string, string, JsonObject]>([
    ['thinking', 'must be an object.', { thinking: 'on' }],
    ['thinking', 'must be an object.', { thinking: parseExact('7.0'), reasoning: 7, output_config: 7 }],
    ['reasoning', 'must be an object.', { reasoning: [] }],
    [
      'reasoning.enabled',
      'cannot be `false`: send `reasoning_effort: "none"`.',
      { reasoning: { enabled: false } },
    ],
    ['output_config', 'must be an object.', { output_config: 7 }],
    ['reasoning_effort', 'must be a non-empty string.', { reasoning_effort: '' }],
    ['reasoning_effort', 'must be a non-empty string.', { reasoning_effort: 3 }],
    ['output_config.effort', 'must be a non-empty string.', { output_config: { effort: false } }],
    [
      'thinking.budget_tokens',
      'must be a positive integer.',
      { thinking: { type: 'enabled', budget_tokens: 0 } },
    ],
    ['reasoning.budget_tokens', 'must be a positive integer.', { reasoning: { budget_tokens: '1024' } }],
    ['reasoning_budget_tokens', 'must be a positive integer.', { reasoning_budget_tokens: 1.5 }],
    ['thinking.type', ofTypes, { thinking: {} }],
    ['thinking.type', ofTypes, { thinking: { type: 'auto' } }],
  ])('an invalid %s is rejected by name: it %s', (field, problem, body) => {
    expect(readReasoningRequest(body)).toEqual(E.left(fieldError(field, problem)));
  });
});

describe('any reasoning request', () => {
  const aBody = fc.record(
    {
      reasoning_effort: fc.constantFrom('low', 'high', 'none', null),
      reasoning: fc.record(
        { effort: fc.constantFrom('low', 'high', 'none'), budget_tokens: fc.constantFrom(1024, 2048) },
        { requiredKeys: [] },
      ),
      output_config: fc.record({ effort: fc.constantFrom('low', 'high') }, { requiredKeys: [] }),
      thinking: fc.record(
        {
          type: fc.constantFrom('adaptive', 'enabled', 'disabled'),
          budget_tokens: fc.constantFrom(1024, 2048),
        },
        { requiredKeys: ['type'] },
      ),
      reasoning_budget_tokens: fc.constantFrom(1024, 2048),
      thinking_budget_tokens: fc.constantFrom(1024, 2048),
    },
    { requiredKeys: [] },
  );

  it('does not depend on the order of the members of the body', () => {
    fc.assert(
      fc.property(aBody, (body) => {
        const reversed = Object.fromEntries(Object.entries(body).toReversed());
        expect(readReasoningRequest(reversed)).toEqual(readReasoningRequest(body));
      }),
    );
  });

  it('never has two different efforts or two different budgets', () => {
    fc.assert(
      fc.property(aBody, (body) => {
        const ask = readReasoningRequest(body);
        if (E.isLeft(ask)) return;
        const efforts = [body.reasoning_effort, body.reasoning?.effort, body.output_config?.effort];
        const budgets = [
          body.thinking?.budget_tokens,
          body.reasoning?.budget_tokens,
          body.reasoning_budget_tokens,
          body.thinking_budget_tokens,
        ];
        for (const all of [efforts, budgets])
          expect(new Set(all.filter((each) => each !== undefined && each !== null)).size).toBeLessThan(2);
      }),
    );
  });
});
