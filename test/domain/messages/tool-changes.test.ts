import { describe, expect, it } from '@jest/globals';
import { withChangedTools, withToolsByReference } from '../../../domain/messages/tool-changes.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

const user: JsonObject = { role: 'user', content: 'Hi' };
const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  input_schema: { type: 'object', properties: {} },
  ...more,
});
const says = (...content: readonly JsonObject[]): JsonObject => ({ role: 'system', content });
const defines = (definition: JsonObject): JsonObject => ({
  type: 'tool_addition',
  tool: { type: 'tool_definition', definition },
});
const refers = (type: string, name: string): JsonObject => ({ type, tool: { type: 'tool_reference', name } });
const adds = (name: string): JsonObject => refers('tool_addition', name);
const removes = (name: string): JsonObject => refers('tool_removal', name);
const text: JsonObject = { type: 'text', text: 'There is a new tool.' };

describe('tools that are defined between the turns, for an upstream that knows references only', () => {
  const front = tool('a');

  it('are deferred in `tools`, and referred to where they were defined', () => {
    const marked = tool('b', { cache_control: { type: 'ephemeral' } });
    const hosted = { type: 'web_search_20250305', name: 'web_search' };
    const body = {
      tools: [front],
      messages: [user, says(defines(marked), text), user, says(defines(hosted))],
    };
    expect(withToolsByReference(body)).toEqual({
      tools: [front, tool('b', { defer_loading: true }), { ...hosted, defer_loading: true }],
      messages: [user, says(adds('b'), text), user, says(adds('web_search'))],
    });
  });

  it('leave what was sent before them as it was, so that the conversation only grows', () => {
    const turns = [user, says(defines(tool('b'))), user, says(removes('b')), user, says(defines(tool('b')))];
    const sent = [user, says(adds('b')), user, says(removes('b')), user, says(adds('b'))];
    for (const count of [2, 4, 6])
      expect(withToolsByReference({ tools: [front], messages: turns.slice(0, count) })).toEqual({
        tools: [front, tool('b', { defer_loading: true })],
        messages: sent.slice(0, count),
      });
  });

  it('are referred to if `tools` has the same one, whenever it is loaded', () => {
    const tools = [front, tool('b', { defer_loading: true, cache_control: null })];
    expect(withToolsByReference({ tools, messages: [user, says(defines(tool('b')))] })).toEqual({
      tools,
      messages: [user, says(adds('b'))],
    });
  });

  it.each<[string, JsonObject]>([
    [
      'define a name differently',
      { tools: [front], messages: [user, says(defines(tool('a', { strict: true })))] },
    ],
    ['are still withheld', { tools: [front], messages: [says(defines(tool('b', { defer_loading: true })))] }],
    ['have no name', { tools: [front], messages: [says(defines({ type: 'mcp_toolset' }))] }],
    [
      'follow `tools` of which none is offered from the start',
      { tools: [tool('a', { defer_loading: true })], messages: [user, says(defines(tool('b')))] },
    ],
    ['follow no `tools`', { messages: [user, says(defines(tool('b')))] }],
    [
      'are not in a system message',
      { tools: [front], messages: [{ role: 'user', content: [defines(tool('b'))] }] },
    ],
  ])('stay as they are if they %s', (_, body) => {
    expect(withToolsByReference(body)).toEqual(body);
  });
});

describe('changes of tools, for an upstream that knows none', () => {
  const front = [tool('a'), tool('b', { defer_loading: true })];

  it.each<[string, readonly JsonObject[], readonly JsonObject[]]>([
    ['withdraw a tool', [removes('a')], [tool('b', { defer_loading: true })]],
    ['offer one that was deferred', [adds('b')], [tool('a'), tool('b')]],
    ['offer one that was withdrawn', [removes('a'), adds('a')], front],
    ['define a further one', [defines(tool('c'))], [...front, tool('c')]],
    ['define one, and withdraw it', [defines(tool('c')), removes('c')], front],
    [
      'define one, withdraw it, and offer it again',
      [defines(tool('c')), removes('c'), adds('c')],
      [...front, tool('c')],
    ],
    [
      'define one anew',
      [defines(tool('a', { strict: true }))],
      [tool('a', { strict: true }), front[1] ?? {}],
    ],
    ['name one that does not exist', [adds('x'), removes('y')], front],
  ])('%s', (_, changes, left) => {
    const spread = changes.flatMap((change) => [user, says(change, text)]);
    expect(withChangedTools({ tools: front, messages: spread })).toEqual({
      tools: left,
      messages: changes.flatMap(() => [user, says(text)]),
    });
  });

  it('need no `tools`', () => {
    const messages = [user, says(defines(tool('c')))];
    expect(withChangedTools({ messages })).toEqual({ tools: [tool('c')], messages: [user, says()] });
    expect(withChangedTools({ messages: [says(removes('c'))] })).toEqual({ messages: [says()] });
  });

  it.each<[string, JsonObject]>([
    ['a hosted tool', defines({ type: 'web_search_20250305', name: 'web_search' })],
    ['a tool that is still withheld', defines(tool('c', { defer_loading: true }))],
    ['a tool of an MCP server', { type: 'tool_removal', tool: { type: 'mcp_tool_reference', name: 'a' } }],
  ])('stay where they are if they are of %s', (_, block) => {
    const body = { tools: front, messages: [user, says(block)] };
    expect(withChangedTools(body)).toEqual(body);
  });

  it('stay where they are outside of system messages', () => {
    const body = { tools: front, messages: [{ role: 'user', content: [removes('a')] }] };
    expect(withChangedTools(body)).toEqual(body);
  });
});
