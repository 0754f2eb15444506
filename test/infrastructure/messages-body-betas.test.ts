import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { permissive } from '../../domain/routing/capabilities.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { fromMessagesBody } from '../../infrastructure/providers/messages-body/native.ts';
import {
  type BodyRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { styles, user } from './messages-body-sending.ts';

const written = (body: JsonObject, rules: BodyRules, betas: readonly string[]) => {
  const result = fromMessagesBody(
    {
      body: JSON.stringify({ max_tokens: 9, messages: [user], ...body }),
      stream: false,
      betas,
      route: {
        upstreamModel: 'anthropic/claude-opus-5-5',
        compatibility: {},
        capabilities: permissive,
        extraBody: {},
      },
    },
    rules,
    textDigest,
  );
  if (E.isLeft(result)) throw new Error(result.left.message);
  return result.right;
};

const bodyOf = (body: JsonObject, rules: BodyRules, betas: readonly string[]): JsonObject =>
  JSON.parse(written(body, rules, betas).text) as JsonObject;

const betasOf = (body: JsonObject, rules: BodyRules, betas: readonly string[]): unknown =>
  rules.betas.in === 'header'
    ? written(body, rules, betas).betas
    : (bodyOf(body, rules, betas)['anthropic_beta'] ?? []);

const adaptive = { type: 'adaptive', display: 'omitted' };
const effort = { role: 'system', content: [], output_config: { effort: 'low' } };

describe.each(styles)('betas of a field on %s', (style, rules) => {
  it.each<[string, JsonObject]>([
    ['dangerous-tool-use-2026-09-03', { safeguards: [{ type: 'dangerous_tool_use' }] }],
    [
      'thinking-binding-controls-2026-08-01',
      { thinking: { ...adaptive, block_binding: { prefix_mismatch_behavior: 'drop_block' } } },
    ],
    ['thinking-display-updates-2026-08-18', { thinking: { ...adaptive, display: 'updates' } }],
    ['mid-conversation-output-config-2026-07-01', { messages: [user, effort] }],
    [
      'mid-conversation-system-clear-at-2026-08-21',
      { messages: [user, { role: 'system', content: 'Be brief.', clear_at: 'next_user_message' }] },
    ],
  ])('%s is sent with the field, and not without it, as Claude Code asks for it', (beta, body) => {
    expect(betasOf(body, rules, [beta])).toEqual([beta]);
    expect(betasOf({ thinking: adaptive }, rules, [beta])).toEqual([]);
  });

  it('that of web search is sent to platform A with the tool, for which Anthropic’s own API needs none', () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    const needed = rules.platform === 'a' ? ['web-search-2025-03-05'] : [];
    expect(betasOf({ tools }, rules, [])).toEqual(needed);
    expect(betasOf({ tools }, rules, needed)).toEqual(needed);
    const own = [{ name: 'web_search', input_schema: {} }];
    expect(betasOf({ tools: own }, rules, ['web-search-2025-03-05'])).toEqual([]);
  });

  it('that of changes of tools is sent with such a change, and not without, as Claude Code asks for it', () => {
    const beta = ['mid-conversation-tool-changes-2026-07-01'];
    const said = (type: string, more: JsonObject) => ({
      messages: [user, { role: 'system', content: [{ type, ...more }] }],
    });
    for (const type of ['tool_addition', 'tool_removal']) {
      const changed = said(type, { tool: { type: 'tool_reference', name: 'f' } });
      expect(betasOf(changed, rules, beta)).toEqual(beta);
    }
    expect(betasOf(said('text', { text: 'Be brief.' }), rules, beta)).toEqual([]);
    expect(betasOf({}, rules, beta)).toEqual([]);
    const removed = said('tool_removal', { tool: { type: 'tool_reference', name: 'f' } });
    expect(betasOf(removed, rules, ['inline-tools-2026-09-15', ...beta])).toEqual(beta);
  });

  it('that of definitions of tools is sent as that of references, which the definitions become', () => {
    const own = { name: 'f', input_schema: {} };
    const defined = { type: 'tool_definition', definition: { ...own, name: 'g' } };
    const system = { role: 'system', content: [{ type: 'tool_addition', tool: defined }] };
    const body = { tools: [own], messages: [user, system] };
    expect(betasOf(body, rules, ['inline-tools-2026-09-15'])).toEqual([
      'mid-conversation-tool-changes-2026-07-01',
    ]);
    expect(bodyOf(body, rules, [])).toMatchObject({
      tools: [own, { ...own, name: 'g', defer_loading: true }],
      messages: [user, { role: 'system', content: [{ tool: { type: 'tool_reference', name: 'g' } }] }],
    });
  });

  it('that of efforts between the turns has the name that the platform knows', () => {
    const asked = ['per-turn-control-2026-07-01'];
    const known = style === 'invoke' ? ['mid-conversation-output-config-2026-07-01'] : asked;
    expect(betasOf({ messages: [user, effort] }, rules, asked)).toEqual(known);
    expect(betasOf({}, rules, asked)).toEqual([]);
  });
});

describe('the beta of tool search', () => {
  const betas = ['advanced-tool-use-2025-11-20', 'context-1m-2025-08-07'];
  const tool = { name: 'f', input_schema: { type: 'object', properties: {} } };
  const betasFor = (tools: JsonObject[]) =>
    [rawPredictRules, invokeRules].map((rules) => betasOf({ tools }, rules, betas));

  it.each([
    ['a deferred tool', [tool, { ...tool, name: 'g', defer_loading: true }]],
    ['a tool that searches', [tool, { type: 'tool_search_tool_regex_20251119', name: 'search' }]],
  ])('is sent under its name on the platforms, with %s', (_, tools) => {
    const known = ['tool-search-tool-2025-10-19', 'context-1m-2025-08-07'];
    expect(betasFor(tools)).toEqual([known, known]);
  });

  it('is not sent without such a tool, because models from before it reject it, and Claude Code sends it to all', () => {
    expect(betasFor([tool, { ...tool, name: 'g', defer_loading: false }])).toEqual([
      ['context-1m-2025-08-07'],
      ['context-1m-2025-08-07'],
    ]);
  });
});
