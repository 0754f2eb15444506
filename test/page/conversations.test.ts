import { describe, expect, it } from '@jest/globals';
import { saidOf } from '../../interfaces/admin-page/src/pages/request-log/conversation.ts';
import { memberText } from '../../interfaces/admin-page/src/pages/request-log/json-text.ts';
import {
  changeViews,
  readViews,
  withoutView,
  withView,
} from '../../interfaces/admin-page/src/pages/request-logs/saved-views.ts';

const said = (operation: string, request: unknown, response: unknown) =>
  saidOf(operation, { body: request }, response)?.turns.map(({ role, pieces }) => [role, ...pieces]);
const chat = (request: object, message: object) =>
  said('chat_completions', request, { body: { choices: [{ message }] } });
const chatStream = (...choices: readonly object[]) =>
  said(
    'chat_completions',
    {},
    { stream: true, events: choices.map((choice) => ({ choices: [{ index: 0, ...choice }] })) },
  );

const asks = (id: string, args: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: args } }],
});
const call = (id: string | undefined, args: string, name = 'look') => ({ kind: 'call', id, name, args });
const result = (callId: string | undefined, text: string) => ({
  kind: 'result',
  callId,
  text,
  failed: false,
});

describe('calls with the same id in a conversation', () => {
  it('get their own results, in order, and a new call has none', () => {
    const messages = [
      asks('call_0', '1'),
      { role: 'tool', tool_call_id: 'call_0', content: 'one' },
      asks('call_0', '2'),
      { role: 'tool', tool_call_id: 'call_0', content: 'two' },
    ];
    expect(chat({ messages }, asks('call_0', '3'))).toEqual([
      ['assistant', { ...call('call_0', '1'), result: result('call_0', 'one') }],
      ['assistant', { ...call('call_0', '2'), result: result('call_0', 'two') }],
      ['assistant', call('call_0', '3')],
    ]);
  });

  it('get their own results when they are parallel', () => {
    const twice = [...asks('', '1').tool_calls, ...asks('', '2').tool_calls];
    const messages = [
      { role: 'assistant', tool_calls: twice },
      { role: 'tool', tool_call_id: '', content: 'one' },
      { role: 'tool', tool_call_id: '', content: 'two' },
    ];
    expect(chat({ messages }, { content: 'Done' })?.[0]).toEqual([
      'assistant',
      { ...call('', '1'), result: result('', 'one') },
      { ...call('', '2'), result: result('', 'two') },
    ]);
  });
});

describe('the conversation of a chat', () => {
  it('has the calls, results and tools of the older API', () => {
    const request = {
      functions: [{ name: 'look' }],
      messages: [
        { role: 'assistant', content: null, function_call: { name: 'look', arguments: '1' } },
        { role: 'function', name: 'look', content: 'one' },
      ],
    };
    const asked = [
      ['assistant', call(undefined, '1')],
      ['function', result(undefined, 'one')],
    ];
    const message = { role: 'assistant', content: null, function_call: { name: 'look', arguments: '2' } };
    expect(chat(request, message)).toEqual([...asked, ['assistant', call(undefined, '2')]]);
    expect(saidOf('chat_completions', { body: request }, undefined)?.tools).toEqual(['look']);
    const streamed = chatStream(
      { delta: { function_call: { name: 'look', arguments: '' } } },
      { delta: { function_call: { arguments: '2' } } },
    );
    expect(streamed).toEqual([['assistant', call(undefined, '2')]]);
    const empty = { content: 'Hi', function_call: { name: '', arguments: '' } };
    expect(chat({}, empty)).toEqual([['assistant', { kind: 'text', text: 'Hi' }]]);
  });

  it('has each of several streamed calls, also if they share an index', () => {
    const piece = (id: string | undefined, name: string | undefined, args: string) => ({
      delta: { tool_calls: [{ index: 0, id, function: { name, arguments: args } }] },
    });
    const both = [['assistant', call('a', '{"n":1}'), call('b', '{}', 'go')]];
    expect(
      chatStream(piece('a', 'look', '{"n"'), piece(undefined, undefined, ':1}'), piece('b', 'go', '{}')),
    ).toEqual(both);
    expect(chatStream(piece(undefined, 'look', '{}'), piece(undefined, 'go', '{}'))).toEqual([
      ['assistant', call(undefined, '{}'), call(undefined, '{}', 'go')],
    ]);
    expect(chatStream(piece('a', 'look', '{"n"'), piece('a', 'look', ':1}'))).toEqual([
      ['assistant', call('a', '{"n":1}')],
    ]);
  });

  it('has the input of a streamed call to a custom tool', () => {
    const piece = (custom: object) => ({ delta: { tool_calls: [{ index: 0, custom }] } });
    expect(chatStream(piece({ name: 'look', input: 'a' }), piece({ input: 'b' }))).toEqual([
      ['assistant', call(undefined, 'ab')],
    ]);
  });

  it('has the parts of streamed content, and a message that is streamed whole', () => {
    const thinking = [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }];
    const whole = ['assistant', { kind: 'reasoning', text: 'Hm' }, { kind: 'text', text: 'Yes' }];
    expect(
      chatStream(
        { delta: { content: thinking } },
        { delta: { content: 'Y' } },
        { delta: { content: [{ type: 'text', text: 'es' }] } },
        { message: { content: 'Yes' } },
      ),
    ).toEqual([whole]);
    const message = { content: [...thinking, { type: 'text', text: 'Yes' }] };
    expect(chatStream({ message })).toEqual([whole]);
    expect(chat({}, message)).toEqual([whole]);
  });

  it('has the transcript of speech, and images', () => {
    const images = [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }];
    const messages = [{ role: 'assistant', audio: { id: 'audio_1' } }];
    const spoken = { content: null, audio: { id: 'audio_2', data: 'AAAA', transcript: 'Hello' }, images };
    expect(chat({ messages }, spoken)).toEqual([
      ['assistant', { kind: 'media', what: 'audio', text: 'audio_1' }],
      [
        'assistant',
        { kind: 'text', text: 'Hello' },
        { kind: 'media', what: 'image_url', text: 'https://x/y.png' },
      ],
    ]);
  });

  it('has messages without any content', () => {
    expect(said('chat_completions', { messages: [{ role: 'user', content: '' }] }, undefined)).toEqual([
      ['user'],
    ]);
  });
});

