import { describe, expect, it } from '@jest/globals';
import { saidOf } from '../../interfaces/admin-page/src/pages/request-log/conversation.ts';
import { steepGrowth, times } from '../support/growth/growth.ts';

interface LongPayload {
  readonly operation: string;
  readonly request?: (count: number) => object;
  readonly response?: (count: number) => object;
}
const aCall = (index: number) => ({ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } });
const stream = (events: readonly object[]) => ({ stream: true, events });

/** Payloads with `count` parts that are joined with one another. */
const longPayloads: Readonly<Record<string, LongPayload>> = {
  'tool calls and results of a chat': {
    operation: 'chat_completions',
    request: (count) => ({
      messages: [
        ...times(count, (n) => ({ role: 'assistant', tool_calls: [aCall(n)] })),
        ...times(count, (n) => ({ role: 'tool', tool_call_id: `c${n}`, content: 'x' })),
      ],
    }),
  },
  'text and tool calls of a chat stream': {
    operation: 'chat_completions',
    response: (count) =>
      stream(
        times(count, (n) => ({ choices: [{ index: 0, delta: { content: 'x', tool_calls: [aCall(n)] } }] })),
      ),
  },
  'tool calls and results of Messages': {
    operation: 'messages',
    request: (count) => ({
      messages: [
        ...times(count, (n) => ({
          role: 'assistant',
          content: [{ type: 'tool_use', id: `c${n}`, name: 'f', input: {} }],
        })),
        ...times(count, (n) => ({
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: `c${n}`, content: 'x' }],
        })),
      ],
    }),
  },
  'blocks of a Messages stream': {
    operation: 'messages',
    response: (count) =>
      stream(
        times(count, (n) => [
          { type: 'content_block_start', index: n, content_block: { type: 'text', text: '' } },
          { type: 'content_block_delta', index: n, delta: { type: 'text_delta', text: 'x' } },
        ]).flat(),
      ),
  },
  'items of Responses': {
    operation: 'responses',
    request: (count) => ({
      input: [
        ...times(count, (n) => ({ type: 'function_call', call_id: `c${n}`, name: 'f', arguments: '{}' })),
        ...times(count, (n) => ({ type: 'function_call_output', call_id: `c${n}`, output: 'x' })),
      ],
    }),
  },
  'deltas of one item of a Responses stream': {
    operation: 'responses',
    response: (count) =>
      stream([
        { type: 'response.output_item.added', output_index: 0, item: { type: 'message' } },
        ...times(count, () => ({ type: 'response.output_text.delta', output_index: 0, delta: 'x' })),
      ]),
  },
};

describe('the conversation of a stored payload', () => {
  it.each(Object.entries(longPayloads))(
    'is read in linear time: %s',
    (_, { operation, request, response }) => {
      const growth = steepGrowth((count) => {
        const asked = { body: request?.(count) };
        const answer = response?.(count);
        return () => expect(saidOf(operation, asked, answer)).toBeDefined();
      });
      expect(growth).toBeUndefined();
    },
  );
});
