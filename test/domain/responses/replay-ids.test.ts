import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { needsReplayIds, withReplayIds } from '../../../domain/responses/replay-ids.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { textDigest } from '../../../infrastructure/text-digest.ts';
import { aJson, aJsonObject } from '../../support/arbitraries/json-text.ts';
import { anyText, textOf } from '../../support/arbitraries/text.ts';

const replayed = (...items: readonly Json[]): readonly Json[] => withReplayIds(items, textDigest);
const one = (item: JsonObject): JsonObject => replayed(item)[0] as JsonObject;

/** The specification's value, computed in another way: unpadded base64url of the SHA-256 of the text. */
const hashed = (prefix: string, text: string): string =>
  prefix +
  createHash('sha256')
    .update(text, 'utf8')
    .digest('base64')
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace('=', '');

const namespaces = [
  ['message', 'msg_'],
  ['reasoning', 'rs_'],
  ['function_call', 'fc_'],
  ['function_call_output', 'fc_'],
] as const;

const aNamespace = fc.constantFrom(...namespaces);
const idCharacters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-';

describe('valid provider-native item ids are preserved', () => {
  it.each([
    ['message', 'msg_68a1'],
    ['message', 'msg_9f0c1d52-7a2b-4f6e-8f57-0d7a51f1c9aa'],
    ['message', 'msg_tmp_x8w1'],
    ['reasoning', 'rs_0f-_Z'],
    ['function_call', 'fc_tmp_8dk'],
    ['function_call_output', 'fc_1'],
    ['function_call_output', 'fco_1'],
    ['message', `msg_${'a'.repeat(60)}`],
    ['function_call_output', `fco_${'a'.repeat(60)}`],
  ])('%s %s', (type, id) => {
    expect(one({ type, id })).toEqual({ type, id });
  });

  it('with any valid characters', () => {
    fc.assert(
      fc.property(aNamespace, textOf(idCharacters, 1, 60), ([type, prefix], rest) => {
        const item = { type, id: (prefix + rest).slice(0, 64) };
        expect(one(item)).toEqual(item);
        expect(needsReplayIds([item])).toBe(false);
      }),
    );
  });
});

describe('foreign or invalid item ids are hashed into the namespace of their item type', () => {
  it.each([
    ['a bare UUID', 'message', '4b1c3c1e-0b1f-4b62-9d53-0a9c6c2b7a10', 'msg_'],
    ['an id of another namespace', 'message', 'rs_68a1', 'msg_'],
    ['a function call’s id on a message', 'message', 'fc_1', 'msg_'],
    ['an output’s id on a call', 'function_call', 'fco_1', 'fc_'],
    ['an output with a foreign id', 'function_call_output', 'toolu_1', 'fc_'],
    ['only a prefix', 'reasoning', 'rs_', 'rs_'],
    ['an empty id', 'message', '', 'msg_'],
    ['65 characters', 'message', `msg_${'a'.repeat(61)}`, 'msg_'],
    ['a dot', 'function_call', 'fc_a.b', 'fc_'],
    ['a pipe', 'function_call', 'call_1|fc_2', 'fc_'],
    ['a letter that is not ASCII', 'message', 'msg_ü', 'msg_'],
    ['a line end', 'message', 'msg_a\n', 'msg_'],
    ['another case', 'message', 'MSG_a', 'msg_'],
  ])('%s', (_, type, id, prefix) => {
    expect(one({ type, id })).toEqual({ type, id: hashed(prefix, id) });
  });

  it.each([[{}], [{ type: null }]])('an item with a role and no type counts as a message: %j', (untyped) => {
    const item = { role: 'user', content: 'Hi', ...untyped };
    expect(one({ ...item, id: 'toolu_1' })).toEqual({ ...item, id: hashed('msg_', 'toolu_1') });
    expect(one({ ...item, id: 'msg_1' })).toEqual({ ...item, id: 'msg_1' });
    expect(one(item)).toEqual(item);
    expect(one({ ...untyped, id: 'a.b' })).toEqual({ ...untyped, id: 'a.b' });
  });

  it('the id for any text is valid, bounded and always the same, and differs for another text', () => {
    fc.assert(
      fc.property(aNamespace, anyText, anyText, ([type, prefix], id, other) => {
        const [first, second, third] = replayed(
          { type, id },
          { type, id },
          { type, id: other },
        ) as JsonObject[];
        const made = first!['id'] as string;
        expect(made.length).toBeLessThanOrEqual(64);
        expect(made.startsWith(prefix) || (type === 'function_call_output' && made.startsWith('fco_'))).toBe(
          true,
        );
        expect(made).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(second!['id']).toBe(made);
        expect(one({ type, id: made })['id']).toBe(made);
        if (id.isWellFormed() && other.isWellFormed()) expect(third!['id'] === made).toBe(id === other);
      }),
      { numRuns: 500 },
    );
  });
});

