import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { messagesWatched, readMessagesRequest } from '../../../domain/messages/messages-request.ts';
import { parseExact } from '../../../domain/shared/json.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import type { GenerationRequest } from '../../../domain/routing/generation-request.ts';

const readText = (
  text: string,
): E.Either<{ readonly param?: string; readonly message: string }, GenerationRequest> => {
  const document = parseDocument(text, messagesWatched, parseExact);
  if (E.isLeft(document)) throw new Error(document.left.message);
  return readMessagesRequest(document.right);
};
const messages = [{ role: 'user', content: 'Hello' }];
const read = (over: object) =>
  readText(JSON.stringify({ model: 'fast', max_tokens: 100, messages, ...over }));

const requestOf = (over: object): GenerationRequest => {
  const request = read(over);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return request.right;
};
const paramAtFault = (over: object): string | undefined => {
  const request = read(over);
  return E.isLeft(request) ? request.left.param : undefined;
};
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });

describe('reading a messages request', () => {
  it.each<[string, object, string]>([
    ['no model', { model: undefined }, 'model'],
    ['an empty model', { model: '' }, 'model'],
    ['no max_tokens', { max_tokens: undefined }, 'max_tokens'],
    ['null max_tokens', { max_tokens: null }, 'max_tokens'],
    ['negative max_tokens', { max_tokens: -1 }, 'max_tokens'],
    ['fractional max_tokens', { max_tokens: 1.5 }, 'max_tokens'],
    ['max_tokens over the safe integer limit', { max_tokens: 2 ** 53 }, 'max_tokens'],
    ['max_tokens as text', { max_tokens: '100' }, 'max_tokens'],
    ['no messages', { messages: undefined }, 'messages'],
    ['empty messages', { messages: [] }, 'messages'],
    ['messages that are an object', { messages: {} }, 'messages'],
    ['a message that is null', { messages: [...messages, null] }, 'messages[1]'],
    ['a message without a role', { messages: [{ content: 'x' }] }, 'messages[0].role'],
    ['a role of chat completions', { messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role'],
    ['a message without content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['null content', user(null), 'messages[0].content'],
    ['content that is an object', user({ type: 'text', text: 'x' }), 'messages[0].content'],
    ['a block that is a string', user([{ type: 'text', text: 'x' }, 'x']), 'messages[0].content[1]'],
    ['a block that is a number', user([12]), 'messages[0].content[0]'],
    ['a block without a type', user([{ text: 'x' }]), 'messages[0].content[0].type'],
    ['stream that is a string', { stream: 'true' }, 'stream'],
    ['tools that are an object', { tools: {} }, 'tools'],
    ['a tool that is a string', { tools: ['x'] }, 'tools'],
    ['tool_choice that is a string', { tool_choice: 'auto' }, 'tool_choice'],
    ['stop_sequences that are a string', { stop_sequences: 'x' }, 'stop_sequences'],
    ['a stop sequence that is a number', { stop_sequences: ['x', 1] }, 'stop_sequences'],
    ['a temperature that is text', { temperature: '1' }, 'temperature'],
    ['a top_k that is text', { top_k: '1' }, 'top_k'],
    ['a negative top_k', { top_k: -1 }, 'top_k'],
    ['a fraction in top_k', { top_k: 1.5 }, 'top_k'],
    ['a top_p that is text', { top_p: '1' }, 'top_p'],
    ['thinking that is a boolean', { thinking: true }, 'thinking'],
    ['an output_config that is text', { output_config: 'high' }, 'output_config'],
    ['an output_format that is text', { output_format: 'json' }, 'output_format'],
  ])('rejects an invalid field by its path: %s', (_, over, param) => {
    expect(paramAtFault(over)).toBe(param);
    expect(read(over)).toEqual(
      E.left({ code: 'invalid_request', message: expect.stringContaining(`\`${param}\``), param }),
    );
  });

  it('reads max_tokens by its numeric value, however the number is written', () => {
    const spelled = (digits: string) =>
      readText(`{"model":"fast","max_tokens":${digits},"messages":[{"role":"user","content":"x"}]}`);
    expect(['1e3', '12.0', '1', '0', '0.0'].every((digits) => E.isRight(spelled(digits)))).toBe(true);
    expect(['1e400', '1e-1', '-1'].some((digits) => E.isRight(spelled(digits)))).toBe(false);
  });

  it.each([
    ['stream'],
    ['tools'],
    ['tool_choice'],
    ['stop_sequences'],
    ['temperature'],
    ['top_p'],
    ['thinking'],
    ['output_config'],
    ['output_format'],
  ])('treats a null `%s` as absent', (field) => {
    expect(paramAtFault({ [field]: null })).toBeUndefined();
  });

  it.each([
    [{ type: 'create' }, messages],
    [{ type: 'continue', previous_message_id: 'msg_1' }, []],
  ])(
    'answers thread_unsupported_request to a conversation that the server would have to keep: %j',
    (thread, said) => {
      expect(read({ thread, messages: said })).toEqual(
        E.left({
          code: 'thread_unsupported_request',
          message: '`thread` is not available: send the whole conversation in `messages`.',
          param: 'thread',
        }),
      );
      expect(paramAtFault({ thread: null })).toBeUndefined();
    },
  );

  it('reads the ids of the calls in the conversation, which ids of the answer must not repeat', () => {
    const call = (id: unknown) => ({ type: 'tool_use', id, name: 'f', input: {} });
    const result = { type: 'tool_result', tool_use_id: 'a', id: 'of a result' };
    const { calls } = requestOf({
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: [call('a'), call('b'), call(7)] },
        { role: 'user', content: [result] },
        { role: 'assistant', content: [call('c')] },
      ],
    });
    expect(calls?.ids).toEqual(['a', 'b', 'c']);
  });

  it('keeps unknown fields and content blocks', () => {
    const over = {
      x_unknown: 1,
      context_management: { edits: [] },
      ...user([{ type: 'search_result', source: 1 }]),
    };
    expect(requestOf(over).document.value).toMatchObject(over);
  });
});

const definition = (role: string) => ({
  role,
  content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: { name: 'f' } } }],
});

