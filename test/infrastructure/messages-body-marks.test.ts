import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { permissive } from '../../domain/routing/capabilities.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { fromMessagesBody } from '../../infrastructure/providers/messages-body/native.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { styles } from './messages-body-sending.ts';

const mark = { type: 'ephemeral', ttl: '1h' };
const text = (words: string): JsonObject => ({ type: 'text', text: words });
const marked = (words: string, cache_control: JsonObject = mark) => ({ ...text(words), cache_control });

describe('cache marks of a messages caller on platforms that refuse unknown fields', () => {
  describe.each(styles)('%s', (_, rules) => {
    const sent = (body: JsonObject, upstreamModel = 'anthropic.claude-sonnet-4-5'): JsonObject => {
      const route = { upstreamModel, compatibility: {}, capabilities: permissive, extraBody: {} };
      const call = { body: JSON.stringify({ max_tokens: 9, ...body }), stream: false, betas: [], route };
      const written = fromMessagesBody(call, rules, textDigest);
      if (E.isLeft(written)) throw new Error(written.left.message);
      return JSON.parse(written.right.text) as JsonObject;
    };
    const ending = (...messages: readonly JsonObject[]) => {
      const body = sent({ messages, cache_control: mark });
      expect(body).not.toHaveProperty('cache_control');
      return (body['messages'] as readonly JsonObject[]).at(-1)?.['content'];
    };

    it('`cache_control` of the body is moved to its last block', () => {
      const first = { role: 'user', content: [text('Hi'), text('there')] };
      expect(ending({ role: 'user', content: 'Hi' })).toEqual([marked('Hi')]);
      expect(ending(first)).toEqual([text('Hi'), marked('there')]);
      const result = { type: 'tool_result', tool_use_id: 'a', content: 'ok' };
      expect(ending(first, { role: 'user', content: [result] })).toEqual([
        { ...result, cache_control: mark },
      ]);
    });

    it('the last block keeps its own mark, and an empty or blank message gets none', () => {
      const own = [marked('Hi', { type: 'ephemeral' })];
      expect(ending({ role: 'user', content: own })).toEqual(own);
      expect(ending({ role: 'user', content: ' ' })).toBe(' ');
      expect(ending({ role: 'user', content: [] })).toEqual([]);
    });

    it('`cache_control` of the body is moved to the last user block, which a system message that is last becomes', () => {
      const messages = [
        { role: 'user', content: 'Hi' },
        { role: 'system', content: 'Be brief.' },
      ];
      const body = sent({ messages, cache_control: mark }, 'anthropic.claude-3-7-sonnet-20250219-v1:0');
      expect(body['messages']).toEqual([
        { role: 'user', content: 'Hi' },
        { role: 'user', content: [marked('<system-reminder>\nBe brief.\n</system-reminder>')] },
      ]);
    });

    it('are sent without `scope`, at every place', () => {
      const shared = { ...mark, scope: 'global' };
      const tool = { name: 'f', input_schema: { type: 'object' } };
      const body = sent({
        system: [marked('S', shared), text('T')],
        tools: [tool, { ...tool, name: 'g', cache_control: shared }],
        messages: [{ role: 'user', content: [marked('Hi', shared)] }],
      });
      expect(body).toMatchObject({
        system: [marked('S'), text('T')],
        tools: [tool, { ...tool, name: 'g', cache_control: mark }],
        messages: [{ role: 'user', content: [marked('Hi')] }],
      });
      expect(JSON.stringify(body)).not.toContain('scope');
      const both = { messages: [{ role: 'user', content: 'Hi' }], cache_control: shared };
      expect(sent(both)['messages']).toEqual([{ role: 'user', content: [marked('Hi')] }]);
    });
  });
});