describe('the conversation of a messages request', () => {
  it('has a streamed compaction, and the failure of a tool of the provider', () => {
    const events = [
      { type: 'content_block_start', index: 0, content_block: { type: 'compaction' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: 'So far' } },
    ];
    expect(said('messages', {}, { stream: true, events })).toEqual([
      [
        'assistant',
        { kind: 'other', what: 'compaction', text: expect.stringContaining('"content": "So far"') },
      ],
    ]);
    const content = [
      {
        type: 'web_search_tool_result',
        tool_use_id: 'gone',
        content: { type: 'web_search_tool_result_error', error_code: 'unavailable' },
      },
    ];
    expect(said('messages', {}, { body: { content } })).toEqual([
      ['assistant', expect.objectContaining({ kind: 'result', failed: true })],
    ]);
  });
});

describe('the conversation of a responses request', () => {
  it('has a call that came whole, in a stream that was cut off after it', () => {
    const item = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{"a":1}' };
    const events = [{ type: 'response.output_item.added', output_index: 0, item }];
    expect(said('responses', {}, { stream: true, events })).toEqual([['assistant', call('c', '{"a":1}')]]);
  });

  it('has a refusal that was cut off as a refusal, and no turn for reasoning without content', () => {
    const events = [
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', role: 'assistant' } },
      { type: 'response.refusal.delta', output_index: 0, delta: 'No' },
    ];
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', id: 'rs_1', summary: [] },
    ];
    expect(said('responses', { input }, { stream: true, events })).toEqual([
      ['user', { kind: 'text', text: 'Hi' }],
      ['assistant', { kind: 'refusal', text: 'No' }],
    ]);
  });
});

describe('the conversation of an embeddings request', () => {
  it('has the whole length of a vector that was cut off', () => {
    const data = [{ embedding: 'AAAA' }, { embedding: 'AAAA[TRUNCATED 8188 characters]' }];
    expect(said('embeddings', {}, { body: { data } })).toEqual([
      [
        'assistant',
        { kind: 'other', what: 'vector', text: '4 characters of base64' },
        { kind: 'other', what: 'vector', text: '8192 characters of base64' },
      ],
    ]);
  });
});

it('a stored string of sixteen megabytes is read', () => {
  const long = String.raw`a\"b\\`.repeat(2_600_000);
  expect(memberText(`{"body":"${long}"}`, 'body')).toHaveLength(long.length + 2);
});

it('a view saved in one tab stays when another tab saves or removes one', () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
  const view = (name: string) => ({ name, filters: { env: name } });
  changeViews(storage, (views) => withView(views, view('one')));
  expect(changeViews(storage, (views) => withView(views, view('two')))).toEqual([view('one'), view('two')]);
  changeViews(storage, (views) => withoutView(views, 'one'));
  expect(readViews(storage)).toEqual([view('two')]);
});