describe('the capabilities that a messages request needs', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
  const result = { type: 'tool_result', tool_use_id: 'a', content: [image] };
  const schema = { type: 'json_schema', schema: { type: 'object' } };

  it.each<[string, object, readonly string[]]>([
    ['plain text', {}, []],
    ['stream: false', { stream: false }, []],
    ['stream: true', { stream: true }, ['stream']],
    ['tools', { tools: [{ name: 'f', input_schema: {} }] }, ['tools']],
    ['empty tools', { tools: [] }, []],
    ['an image', user([{ type: 'text', text: 'x' }, image]), ['vision']],
    ['an image in an earlier message', { messages: [user([image]).messages[0], ...messages] }, ['vision']],
    ['an image in a tool result', user([result]), ['vision']],
    [
      'an image in a document',
      user([{ type: 'document', source: { type: 'content', content: [image] } }]),
      ['vision'],
    ],
    ['a document', user([{ type: 'document', source: { type: 'base64', data: 'AAAA' } }]), ['vision']],
    ['a text document', user([{ type: 'document', source: { type: 'text', data: 'x' } }]), ['vision']],
    ['a document in a tool result', user([{ ...result, content: [{ type: 'document' }] }]), ['vision']],
    [
      'a document returned by a hosted tool',
      user([
        {
          type: 'web_fetch_tool_result',
          content: { type: 'web_fetch_result', content: { type: 'document' } },
        },
      ]),
      ['vision'],
    ],
    ['a text that says document', user([{ type: 'text', text: 'document' }]), []],
    ['a search result', user([{ type: 'search_result', content: [{ type: 'text', text: 'x' }] }]), []],
    ['a schema', { output_config: { format: schema } }, ['json_schema']],
    ['a schema in output_format', { output_format: schema }, ['json_schema']],
    ['an effort', { output_config: { effort: 'high' } }, []],
    ['a tool that is defined between the turns', { messages: [definition('system')] }, ['tools']],
    ['a block like one that is not of the system', { messages: [definition('user')] }, []],
    [
      'all of them',
      { stream: true, tools: [{}], ...user([image]), output_config: { format: schema } },
      ['stream', 'tools', 'vision', 'json_schema'],
    ],
  ])('%s', (_, over, needs) => {
    expect(requestOf(over).needs).toEqual(['chat_completions', ...needs]);
  });

  it.each([
    [user([{ type: 'text', text: 'x' }, image]), 'messages[0].content[1]'],
    [{ messages: [...messages, ...user([result]).messages] }, 'messages[1].content[0].content[0]'],
    [
      user([{ ...result, content: [{ source: { content: [{ type: 'text' }, image] }, type: 'other' }] }]),
      'messages[0].content[0].content[0].source.content[1]',
    ],
    [
      user([{ type: 'web_fetch_tool_result', content: { content: { type: 'document' } } }]),
      'messages[0].content[0].content.content',
    ],
  ])('are reported with the path of the first image or document: %j', (over, field) => {
    expect(requestOf(over).fields.vision).toBe(field);
  });

  it('are reported with the path at which the caller wrote the format', () => {
    const format = { type: 'json_schema', schema: {} };
    expect(requestOf({ output_config: { format } }).fields.json_schema).toBe('output_config.format');
    expect(requestOf({ output_format: format }).fields.json_schema).toBe('output_format');
    expect(requestOf({ messages: [definition('system')] }).fields.tools).toBe('messages[0].content[0].tool');
  });
});

