import { describe, expect, it } from '@jest/globals';
import { grammarFault } from '../../support/messages-grammar.ts';

const usage = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'fast',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage,
};
const start = { type: 'message_start', message };
const open = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
const tool = { type: 'tool_use', id: 'a', name: 'f', input: {} };
const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } };
const close = { type: 'content_block_stop', index: 0 };
const told = { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage };
const stop = { type: 'message_stop' };
const error = { type: 'error', error: { type: 'api_error', message: 'm' } };

describe('the grammar checker of messages streams', () => {
  it.each<[string, readonly unknown[]]>([
    ['an answer without content', [start, told, stop]],
    ['a block of text', [start, open, delta, delta, close, told, stop]],
    ['a call without arguments', [start, { ...open, content_block: tool }, close, told, stop]],
    ['two blocks', [start, open, close, { ...open, index: 1 }, { ...close, index: 1 }, told, stop]],
    ['pings', [start, { type: 'ping' }, open, { type: 'ping' }, close, told, stop]],
    ['an error in a block', [start, open, delta, error]],
    ['an error alone', [error]],
  ])('accepts %s', (_, events) => {
    expect(grammarFault(events)).toBeUndefined();
  });

  it.each<[string, readonly unknown[]]>([
    ['nothing', []],
    ['an event that is not an object', [null]],
    ['a stream that breaks off', [start, open, delta, close, told]],
    ['a block before message_start', [open, start]],
    ['two message_starts', [start, start]],
    ['a message_start without usage', [{ ...start, message: { ...message, usage: undefined } }, told, stop]],
    [
      'output tokens in message_start',
      [{ ...start, message: { ...message, usage: { ...usage, output_tokens: 1 } } }],
    ],
    ['a message_start with content', [{ ...start, message: { ...message, content: [tool] } }]],
    ['a message_start with a stop reason', [{ ...start, message: { ...message, stop_reason: 'end_turn' } }]],
    ['a message without an id', [{ ...start, message: { ...message, id: '' } }]],
    ['a message of another role', [{ ...start, message: { ...message, role: 'user' } }]],
    ['a delta outside of a block', [start, delta]],
    ['a delta of another block', [start, open, { ...delta, index: 1 }]],
    [
      'a thinking delta in a text block',
      [start, open, { ...delta, delta: { type: 'thinking_delta', thinking: 'a' } }],
    ],
    ['a delta without its text', [start, open, { ...delta, delta: { type: 'text_delta' } }]],
    ['two blocks that overlap', [start, open, { ...open, index: 1 }]],
    ['a skipped index', [start, open, close, { ...open, index: 2 }]],
    ['a block of an unknown type', [start, { ...open, content_block: { type: 'toString' } }]],
    ['a block that begins with text', [start, { ...open, content_block: { type: 'text', text: 'a' } }]],
    ['a call without an id', [start, { ...open, content_block: { ...tool, id: '' } }]],
    ['a block that never ends', [start, open, told, stop]],
    ['a block that ends twice', [start, open, close, close]],
    ['message_stop without message_delta', [start, stop]],
    ['a message_delta without usage', [start, { ...told, usage: undefined }, stop]],
    [
      'a message_delta without output tokens',
      [start, { ...told, usage: { ...usage, output_tokens: null } }, stop],
    ],
    ['a stop reason of null', [start, { ...told, delta: { stop_reason: null, stop_sequence: null } }, stop]],
    [
      'a stop reason of chat completions',
      [start, { ...told, delta: { stop_reason: 'stop', stop_sequence: null } }],
    ],
    ['a block after message_delta', [start, told, open]],
    ['two message_deltas', [start, told, told, stop]],
    ['an event after message_stop', [start, told, stop, stop]],
    ['an event after an error', [start, error, stop]],
    ['an error event without an error', [start, { type: 'error' }]],
    ['an event of an unknown type', [start, { type: 'content_block' }]],
  ])('rejects %s', (_, events) => {
    expect(grammarFault(events)).toEqual(expect.any(String));
  });
});
