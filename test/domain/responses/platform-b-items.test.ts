import { describe, expect, it } from '@jest/globals';
import { mayHaveUnknownItems, withKnownItems } from '../../../domain/responses/platform-b-items.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

const hello = { type: 'message', role: 'user', content: 'Hi' };
const lookup = { type: 'function', name: 'lookup' };
const patch = { type: 'custom', name: 'apply_patch' };
const functions = (...tools: readonly JsonObject[]) => ({ type: 'namespace', name: 'functions', tools });
const added = (...tools: readonly JsonObject[]) => ({ type: 'additional_tools', role: 'developer', tools });
const said = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});
const between = (...content: readonly JsonObject[]) => ({
  type: 'agent_message',
  id: 'amsg_1',
  author: 'worker',
  recipient: 'root',
  content,
});

describe('what platform B knows by another name', () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      'tools among the items, which follow those of the request',
      { input: [added(patch), hello], tools: [lookup] },
      { input: [hello], tools: [lookup, patch] },
    ],
    ['tools among the items alone', { input: [added(patch), hello] }, { input: [hello], tools: [patch] }],
    [
      'the namespace of tools that have none',
      { input: 'Hi', tools: [functions(lookup, patch)] },
      { input: 'Hi', tools: [lookup, patch] },
    ],
    [
      'the namespaces of tools of its own, which Codex offers unasked, left out',
      {
        input: 'Hi',
        tools: [{ ...functions(lookup), name: 'web' }, patch, { ...functions(), name: 'image_gen' }],
      },
      { input: 'Hi', tools: [patch] },
    ],
    [
      'such a namespace among the items',
      { input: [added({ ...functions(lookup), name: 'web' }, patch), hello] },
      { input: [hello], tools: [patch] },
    ],
    ['both at once', { input: [added(functions(patch)), hello] }, { input: [hello], tools: [patch] }],
    [
      'a message between agents',
      {
        input: [
          between({ type: 'input_text', text: 'Sender: worker\n' }, { type: 'x', encrypted_content: '42.' }),
        ],
      },
      { input: [said('Sender: worker\n42.')] },
    ],
    ['an empty message between agents', { input: [hello, between()] }, { input: [hello] }],
    [
      'a compaction',
      { input: [{ type: 'context_compaction', id: 'cc_1', encrypted_content: 'x' }, hello] },
      { input: [{ type: 'compaction', encrypted_content: 'x' }, hello] },
    ],
    ['a compaction of nothing', { input: [{ type: 'context_compaction' }, hello] }, { input: [hello] }],
  ])('is rewritten: %s', (_, body, expected) => {
    expect(withKnownItems({ model: 'm', ...body })).toEqual({ model: 'm', ...expected });
    expect(mayHaveUnknownItems(JSON.stringify(body))).toBe(true);
  });

  it.each<[string, JsonObject]>([
    ['text', { input: 'agent_message' }],
    [
      'known items',
      { input: [hello, said('functions'), null, { type: 'compaction', encrypted_content: 'x' }] },
    ],
    ['other namespaces', { input: [], tools: [{ ...functions(lookup), name: 'mcp' }, lookup] }],
    ['tools with the name of a namespace', { input: [], tools: [{ ...lookup, name: 'web' }] }],
    ['a namespace without a name', { input: [], tools: [{ type: 'namespace', tools: [lookup] }] }],
  ])('is the same body without any of it: %s', (_, body) => {
    expect(withKnownItems(body)).toBe(body);
  });

  it('is recognised in escaped spelling, and not looked for where no word of it is', () => {
    expect(mayHaveUnknownItems('{"type":"agent\\u005fmessage"}')).toBe(true);
    expect(mayHaveUnknownItems('{"input":"Hi","tools":[{"type":"function"}]}')).toBe(false);
  });
});