describe('exposed_tool_count is a shallow count of request tools', () => {
  it.each<[string, object, number]>([
    ['no tools', {}, 0],
    ['empty tools', { tools: [] }, 0],
    ['tools of any type', { tools: [{ name: 'f' }, { type: 'custom' }, { type: 'web_search_20250305' }] }, 3],
  ])('%s', (_, over, count) => {
    expect(requestOf(over).exposedToolCount).toBe(count);
  });
});

describe('a repeated key in a messages body', () => {
  const twice = '{"x":1,"\\u0078":2}';
  const faultPath = (text: string): string | undefined => {
    const parsed = parseDocument(text, messagesWatched, parseExact);
    return E.isLeft(parsed) ? parsed.left.path : undefined;
  };

  it.each([
    [`{"guardrail_config":${twice}}`, 'guardrail_config.x'],
    [`{"google":{"thinking_config":${twice}}}`, 'google.thinking_config.x'],
    ['{"model":"a","model":"b"}', 'model'],
    [`{"system":[${twice}]}`, 'system[0].x'],
    [`{"messages":[${twice}]}`, 'messages[0].x'],
    [`{"messages":[{"content":[${twice}]}]}`, 'messages[0].content[0].x'],
    [`{"messages":[{"content":[{"source":${twice}}]}]}`, 'messages[0].content[0].source.x'],
    [`{"messages":[{"content":[{"content":[${twice}]}]}]}`, 'messages[0].content[0].content[0].x'],
    [`{"tools":[${twice}]}`, 'tools[0].x'],
    [`{"tool_choice":${twice}}`, 'tool_choice.x'],
    [`{"thinking":${twice}}`, 'thinking.x'],
    [`{"output_config":${twice}}`, 'output_config.x'],
    [`{"output_config":{"format":${twice}}}`, 'output_config.format.x'],
    [`{"output_format":${twice}}`, 'output_format.x'],
  ])('is rejected by its path at a level that the gateway reads or edits: %s', (text, path) => {
    expect(faultPath(text)).toBe(path);
  });

  it.each([[`{"metadata":${twice}}`], [`{"tools":[{"input_schema":${twice}}]}`]])(
    'passes at a level that the gateway neither reads nor edits: %s',
    (text) => {
      expect(faultPath(text)).toBeUndefined();
    },
  );
});
