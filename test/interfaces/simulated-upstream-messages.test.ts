import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  blockDeltas,
  bodies,
  dataOf,
  echoed,
  eventsOf,
  filled,
  hello,
  joinedDeltas,
  type Json,
  jsonOf,
  messageOf,
  shapeOf,
  simulatedFamiliesScene,
  toolsFor,
  typesOf,
} from './simulated-families-scene.ts';

const { send, streamed, upstream, whole } = simulatedFamiliesScene();

describe('a message', () => {
  it("states that it is simulated and echoes the caller's text, for any model name", async () => {
    const received = await send('messages', { model: 'claude-sonnet-4-5', ...bodies.messages(hello) });
    expect(received.status).toBe(200);
    expect(jsonOf(received)).toEqual({
      id: expect.stringMatching(/^msg_sim_/),
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: echoed }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 12,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 24,
      },
    });
  });

  it('streams named events from message_start to message_stop, with a ping', async () => {
    const { text } = await streamed('messages');
    expect(shapeOf(text)).toEqual([
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(eventsOf(text).map(({ name }) => name)).toEqual(typesOf(text));
    const answer = messageOf(await whole('messages'));
    expect(dataOf(text, 'message_start')[0]?.['message']).toEqual({
      ...answer,
      id: expect.any(String),
      content: [],
      stop_reason: null,
      usage: { ...(answer['usage'] as Json), output_tokens: 1 },
    });
    expect(dataOf(text, 'message_delta')[0]).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: answer['usage'],
    });
  });

  it('streams the same text as the whole answer, for any number of chunks', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(9), async (said, chunks) => {
        const query = chunks === 0 ? '' : `chunks=${chunks}`;
        const answer = messageOf(await whole('messages', query, bodies.messages(said)));
        const { text } = await streamed('messages', query, bodies.messages(said));
        return answer.content[0]?.['text'] === joinedDeltas(text, 'text');
      }),
      { numRuns: 40 },
    ));

  it('answers the last text of the user, ignoring reminders and system messages', async () => {
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<reminder>' },
          { type: 'text', text: hello },
          { type: 'image', source: {} },
        ],
      },
      { role: 'system', content: 'Where you are.' },
    ];
    const { content } = messageOf(
      await whole('messages', '', { messages, system: [{ type: 'text', text: 'x' }] }),
    );
    expect(content).toEqual([{ type: 'text', text: echoed }]);
  });

  it.each([
    ['a string', '21 degrees'],
    ['blocks', [{ type: 'text', text: '21 degrees' }]],
  ])('quotes a tool result that is %s, even with text beside it', async (_, result) => {
    const messages = [
      { role: 'user', content: hello },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'weather', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't', content: result },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ];
    const more = { messages, tools: toolsFor.messages };
    const { content, stop_reason: reason } = messageOf(await whole('messages', 'tools', more));
    expect(content[0]?.['text']).toContain('The tool returned: "21 degrees"');
    expect(reason).toBe('end_turn');
  });

  it('calls a tool with its required properties', async () => {
    const more = { tools: toolsFor.messages };
    const answer = messageOf(await whole('messages', 'tools', more));
    expect(answer).toMatchObject({
      content: [
        { type: 'tool_use', id: expect.stringMatching(/^toolu_sim_/), name: 'weather', input: filled },
      ],
      stop_reason: 'tool_use',
    });
    const { text } = await streamed('messages', 'tools', more);
    expect(dataOf(text, 'content_block_start')[0]).toMatchObject({
      index: 0,
      content_block: { type: 'tool_use', name: 'weather', input: {} },
    });
    expect(blockDeltas(text)[0]).toEqual({ type: 'input_json_delta', partial_json: '' });
    expect(JSON.parse(joinedDeltas(text, 'partial_json'))).toEqual(filled);
    expect(dataOf(text, 'message_delta')[0]).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });

  it('streams two calls as consecutive blocks, and no arguments as one empty piece', async () => {
    const { text } = await streamed('messages', 'parallel-tools', { tools: toolsFor.messages });
    const indexes = eventsOf(text)
      .map(({ data }) => (JSON.parse(data) as Json)['index'])
      .filter((index) => index !== undefined);
    expect(indexes).toEqual(indexes.toSorted((a, b) => Number(a) - Number(b)));
    expect(dataOf(text, 'content_block_start').map(({ index }) => index)).toEqual([0, 1]);
    const second = dataOf(text, 'content_block_delta').filter(({ index }) => index === 1);
    expect(second).toMatchObject([{ delta: { type: 'input_json_delta', partial_json: '' } }]);
    expect(
      messageOf(await whole('messages', 'parallel-tools', { tools: toolsFor.messages })).content,
    ).toMatchObject([{ name: 'weather' }, { name: 'time', input: {} }]);
  });

  it.each([
    [{ type: 'any' }, 'weather'],
    [{ type: 'tool', name: 'time' }, 'time'],
    [{ type: 'auto' }, undefined],
    [{ type: 'none' }, undefined],
  ])('the choice %j calls %p', async (choice, name) => {
    const more = { tools: toolsFor.messages, tool_choice: choice };
    expect(messageOf(await whole('messages', '', more)).content[0]?.['name']).toBe(name);
  });

  it.each([
    ['a directive', 'reasoning', {}],
    ['the caller', '', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
  ])('thinks before it answers if %s requests it', async (_, query, more) => {
    const { content, usage } = messageOf(await whole('messages', query, more));
    expect(content).toMatchObject([
      {
        type: 'thinking',
        thinking: expect.stringContaining('simulated reasoning'),
        signature: expect.any(String),
      },
      { type: 'text' },
    ]);
    expect(usage).toHaveProperty('output_tokens_details.thinking_tokens');
    const { text } = await streamed('messages', query, more);
    const kinds = blockDeltas(text).map(({ type }) => type);
    expect(kinds.filter((kind, index) => kind !== kinds[index - 1])).toEqual([
      'thinking_delta',
      'signature_delta',
      'text_delta',
    ]);
    expect(joinedDeltas(text, 'thinking')).toBe(content[0]?.['thinking']);
  });

  it('omits thinking text if the caller asks for that, and all thinking if a directive disables it', async () => {
    const thinking = { type: 'enabled', budget_tokens: 1024, display: 'omitted' };
    const { content } = messageOf(await whole('messages', '', { thinking }));
    expect(content[0]).toEqual({ type: 'thinking', thinking: '', signature: expect.any(String) });
    const { text } = await streamed('messages', '', { thinking });
    expect(blockDeltas(text)[0]?.['type']).toBe('signature_delta');
    expect(messageOf(await whole('messages', 'reasoning=off', { thinking })).content).toHaveLength(1);
  });

  it.each([
    ['no model', { model: undefined }, 'model'],
    ['no messages', { messages: undefined }, 'messages'],
    ['empty messages', { messages: [] }, 'messages'],
    ['no max_tokens', { max_tokens: undefined }, 'max_tokens'],
    ['max_tokens of 0', { max_tokens: 0 }, 'max_tokens'],
  ])('is rejected for %s, in the messages envelope', async (_, change, param) => {
    const received = await send('messages', { model: 'm', ...bodies.messages(hello), ...change });
    expect(received.status).toBe(400);
    expect(jsonOf(received)).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining(`'${param}'`) },
      request_id: expect.stringMatching(/^req_sim_/),
    });
  });

  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [529, 'overloaded_error'],
  ])('status=%i is %s', async (status, type) => {
    const received = await streamed('messages', `status=${status}&message=no&retry-after=3`);
    expect(received).toMatchObject({ status, headers: { 'retry-after': '3' } });
    expect(jsonOf(received)).toMatchObject({ type: 'error', error: { type, message: 'no' } });
  });

  it('rejects unknown methods and bodies over the limit in the messages envelope', async () => {
    const got = await fetch(`${upstream().url}/messages?beta=true`);
    expect(got.status).toBe(405);
    expect(await got.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
    const large = await send('messages', ' '.repeat(64 * 1024 * 1024 + 1));
    expect(large.status).toBe(413);
    expect(jsonOf(large)).toMatchObject({ type: 'error', error: { type: 'request_too_large' } });
  });

  it('no-finish and no-done omit only that, and finish=T sets the stop reason', async () => {
    const { text: unfinished } = await streamed('messages', 'no-finish');
    expect(shapeOf(unfinished).slice(-2)).toEqual(['content_block_stop', 'message_stop']);
    const { text: undone } = await streamed('messages', 'no-done');
    expect(shapeOf(undone).at(-1)).toBe('message_delta');
    expect(messageOf(await whole('messages', 'no-finish')).stop_reason).toBeNull();
    expect(messageOf(await whole('messages', 'finish=max_tokens')).stop_reason).toBe('max_tokens');
  });
});