describe('call_id values of a pair are normalised identically', () => {
  const pair = (id: Json): readonly Json[] =>
    (
      replayed(
        { type: 'function_call', call_id: id },
        { type: 'function_call_output', call_id: id },
      ) as JsonObject[]
    ).map((item) => item['call_id'] ?? null);

  it.each([['call_68a1'], ['toolu_01A'], ['functions.get_temperature:0'], ['9'], ['a'.repeat(64)], ['_.:-']])(
    'a valid one is preserved: %s',
    (id) => {
      expect(pair(id)).toEqual([id, id]);
    },
  );

  it.each([[''], ['a'.repeat(65)], ['call_1|fc_2'], ['a b'], ['ü'], ['a\n'], ['call/1']])(
    'an invalid one becomes call_ and its hash on both sides: %j',
    (id) => {
      expect(pair(id)).toEqual([hashed('call_', id), hashed('call_', id)]);
    },
  );

  it('for any text, which is kept exactly if it is valid', () => {
    fc.assert(
      fc.property(anyText, (id) => {
        const [call, output] = pair(id);
        expect(call).toBe(output);
        expect(call).toMatch(/^[A-Za-z0-9_.:-]{1,64}$/);
        expect(call === id).toBe(/^[A-Za-z0-9_.:-]{1,64}$/.test(id));
      }),
      { numRuns: 500 },
    );
  });

  it('item ids and call ids are normalised independently', () => {
    const item = { type: 'function_call', id: 'x', call_id: 'y|z', name: 'f', arguments: '{}' };
    expect(one(item)).toEqual({ ...item, id: hashed('fc_', 'x'), call_id: hashed('call_', 'y|z') });
  });
});

describe('ids and items that replay does not change', () => {
  it.each<[string, JsonObject]>([
    ['a missing id', { type: 'message', role: 'user', content: 'Hi' }],
    ['a call without an id', { type: 'function_call', call_id: 'call_1', name: 'f' }],
    ['a null id', { type: 'message', id: null }],
    ['an id that is a number', { type: 'reasoning', id: 7 }],
    ['a null call_id', { type: 'function_call_output', call_id: null }],
    ['an item without type and role', { id: 'x y', content: 'Hi' }],
    ['a reference', { type: 'item_reference', id: 'x y' }],
    ['a hosted tool’s call', { type: 'web_search_call', id: 'x y' }],
    ['a custom tool’s call', { type: 'custom_tool_call', id: 'x y', call_id: 'y|z' }],
    ['a shell call’s output', { type: 'local_shell_call_output', id: 'x y', call_id: 'y|z' }],
    ['a call_id on a message', { type: 'message', call_id: 'y|z' }],
    ['an id inside the content', { type: 'message', content: [{ type: 'message', id: 'x y' }] }],
  ])('%s stays as it is', (_, item) => {
    expect(one(item)).toEqual(item);
    expect(needsReplayIds([item])).toBe(false);
  });

  it.each<[string, Json | undefined]>([
    ['no input', undefined],
    ['a text', 'x y'],
    ['no items', []],
    ['items that are not objects', ['x y', 7, null, [{ type: 'message', id: 'x y' }]]],
  ])('%s stays as it is', (_, input) => {
    expect(needsReplayIds(input)).toBe(false);
  });

  it('only ids of the four item types change, and `needsReplayIds` is true exactly if one changes', () => {
    const anItem = fc
      .tuple(
        aJsonObject,
        fc.record(
          {
            type: fc.oneof(
              aNamespace.map(([type]) => type),
              fc.constantFrom('item_reference', 'mcp_call'),
              aJson,
            ),
            id: fc.oneof(fc.constantFrom('msg_a', 'fc_a', 'x y'), aJson),
            call_id: fc.oneof(fc.constantFrom('call_a', 'x y'), aJson),
          },
          { requiredKeys: [] },
        ),
      )
      .map(([rest, ids]): JsonObject => ({ ...rest, ...ids }));
    fc.assert(
      fc.property(fc.array(fc.oneof(anItem, aJson)), (input) => {
        const output = withReplayIds(input, textDigest);
        expect(output).toHaveLength(input.length);
        const changed = input.some((item, index) => JSON.stringify(item) !== JSON.stringify(output[index]));
        expect(needsReplayIds(input)).toBe(changed);
        for (const [index, item] of input.entries()) {
          if (JSON.stringify(item) === JSON.stringify(output[index])) continue;
          const before = item as JsonObject;
          const after = output[index] as JsonObject;
          expect(namespaces.map(([type]) => type)).toContain(before['type']);
          expect(Object.keys(after)).toEqual(Object.keys(before));
          expect({ ...after, id: 0, call_id: 0 }).toEqual({ ...before, id: 0, call_id: 0 });
        }
      }),
      { numRuns: 300 },
    );
  });
});
