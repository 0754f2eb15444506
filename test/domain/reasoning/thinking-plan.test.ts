import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { type ModelTier, modelTiers, type ThinkingOff } from '../../../domain/reasoning/model-tier.ts';
import { readReasoningRequest } from '../../../domain/reasoning/reasoning-request.ts';
import { type Platform, planThinking, type ThinkingPlan } from '../../../domain/reasoning/thinking-plan.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

const platforms = ['a', 'b'] as const satisfies readonly Platform[];

const manual = { type: 'enabled', budget_tokens: 2048 } as const;
const betweenTools = { type: 'between_tools' } as const;

/** Every kind of request in the specification's table. */
const requests = {
  'says nothing': {},
  reasoning_effort: { reasoning_effort: 'high' },
  'reasoning.effort': { reasoning: { effort: 'high' } },
  'effort none': { reasoning_effort: 'none' },
  'output_config.effort alone': { output_config: { effort: 'high' } },
  adaptive: { thinking: { type: 'adaptive' } },
  'adaptive with reasoning_effort': { thinking: { type: 'adaptive' }, reasoning_effort: 'high' },
  'adaptive with output_config.effort': { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
  disabled: { thinking: { type: 'disabled' } },
  'disabled with output_config.effort': { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
  between_tools: { thinking: betweenTools },
  'enabled with budget_tokens': { thinking: manual },
  'enabled without budget_tokens': { thinking: { type: 'enabled' } },
  'reasoning.budget_tokens': { reasoning: { budget_tokens: 2048 } },
  reasoning_budget_tokens: { reasoning_budget_tokens: 2048 },
  thinking_budget_tokens: { thinking_budget_tokens: 2048 },
  'effort with enabled': { reasoning_effort: 'high', thinking: manual },
  'effort with reasoning.budget_tokens': { reasoning: { effort: 'high', budget_tokens: 2048 } },
  'output_config.effort with enabled': { output_config: { effort: 'high' }, thinking: manual },
} as const satisfies Record<string, JsonObject>;

type Request = keyof typeof requests;

/** What is sent: thinking, effort and betas; a string is the field that a rejection names. */
type Cell =
  | string
  | readonly [thinking: ThinkingPlan['thinking'], effort?: string | undefined, beta?: 'beta'];

const adaptive = { type: 'adaptive' } as const;
const disabled = { type: 'disabled' } as const;
const untouched: Cell = [undefined];
const both = (cell: Cell): Readonly<Record<Platform, Cell>> => ({ a: cell, b: cell });

/** The specification's table, row by row. */
const table: Readonly<Record<ModelTier, Readonly<Record<Request, Readonly<Record<Platform, Cell>>>>>> = {
  latest: {
    'says nothing': both(untouched),
    reasoning_effort: both([adaptive, 'high']),
    'reasoning.effort': both([adaptive, 'high']),
    'effort none': both([disabled]),
    'output_config.effort alone': both(untouched),
    adaptive: both([adaptive]),
    'adaptive with reasoning_effort': both([adaptive, 'high']),
    'adaptive with output_config.effort': both([adaptive]),
    disabled: both([disabled]),
    'disabled with output_config.effort': both([disabled]),
    between_tools: both([betweenTools]),
    'enabled with budget_tokens': both('thinking.budget_tokens'),
    'enabled without budget_tokens': both('thinking.type'),
    'reasoning.budget_tokens': both('reasoning.budget_tokens'),
    reasoning_budget_tokens: both('reasoning_budget_tokens'),
    thinking_budget_tokens: both('thinking_budget_tokens'),
    'effort with enabled': both('thinking.budget_tokens'),
    'effort with reasoning.budget_tokens': both('reasoning.budget_tokens'),
    'output_config.effort with enabled': both('thinking.budget_tokens'),
  },
  previous: {
    'says nothing': both(untouched),
    reasoning_effort: both([adaptive, 'high']),
    'reasoning.effort': both([adaptive, 'high']),
    'effort none': both([disabled]),
    'output_config.effort alone': both(untouched),
    adaptive: both([adaptive]),
    'adaptive with reasoning_effort': both([adaptive, 'high']),
    'adaptive with output_config.effort': both([adaptive]),
    disabled: both([disabled]),
    'disabled with output_config.effort': both([disabled]),
    between_tools: both([betweenTools]),
    'enabled with budget_tokens': both([manual]),
    'enabled without budget_tokens': both('thinking.budget_tokens'),
    'reasoning.budget_tokens': both([manual]),
    reasoning_budget_tokens: both([manual]),
    thinking_budget_tokens: both([manual]),
    'effort with enabled': both('reasoning_effort'),
    'effort with reasoning.budget_tokens': both('reasoning.effort'),
    'output_config.effort with enabled': both([manual]),
  },
  preview: {
    'says nothing': both(untouched),
    reasoning_effort: { a: [undefined, 'high'], b: [adaptive, 'high'] },
    'reasoning.effort': { a: [undefined, 'high'], b: [adaptive, 'high'] },
    'effort none': both('reasoning_effort'),
    'output_config.effort alone': both(untouched),
    adaptive: both([adaptive]),
    'adaptive with reasoning_effort': { a: [undefined, 'high'], b: [adaptive, 'high'] },
    'adaptive with output_config.effort': both([adaptive]),
    disabled: both('thinking.type'),
    'disabled with output_config.effort': both('thinking.type'),
    between_tools: both([betweenTools]),
    'enabled with budget_tokens': both([manual]),
    'enabled without budget_tokens': both('thinking.budget_tokens'),
    'reasoning.budget_tokens': both([manual]),
    reasoning_budget_tokens: both([manual]),
    thinking_budget_tokens: both([manual]),
    'effort with enabled': both('reasoning_effort'),
    'effort with reasoning.budget_tokens': both('reasoning.effort'),
    'output_config.effort with enabled': both([manual]),
  },
  one_older: {
    'says nothing': both(untouched),
    reasoning_effort: both('reasoning_effort'),
    'reasoning.effort': both('reasoning.effort'),
    'effort none': both(untouched),
    'output_config.effort alone': { a: untouched, b: [undefined, undefined, 'beta'] },
    adaptive: both('thinking.type'),
    'adaptive with reasoning_effort': both('reasoning_effort'),
    'adaptive with output_config.effort': both('thinking.type'),
    disabled: both([disabled]),
    'disabled with output_config.effort': { a: [disabled], b: [disabled, undefined, 'beta'] },
    between_tools: both([betweenTools]),
    'enabled with budget_tokens': both([manual]),
    'enabled without budget_tokens': both('thinking.budget_tokens'),
    'reasoning.budget_tokens': both([manual]),
    reasoning_budget_tokens: both([manual]),
    thinking_budget_tokens: both([manual]),
    'effort with enabled': { a: [manual, 'high'], b: [manual, 'high', 'beta'] },
    'effort with reasoning.budget_tokens': { a: [manual, 'high'], b: [manual, 'high', 'beta'] },
    'output_config.effort with enabled': { a: [manual], b: [manual, undefined, 'beta'] },
  },
  older: {
    'says nothing': both(untouched),
    reasoning_effort: both('reasoning_effort'),
    'reasoning.effort': both('reasoning.effort'),
    'effort none': both(untouched),
    'output_config.effort alone': both(untouched),
    adaptive: both('thinking.type'),
    'adaptive with reasoning_effort': both('reasoning_effort'),
    'adaptive with output_config.effort': both('thinking.type'),
    disabled: both([disabled]),
    'disabled with output_config.effort': both([disabled]),
    between_tools: both([betweenTools]),
    'enabled with budget_tokens': both([manual]),
    'enabled without budget_tokens': both('thinking.budget_tokens'),
    'reasoning.budget_tokens': both([manual]),
    reasoning_budget_tokens: both([manual]),
    thinking_budget_tokens: both([manual]),
    'effort with enabled': both([manual]),
    'effort with reasoning.budget_tokens': both([manual]),
    'output_config.effort with enabled': both([manual]),
  },
};

const planFor = (
  tier: ModelTier,
  platform: Platform,
  body: JsonObject,
  off: ThinkingOff = 'disabled',
): E.Either<GatewayError, ThinkingPlan> => {
  const ask = readReasoningRequest(body);
  return E.isLeft(ask) ? ask : planThinking(tier, platform, ask.right, off);
};

const names = Object.keys(requests) as Request[];

describe('thinking by family tier, platform and request', () => {
  describe.each(modelTiers)('%s', (tier) => {
    it.each(names.flatMap((name) => platforms.map((platform) => [platform, name] as const)))(
      'platform %s: %s',
      (platform, name) => {
        const cell = table[tier][name][platform];
        const plan = planFor(tier, platform, requests[name]);
        if (typeof cell === 'string')
          expect(plan).toMatchObject({ left: { code: 'invalid_request', param: cell } });
        else {
          const [thinking, effort, beta] = cell;
          expect(plan).toEqual(
            E.right({ thinking, effort, betas: beta === undefined ? [] : ['effort-2025-11-24'] }),
          );
        }
      },
    );
  });

  it.each<[ModelTier, Request, string]>([
    [
      'latest',
      'enabled with budget_tokens',
      '`thinking.budget_tokens` is not available: this model thinks adaptively; ask for an effort instead.',
    ],
    ['previous', 'effort with enabled', '`reasoning_effort` and `thinking.budget_tokens` disagree.'],
    ['preview', 'disabled', '`thinking.type` cannot turn thinking off: this model always thinks.'],
    [
      'one_older',
      'adaptive',
      '`thinking.type` must not be `adaptive`: this model thinks by a manual budget alone.',
    ],
    [
      'older',
      'reasoning_effort',
      '`reasoning_effort` needs a manual budget on this model: `reasoning.budget_tokens`, ' +
        '`reasoning_budget_tokens`, `thinking_budget_tokens`, or `thinking.type: enabled` with `budget_tokens`.',
    ],
    ['older', 'enabled without budget_tokens', '`thinking.budget_tokens` must be a positive integer.'],
  ])('%s, %s: the rejection says what to do', (tier, name, message) => {
    expect(planFor(tier, 'a', requests[name])).toMatchObject({ left: { message } });
  });
});

describe('any thinking plan', () => {
  const anEffort = fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max', 'none', 'ultra');
  const aBudget = fc.constantFrom(1024, 2048);
  const aBody = fc.record(
    {
      reasoning_effort: anEffort,
      reasoning: fc.record({ effort: anEffort, budget_tokens: aBudget }, { requiredKeys: [] }),
      output_config: fc.record({ effort: anEffort }, { requiredKeys: [] }),
      thinking: fc.record(
        { type: fc.constantFrom('adaptive', 'enabled', 'disabled'), budget_tokens: aBudget },
        { requiredKeys: ['type'] },
      ),
      reasoning_budget_tokens: aBudget,
      thinking_budget_tokens: aBudget,
    },
    { requiredKeys: [] },
  );
  const aCase = fc.tuple(fc.constantFrom(...modelTiers), fc.constantFrom(...platforms), aBody);

  it('has a budget exactly if its thinking is of the type enabled', () => {
    fc.assert(
      fc.property(aCase, ([tier, platform, body]) => {
        const plan = planFor(tier, platform, body);
        if (E.isLeft(plan) || plan.right.thinking === undefined) return true;
        return 'budget_tokens' in plan.right.thinking === (plan.right.thinking.type === 'enabled');
      }),
      { numRuns: 2000 },
    );
  });

  it('the same request gets the same plan or the same rejection each time', () => {
    fc.assert(
      fc.property(aCase, ([tier, platform, body]) => {
        expect(planFor(tier, platform, structuredClone(body))).toEqual(planFor(tier, platform, body));
      }),
    );
  });

  it('has the requested effort or none: `xhigh` and `max` are never lowered', () => {
    fc.assert(
      fc.property(aCase, ([tier, platform, body]) => {
        const plan = planFor(tier, platform, body);
        if (E.isLeft(plan) || plan.right.effort === undefined) return true;
        return plan.right.effort === (body.reasoning_effort ?? body.reasoning?.effort);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(['reasoning_effort', 'reasoning.effort'])(
    'has the effort low for minimal, since low is the least that these models have: %s',
    (field) => {
      const body =
        field === 'reasoning_effort' ? { reasoning_effort: 'minimal' } : { reasoning: { effort: 'minimal' } };
      for (const platform of platforms) {
        for (const tier of ['latest', 'previous', 'preview'] as const)
          expect(planFor(tier, platform, body)).toMatchObject({ right: { effort: 'low' } });
        const beside = { ...body, reasoning_budget_tokens: 2048 };
        expect(planFor('one_older', platform, beside)).toMatchObject({ right: { effort: 'low' } });
      }
    },
  );

  it.each<[ThinkingOff, ThinkingPlan['thinking'], string | undefined]>([
    ['disabled', disabled, undefined],
    ['between_tools', betweenTools, undefined],
    ['least_effort', adaptive, 'low'],
  ])(
    'an effort of none asks the model in its own words, or for its least effort: %s',
    (off, thinking, effort) => {
      for (const platform of platforms)
        for (const tier of ['latest', 'previous'] as const)
          expect(planFor(tier, platform, { reasoning_effort: 'none' }, off)).toEqual(
            E.right({ thinking, effort, betas: [] }),
          );
    },
  );

  it('never has adaptive thinking for a tier that rejects it, nor a budget for the latest tier', () => {
    const forbidden: Readonly<Partial<Record<ModelTier, string>>> = {
      latest: 'enabled',
      preview: 'disabled',
      one_older: 'adaptive',
      older: 'adaptive',
    };
    fc.assert(
      fc.property(aCase, ([tier, platform, body]) => {
        const plan = planFor(tier, platform, body);
        return E.isLeft(plan) || plan.right.thinking?.type !== (forbidden[tier] ?? 'none');
      }),
      { numRuns: 2000 },
    );
  });

  it('never has an effort or a beta for older models', () => {
    fc.assert(
      fc.property(fc.constantFrom(...platforms), aBody, (platform, body) => {
        const plan = planFor('older', platform, body);
        return E.isLeft(plan) || (plan.right.effort === undefined && plan.right.betas.length === 0);
      }),
    );
  });
});
