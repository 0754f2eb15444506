import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';

type Json = Record<string, unknown>;

interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  readonly ended: 'clean' | 'broken' | 'no head';
}

/** One server-sent event; `lines` are its lines as they came. */
interface Event {
  readonly name: string | undefined;
  readonly data: string;
  readonly lines: readonly string[];
}

let upstream: SimulatedUpstream;
beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
});
afterAll(() => upstream.close());

const hello = 'Hello out there, how are you today?';
const echoed = `This is a simulated answer; no model was asked. You said: "${hello}".`;

/** An ordinary request of each family; `said` is what the caller says. */
const bodies = {
  responses: (said: string): Json => ({ input: said }),
  messages: (said: string): Json => ({ max_tokens: 100, messages: [{ role: 'user', content: said }] }),
  embeddings: (said: string): Json => ({ input: said }),
  'chat/completions': (said: string): Json => ({ messages: [{ role: 'user', content: said }] }),
};
type Name = keyof typeof bodies;
const streaming = ['responses', 'messages'] as const;

function send(family: Name, body: Json | string, headers: Record<string, string> = {}): Promise<Received> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    const asked = httpRequest(`${upstream.url}/${family}`, { method: 'POST', headers, agent: false });
    asked.on('response', (response) => {
      const finish = (ended: Received['ended']) => () => {
        const bytes = Buffer.concat(pieces);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          text: bytes.toString(),
          ended,
        });
      };
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', finish('clean'));
      response.on('error', finish('broken'));
    });
    asked.on('error', () =>
      resolve({ status: 0, headers: {}, bytes: Buffer.alloc(0), text: '', ended: 'no head' }),
    );
    asked.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

const whole = (family: Name, query = '', more: Json = {}): Promise<Received> =>
  send(family, { model: `simulated?${query}`, ...bodies[family](hello), ...more });
const streamed = (family: Name, query = '', more: Json = {}): Promise<Received> =>
  whole(family, query, { stream: true, ...more });

const eventsOf = (text: string): readonly Event[] =>
  text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const lines = block.split('\n');
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `));
      return { name: field('event')?.slice(7), data: field('data')?.slice(6) ?? '', lines };
    });
const jsonOf = ({ text }: Received): Json => JSON.parse(text) as Json;
const errorOf = (received: Received): Json => jsonOf(received)['error'] as Json;
const typesOf = (text: string): readonly unknown[] =>
  eventsOf(text).map(({ data }) => (data === '[DONE]' ? data : (JSON.parse(data) as Json)['type']));
const dataOf = (text: string, type: string): readonly Json[] =>
  eventsOf(text)
    .filter(({ data }) => data.startsWith(`{"type":"${type}"`))
    .map(({ data }) => JSON.parse(data) as Json);
/** An event's name without its repetitions: `a, b, b, c` becomes `a, b, c`. */
const shapeOf = (text: string): readonly unknown[] =>
  typesOf(text).filter((type, index, all) => type !== all[index - 1]);

interface ResponseObject extends Json {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Json[];
  readonly usage: Json | null;
}
const responseOf = (received: Received): ResponseObject => jsonOf(received) as ResponseObject;
const endOf = (text: string): ResponseObject =>
  (JSON.parse(eventsOf(text).findLast(({ data }) => data.includes('"response":'))?.data ?? '') as Json)[
    'response'
  ] as ResponseObject;
const partsOf = (item: Json | undefined): readonly Json[] => (item?.['content'] ?? []) as readonly Json[];
const outputText = ({ output }: ResponseObject): unknown =>
  partsOf(output.find(({ type }) => type === 'message'))[0]?.['text'];
const deltasOf = (text: string): string =>
  dataOf(text, 'response.output_text.delta')
    .map(({ delta }) => delta)
    .join('');

interface Message extends Json {
  readonly content: readonly Json[];
  readonly stop_reason: string | null;
}
const messageOf = (received: Received): Message => jsonOf(received) as Message;
const blockDeltas = (text: string): readonly Json[] =>
  dataOf(text, 'content_block_delta').map(({ delta }) => delta as Json);
/** All deltas' members of one name, joined: their text, their thoughts or their arguments. */
const joinedDeltas = (text: string, member: string): string =>
  blockDeltas(text)
    .map((delta) => (delta[member] ?? '') as string)
    .join('');

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' }, note: { type: 'string' } },
  required: ['city'],
};
const filled = { city: 'simulated city' };
const toolsFor = {
  responses: [
    { type: 'web_search' },
    { type: 'namespace', name: 'others', tools: [] },
    { type: 'custom', name: 'patch' },
    { type: 'function', name: 'weather', parameters },
    { type: 'function', name: 'time' },
  ],
  messages: [
    { type: 'web_search_20250305', name: 'web_search' },
    { name: 'weather', input_schema: parameters },
    { type: 'custom', name: 'time', input_schema: { type: 'object' } },
  ],
  'chat/completions': [
    { type: 'function', function: { name: 'weather', parameters } },
    { type: 'function', function: { name: 'time' } },
  ],
};

describe('a response', () => {
  it('says that it is simulated, echoes the caller, and repeats the request', async () => {
    const received = await send('responses', {
      model: 'gpt-5-mini',
      instructions: 'Be brief.',
      input: hello,
      metadata: { a: 'b' },
      tools: toolsFor.responses,
      tool_choice: 'none',
    });
    expect(received.status).toBe(200);
    expect(received.headers['content-type']).toBe('application/json');
    expect(jsonOf(received)).toEqual({
      id: expect.stringMatching(/^resp_sim_/),
      object: 'response',
      created_at: expect.any(Number),
      status: 'completed',
      background: false,
      completed_at: expect.any(Number),
      error: null,
      incomplete_details: null,
      instructions: 'Be brief.',
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: { a: 'b' },
      model: 'gpt-5-mini',
      output: [
        {
          id: expect.stringMatching(/^msg_sim_/),
          type: 'message',
          status: 'completed',
          content: [{ type: 'output_text', annotations: [], logprobs: [], text: echoed }],
          role: 'assistant',
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: true,
      temperature: 1,
      text: { format: { type: 'text' } },
      tool_choice: 'none',
      tools: toolsFor.responses,
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      user: null,
      usage: {
        input_tokens: 14,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 24,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 38,
      },
    });
  });

  it('streams named and numbered events, and no [DONE]', async () => {
    const received = await streamed('responses');
    expect(received.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    const events = eventsOf(received.text);
    expect(shapeOf(received.text)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map(({ name }) => name)).toEqual(typesOf(received.text));
    expect(events.map(({ data }) => (JSON.parse(data) as Json)['sequence_number'])).toEqual([
      ...events.keys(),
    ]);
    expect(events.every(({ lines }) => lines.length === 2 && lines[0]?.startsWith('event: '))).toBe(true);
  });

  it('begins in progress, without output and usage, under the id it keeps', async () => {
    const { text } = await streamed('responses');
    const end = endOf(text);
    for (const type of ['response.created', 'response.in_progress']) {
      expect(dataOf(text, type)[0]?.['response']).toMatchObject({
        id: end.id,
        status: 'in_progress',
        completed_at: null,
        output: [],
        usage: null,
      });
    }
  });

  it('says in every event what it says in the end, item by item', async () => {
    const { text } = await streamed('responses');
    const end = endOf(text);
    expect(dataOf(text, 'response.output_item.done').map(({ item }) => item)).toEqual(end.output);
    expect(dataOf(text, 'response.output_text.done')[0]).toMatchObject({ text: echoed });
    expect(dataOf(text, 'response.content_part.done')[0]?.['part']).toEqual(partsOf(end.output[0])[0]);
    expect(dataOf(text, 'response.output_item.added')[0]?.['item']).toMatchObject({
      id: end.output[0]?.['id'],
      status: 'in_progress',
      content: [],
    });
  });

  it('streams always what the whole answer says, however it is cut', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(9), async (input, chunks) => {
        const query = chunks === 0 ? '' : `chunks=${chunks}`;
        const answer = responseOf(await whole('responses', query, { input }));
        const { text } = await streamed('responses', query, { input });
        const end = endOf(text);
        return (
          outputText(answer) === deltasOf(text) && outputText(end) === deltasOf(text) && end.usage !== null
        );
      }),
      { numRuns: 40 },
    ));

  it.each([
    ['a string', hello],
    ['an item without a type', [{ role: 'user', content: hello }]],
    [
      'text parts',
      [
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: hello }, { type: 'input_image' }],
        },
      ],
    ],
    [
      'the user before instructions',
      [
        { role: 'user', content: hello },
        { role: 'developer', content: 'Be brief.' },
      ],
    ],
    [
      'unknown items after the user',
      [{ role: 'user', content: hello }, { type: 'item_reference', id: 'msg_1' }, { type: 'novelty' }],
    ],
  ])('answers %s', async (_, input) => {
    expect(outputText(responseOf(await whole('responses', '', { input })))).toBe(echoed);
  });

  it.each([
    ['function_call_output', 'a string', '21 degrees'],
    ['function_call_output', 'parts', [{ type: 'input_text', text: '21 degrees' }]],
    ['custom_tool_call_output', 'a string', '21 degrees'],
  ])('quotes a %s that is %s', async (type, _, output) => {
    const input = [
      { role: 'user', content: hello },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{}' },
      { type, call_id: 'c', output },
    ];
    const more = { input, tools: toolsFor.responses, tool_choice: 'required' };
    expect(outputText(responseOf(await whole('responses', 'tools', more)))).toContain(
      'The tool returned: "21 degrees"',
    );
  });

  it.each([
    ['no model', { input: hello }, 'model'],
    ['no input', { model: 'm' }, 'input'],
    ['an empty input', { model: 'm', input: [] }, 'input'],
    ['input that is no text', { model: 'm', input: 7 }, 'input'],
    ['items that are no objects', { model: 'm', input: ['hello'] }, 'input'],
  ])('is refused for %s', async (_, body, param) => {
    const received = await send('responses', body);
    expect(received.status).toBe(400);
    expect(errorOf(received)).toMatchObject({ type: 'invalid_request_error', param });
  });
});

describe('items of a response', () => {
  it('a function call comes with its arguments in pieces, and whole in the end', async () => {
    const { text } = await streamed('responses', 'tools', { tools: toolsFor.responses });
    expect(shapeOf(text).slice(2)).toEqual([
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const [call] = endOf(text).output;
    expect(call).toEqual({
      id: expect.stringMatching(/^fc_sim_/),
      type: 'function_call',
      status: 'completed',
      arguments: JSON.stringify(filled),
      call_id: expect.stringMatching(/^call_sim_/),
      name: 'weather',
    });
    const pieces = dataOf(text, 'response.function_call_arguments.delta').map(({ delta }) => delta);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe(call?.['arguments']);
    expect(dataOf(text, 'response.function_call_arguments.done')[0]).toMatchObject({
      item_id: call?.['id'],
      arguments: call?.['arguments'],
    });
    expect(dataOf(text, 'response.output_item.added')[0]?.['item']).toEqual({
      ...call,
      status: 'in_progress',
      arguments: '',
    });
    expect(dataOf(text, 'response.output_item.done')[0]?.['item']).toEqual(call);
  });

  it('two function calls are two items, one after the other', async () => {
    const more = { tools: toolsFor.responses };
    const { text } = await streamed('responses', 'parallel-tools', more);
    const opened = dataOf(text, 'response.output_item.added').map(({ output_index: index }) => index);
    const closed = typesOf(text).indexOf('response.output_item.done');
    expect(opened).toEqual([0, 1]);
    expect(closed).toBeLessThan(typesOf(text).lastIndexOf('response.output_item.added'));
    const { output } = responseOf(await whole('responses', 'parallel-tools', more));
    expect(output.map(({ name }) => name)).toEqual(['weather', 'time']);
    expect(new Set(output.map(({ call_id: id }) => id)).size).toBe(2);
  });

  it.each([
    [{ type: 'function', name: 'time' }, 'time'],
    ['required', 'weather'],
  ])('the choice %j calls %s', async (choice, name) => {
    const more = { tools: toolsFor.responses, tool_choice: choice };
    expect(responseOf(await whole('responses', '', more)).output).toMatchObject([{ name }]);
  });

  it('hosted tools alone are never called', async () => {
    const more = { tools: toolsFor.responses.slice(0, 3) };
    const { output } = responseOf(await whole('responses', 'tools', more));
    expect(output.map(({ type }) => type)).toEqual(['message']);
  });

  it('reasoning is an item before the others, with a summary in deltas', async () => {
    const { text } = await streamed('responses', 'reasoning');
    expect(shapeOf(text).slice(2, 8)).toEqual([
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
    ]);
    const [item, message] = endOf(text).output;
    const summary = dataOf(text, 'response.reasoning_summary_text.delta')
      .map(({ delta }) => delta)
      .join('');
    expect(item).toEqual({
      id: expect.stringMatching(/^rs_sim_/),
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: summary }],
    });
    expect(message?.['type']).toBe('message');
    expect(dataOf(text, 'response.output_text.delta')[0]?.['output_index']).toBe(1);
    const details = endOf(text).usage?.['output_tokens_details'] as Json;
    expect(details['reasoning_tokens']).toBeGreaterThan(0);
  });

  it('reasoning is encrypted for callers who ask for that', async () => {
    const more = { include: ['reasoning.encrypted_content'] };
    const { output } = responseOf(await whole('responses', 'reasoning', more));
    expect(output[0]).toHaveProperty('encrypted_content', expect.any(String));
  });
});

describe('how a response ends', () => {
  it.each([
    [
      'incomplete',
      'response.incomplete',
      { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    ],
    ['cancelled', 'response.cancelled', { status: 'cancelled', error: null }],
    [
      'failed',
      'response.failed',
      { status: 'failed', error: { code: 'server_error', message: 'no' }, output: [] },
    ],
  ])('terminal=%s ends with %s', async (terminal, type, response) => {
    const { text, ended } = await streamed('responses', `terminal=${terminal}&message=no`);
    expect(ended).toBe('clean');
    expect(typesOf(text).at(-1)).toBe(type);
    expect(endOf(text)).toMatchObject(response);
    expect(responseOf(await whole('responses', `terminal=${terminal}&message=no`))).toMatchObject(response);
  });

  it('items of a response that is not complete are not complete either', async () => {
    const { text } = await streamed('responses', 'terminal=incomplete');
    expect(endOf(text).output[0]).toMatchObject({ status: 'incomplete' });
  });

  it('terminal=error-failed is an error event, and then the failure', async () => {
    const { text } = await streamed('responses', 'terminal=error-failed&message=no');
    expect(typesOf(text).slice(-2)).toEqual(['error', 'response.failed']);
    const [error, failed] = eventsOf(text).slice(-2);
    expect(error?.name).toBe('error');
    expect(JSON.parse(error?.data ?? '')).toEqual({
      type: 'error',
      sequence_number: eventsOf(text).length - 2,
      error: { message: 'no', type: 'server_error', param: null, code: null },
    });
    expect(JSON.parse(failed?.data ?? '')).toMatchObject({ sequence_number: eventsOf(text).length - 1 });
  });

  it('a failure has usage only when a directive asks for it', async () => {
    expect(endOf((await streamed('responses', 'terminal=failed')).text).usage).toBeNull();
    expect(endOf((await streamed('responses', 'terminal=failed&usage=last')).text).usage).not.toBeNull();
    expect(endOf((await streamed('responses', 'usage=none')).text).usage).toBeNull();
  });

  it('finish=T is a status that its event may contradict', async () => {
    const { text } = await streamed('responses', 'finish=failed');
    expect(typesOf(text).at(-1)).toBe('response.completed');
    expect(endOf(text).status).toBe('failed');
  });

  it('no-finish leaves out the terminal event, and nothing else', async () => {
    const { text, ended } = await streamed('responses', 'no-finish');
    expect(ended).toBe('clean');
    expect(typesOf(text).at(-1)).toBe('response.output_item.done');
    expect(responseOf(await whole('responses', 'no-finish')).status).toBe('in_progress');
  });

  it('done appends a [DONE] that the real ones do not send', async () => {
    const { text } = await streamed('responses', 'done');
    expect(eventsOf(text).at(-1)).toEqual({ name: undefined, data: '[DONE]', lines: ['data: [DONE]'] });
    expect(typesOf(text).at(-2)).toBe('response.completed');
  });
});

describe('a message', () => {
  it('says that it is simulated and echoes the caller, whatever version is asked for', async () => {
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

  it('streams always what the whole answer says, however it is cut', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(9), async (said, chunks) => {
        const query = chunks === 0 ? '' : `chunks=${chunks}`;
        const answer = messageOf(await whole('messages', query, bodies.messages(said)));
        const { text } = await streamed('messages', query, bodies.messages(said));
        return answer.content[0]?.['text'] === joinedDeltas(text, 'text');
      }),
      { numRuns: 40 },
    ));

  it('answers the last text of the user, past reminders and system messages', async () => {
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

  it('streams two calls as blocks one after the other, and no arguments as one empty piece', async () => {
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
  ])('thinks before it answers when %s asks for that', async (_, query, more) => {
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

  it('keeps thoughts to itself when the caller leaves them out, or a directive forbids them', async () => {
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
  ])('is refused for %s, in its own envelope', async (_, change, param) => {
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

  it('methods that it does not know, and bodies beyond the bound, are refused in its own envelope', async () => {
    const got = await fetch(`${upstream.url}/messages?beta=true`);
    expect(got.status).toBe(405);
    expect(await got.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
    const large = await send('messages', ' '.repeat(64 * 1024 * 1024 + 1));
    expect(large.status).toBe(413);
    expect(jsonOf(large)).toMatchObject({ type: 'error', error: { type: 'request_too_large' } });
  });

  it('no-finish and no-done leave out just that, and finish=T is the stop reason', async () => {
    const { text: unfinished } = await streamed('messages', 'no-finish');
    expect(shapeOf(unfinished).slice(-2)).toEqual(['content_block_stop', 'message_stop']);
    const { text: undone } = await streamed('messages', 'no-done');
    expect(shapeOf(undone).at(-1)).toBe('message_delta');
    expect(messageOf(await whole('messages', 'no-finish')).stop_reason).toBeNull();
    expect(messageOf(await whole('messages', 'finish=max_tokens')).stop_reason).toBe('max_tokens');
  });
});

describe('embeddings', () => {
  interface Embeddings extends Json {
    readonly data: readonly { readonly index: number; readonly embedding: readonly number[] | string }[];
    readonly usage?: Json;
  }
  const embed = async (more: Json, query = ''): Promise<Embeddings> =>
    jsonOf(await whole('embeddings', query, more)) as Embeddings;
  const floats = (base64: unknown): readonly number[] => {
    const bytes = Buffer.from(base64 as string, 'base64');
    return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
  };

  it('are a list with vectors of length one, and count the tokens of the input', async () => {
    const received = await send('embeddings', {
      model: 'text-embedding-3-small',
      input: ['Hello.', 'Goodbye.'],
    });
    expect(received.status).toBe(200);
    const answer = jsonOf(received) as Embeddings;
    expect(answer).toEqual({
      object: 'list',
      data: [0, 1].map((index) => ({ object: 'embedding', index, embedding: expect.any(Array) })),
      model: 'text-embedding-3-small',
      usage: { prompt_tokens: 4, total_tokens: 4 },
    });
    for (const { embedding } of answer.data) {
      expect(embedding).toHaveLength(8);
      expect(Math.hypot(...(embedding as readonly number[]))).toBeCloseTo(1, 6);
    }
  });

  it('are always the same for the same text, alone or in a list, and in either encoding', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
        fc.integer({ min: 1, max: 300 }),
        async (input, dimensions) => {
          const [alone] = (await embed({ input, dimensions })).data;
          const list = await embed({ input: ['other', input], dimensions, encoding_format: 'base64' });
          expect(alone?.embedding).toHaveLength(dimensions);
          expect(floats(list.data[1]?.embedding)).toEqual(alone?.embedding);
        },
      ),
      { numRuns: 40 },
    ));

  it('differ from text to text', async () => {
    const { data } = await embed({ input: ['a', 'b', 'A', 'a '] });
    expect(new Set(data.map(({ embedding }) => String(embedding))).size).toBe(4);
  });

  it.each([
    ['tokens', [1, 2, 3], 1, 3],
    ['lists of tokens', [[1, 2], [3]], 2, 3],
    ['a text', hello, 1, 9],
  ])('take %s', async (_, input, vectors, tokens) => {
    const { data, usage } = await embed({ input });
    expect(data.map(({ index }) => index)).toEqual([...Array(vectors).keys()]);
    expect(usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
  });

  it.each([
    ['no model', { model: undefined }, 'model'],
    ['no input', { input: undefined }, 'input'],
    ['a null input', { input: null }, 'input'],
    ['an empty text', { input: '' }, 'input'],
    ['an empty list', { input: [] }, 'input'],
    ['an empty text in a list', { input: ['a', ''] }, 'input'],
    ['empty tokens in a list', { input: [[1], []] }, 'input'],
    ['texts among tokens', { input: ['a', [1]] }, 'input'],
    ['tokens that are no whole numbers', { input: [1.5] }, 'input'],
    ['too many inputs', { input: Array(2049).fill('a') }, 'input'],
    ['too many numbers in all', { input: Array(2048).fill('a'), dimensions: 4096 }, 'input'],
    ['no dimensions', { dimensions: 0 }, 'dimensions'],
    ['too many dimensions', { dimensions: 4097 }, 'dimensions'],
    ['dimensions that are no whole number', { dimensions: 1.5 }, 'dimensions'],
    ['another encoding', { encoding_format: 'hex' }, 'encoding_format'],
  ])('are refused for %s', async (_, change, param) => {
    const received = await send('embeddings', { model: 'm', input: 'a', ...change });
    expect(received.status).toBe(400);
    expect(errorOf(received)).toMatchObject({ type: 'invalid_request_error', param });
  });

  it('a null parameter counts as none', async () => {
    const { data } = await embed({ dimensions: null, encoding_format: null });
    expect(data[0]?.embedding).toHaveLength(8);
  });

  it('usage comes as directives say, or not at all', async () => {
    expect(await embed({}, 'usage=none')).not.toHaveProperty('usage');
    expect((await embed({}, 'prompt-tokens=7')).usage).toEqual({ prompt_tokens: 7, total_tokens: 7 });
    expect((await whole('embeddings', 'prompt-tokens=1e300&total-tokens=-1')).text).toContain(
      '"usage":{"prompt_tokens":1e300,"total_tokens":-1}',
    );
  });

  it('status, garbage, break, eof and html work as everywhere', async () => {
    expect((await whole('embeddings', 'status=429')).status).toBe(429);
    const { text } = await whole('embeddings', 'garbage');
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect((await whole('embeddings', 'break=1')).ended).toBe('broken');
    expect((await whole('embeddings', 'break')).ended).toBe('no head');
    expect((await whole('embeddings', 'html')).headers['content-type']).toBe('text/html; charset=utf-8');
  });
});

describe.each(streaming)('directives in a stream of %s', (family) => {
  const content = family === 'responses' ? 'response.output_text.delta' : 'content_block_delta';
  const start = family === 'responses' ? 'response.created' : 'message_start';
  const finish = family === 'responses' ? 'response.completed' : 'message_delta';
  const count = (text: string, type: string): number => typesOf(text).filter((name) => name === type).length;

  it.each([0, 1, 7])('chunks=%i gives that many content deltas', async (chunks) => {
    expect(count((await streamed(family, `chunks=${chunks}`)).text, content)).toBe(chunks);
  });

  it('write-bytes, comments, crlf and gzip leave the events as they are', async () => {
    const sent = async (query: string): Promise<string> => {
      const model = { model: 'simulated?chunks=3&chunk-bytes=9' };
      const { bytes } = await send(
        family,
        { ...model, ...bodies[family](hello), stream: true },
        { 'x-simulate': query },
      );
      const text = (query === 'gzip' ? gunzipSync(bytes) : bytes).toString();
      return text.replaceAll(/_sim_\w+|_at":\d+/g, '');
    };
    const plain = await sent('');
    expect(plain).toContain('"All of th"');
    expect(await sent('write-bytes=7')).toBe(plain);
    expect(await sent('gzip')).toBe(plain);
    expect((await sent('crlf')).replaceAll('\r\n', '\n')).toBe(plain);
    expect(await sent('crlf')).not.toMatch(/[^\r]\n/);
    expect((await sent('comments')).replaceAll(': simulated comment\n\n', '')).toBe(plain);
    expect((await sent('comments')).match(/^: /gm)).toHaveLength(eventsOf(plain).length);
  });

  it('no-event-lines leaves out the names', async () => {
    const events = eventsOf((await streamed(family, 'no-event-lines')).text);
    expect(events.every(({ lines }) => lines.length === 1 && lines[0]?.startsWith('data: '))).toBe(true);
  });

  it('data-first puts each payload before its own name', async () => {
    const { text } = await streamed(family, 'data-first');
    const events = eventsOf(text);
    expect(events.every(({ lines }) => lines[0]?.startsWith('data: ') && lines.length === 2)).toBe(true);
    expect(events.map(({ name }) => name)).toEqual(typesOf(text));
  });

  it.each([0, 1, 3, 40])('break=%i closes the socket after that many deltas', async (at) => {
    const { text, ended } = await streamed(family, `break=${at}`);
    expect(ended).toBe(at === 0 ? 'no head' : 'broken');
    expect(count(text, content)).toBe(at);
    expect(count(text, finish)).toBe(0);
  });

  it.each(['break', 'eof'])('%s=role, finish and end are behind those frames', async (fault) => {
    expect(typesOf((await streamed(family, `${fault}=role`)).text)).toEqual([start]);
    expect(typesOf((await streamed(family, `${fault}=finish`)).text).at(-1)).toBe(finish);
    const { text, ended } = await streamed(family, `${fault}=end`);
    expect(typesOf(text).at(-1)).toBe(finish);
    expect(ended).toBe(fault === 'eof' ? 'clean' : 'broken');
  });

  it.each(['0', '2', 'finish'])('cut=%s closes the socket in the middle of that frame', async (frame) => {
    const { text, ended } = await streamed(family, `cut=${frame}`);
    const full = eventsOf((await streamed(family)).text);
    expect(ended).toBe('broken');
    expect(text.endsWith('\n\n')).toBe(false);
    const at = eventsOf(text).length - 1;
    expect(full[at]?.name).toBe({ 0: start, 2: content, finish }[frame]);
  });

  it.each([0, 2])('error-at=%i is an error event after that many deltas, and the end', async (at) => {
    const { text, ended } = await streamed(family, `error-at=${at}&message=no`);
    expect(ended).toBe('clean');
    expect(count(text, content)).toBe(at);
    const last = eventsOf(text).at(-1);
    expect(last?.name).toBe('error');
    expect(JSON.parse(last?.data ?? '')).toMatchObject({ type: 'error', error: { message: 'no' } });
    if (family === 'responses')
      expect(JSON.parse(last?.data ?? '')).toMatchObject({ sequence_number: eventsOf(text).length - 1 });
  });

  it('garbage=2 and foreign=2 are frames after two deltas that do not belong there', async () => {
    const full = typesOf((await streamed(family)).text);
    const place = full.indexOf(content) + 2;
    const bad = eventsOf((await streamed(family, 'garbage=2')).text);
    expect(bad[place]?.name).toBe(content);
    expect(() => JSON.parse(bad[place]?.data ?? '') as unknown).toThrow(SyntaxError);
    const { text } = await streamed(family, 'foreign=2');
    expect(JSON.parse(eventsOf(text)[place]?.data ?? '')).toMatchObject({ object: 'chat.completion.chunk' });
    expect(typesOf(text).toSpliced(place, 1)).toEqual(full);
  });

  it('hang holds the stream open behind everything, until the client leaves', async () => {
    const before = upstream.aborted();
    const received: Buffer[] = [];
    const body = JSON.stringify({ model: 'simulated?hang', ...bodies[family](hello), stream: true });
    const socket = connect(Number(new URL(upstream.url).port), '127.0.0.1');
    socket.on('data', (piece) => received.push(piece));
    socket.write(`POST /v1/${family} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(Buffer.concat(received).toString()).toContain(`event: ${finish}`);
    expect(Buffer.concat(received).toString()).not.toContain('message_stop');
    expect(upstream.inFlight()).toBe(1);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await gone;
    for (let tries = 0; tries < 200 && upstream.inFlight() > 0; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(upstream.aborted()).toBe(before + 1);
  });

  it('faults apply to tool calls as to text', async () => {
    const { text, ended } = await streamed(family, 'tools&break=2', { tools: toolsFor[family] });
    const type = family === 'responses' ? 'response.function_call_arguments.delta' : content;
    expect(ended).toBe('broken');
    expect(count(text, type)).toBe(2);
  });

  it.each(['json-error', 'html', 'empty', 'content-type=text/plain'])(
    '%s works as everywhere',
    async (query) => {
      const received = await streamed(family, query);
      expect(received.status).toBe(200);
      const types = {
        'json-error': 'application/json',
        html: 'text/html; charset=utf-8',
        empty: 'text/event-stream; charset=utf-8',
        'content-type=text/plain': 'text/plain',
      };
      expect(received.headers['content-type']).toBe(types[query as keyof typeof types]);
      if (query === 'json-error') expect(errorOf(received)['message']).toContain('inside a 200');
      if (query === 'empty') expect(received.text).toBe('');
    },
  );

  it('latency-ms and chunk-delay-ms take that long', async () => {
    const started = Date.now();
    await streamed(family, 'latency-ms=60&chunks=3&chunk-delay-ms=30');
    expect(Date.now() - started).toBeGreaterThanOrEqual(145);
  });
});

describe.each(['responses', 'messages', 'embeddings'] as const)(
  'directives in a whole answer of %s',
  (family) => {
    it('digits and id come back to the letter', async () => {
      const { text } = await whole(family, 'digits&id=mine');
      expect(text).toContain('"digits":[9007199254740993,0.10]');
      expect(text.includes('"id":"mine"')).toBe(family !== 'embeddings');
    });

    it('foreign and garbage stand in the place of the answer, eof and cut halve it', async () => {
      expect(jsonOf(await whole(family, 'foreign'))).not.toHaveProperty('usage');
      for (const query of ['garbage', 'eof', 'cut']) {
        const { text, ended } = await whole(family, query);
        expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
        expect(ended).toBe(query === 'cut' ? 'broken' : 'clean');
      }
    });

    it('an unknown directive is a 400 that names it, before anything else is checked', async () => {
      for (const [body, headers] of [
        [{ model: 'sim?statsu=500' }, {}],
        [{ model: 'sim' }, { 'x-simulate': 'statsu=500' }],
        [{ simulate: { statsu: 500 } }, {}],
      ] as const) {
        const received = await send(family, body, headers);
        expect(received.status).toBe(400);
        expect(errorOf(received)['message']).toBe("Unknown simulation directive 'statsu'.");
      }
    });

    it.each(['', '{', '[]', 'null'])('the body %p: 400', async (body) => {
      expect((await send(family, body)).status).toBe(400);
    });
  },
);

describe('counts that directives dictate', () => {
  it('a response names them in its own words', async () => {
    const query = 'prompt-tokens=30&completion-tokens=4&reasoning-tokens=2&cached-tokens=10&total-tokens=99';
    const usage = {
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 10 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 99,
    };
    expect(responseOf(await whole('responses', query)).usage).toEqual(usage);
    expect(endOf((await streamed('responses', query)).text).usage).toEqual(usage);
  });

  it('a message counts cached tokens apart, and has no total', async () => {
    const query = 'prompt-tokens=30&completion-tokens=4&reasoning-tokens=2&cached-tokens=10&total-tokens=99';
    const usage = {
      input_tokens: 30,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 10,
      output_tokens: 4,
      output_tokens_details: { thinking_tokens: 2 },
    };
    expect(messageOf(await whole('messages', query))['usage']).toEqual(usage);
    expect(dataOf((await streamed('messages', query)).text, 'message_delta')[0]?.['usage']).toEqual(usage);
  });

  it('what was written to a cache is told only when asked for, and in a message always', async () => {
    const query = 'cached-tokens=10&cache-write-tokens=20';
    expect(jsonOf(await whole('chat/completions', query))['usage']).toMatchObject({
      prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 20 },
    });
    expect(responseOf(await whole('responses', query)).usage).toMatchObject({
      input_tokens_details: { cached_tokens: 10, cache_write_tokens: 20 },
    });
    expect(messageOf(await whole('messages', query))['usage']).toMatchObject({
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 10,
    });
  });

  it('a chat completion has cached tokens only when asked for', async () => {
    const usageOf = async (query: string): Promise<unknown> =>
      jsonOf(await whole('chat/completions', query))['usage'];
    expect(await usageOf('cached-tokens=10')).toMatchObject({ prompt_tokens_details: { cached_tokens: 10 } });
    expect(await usageOf('')).not.toHaveProperty('prompt_tokens_details');
  });

  it.each(['-1', '1.5', '1e300', '"12"', 'null'])('prompt-tokens=%s goes out to the letter', async (raw) => {
    const query = `prompt-tokens=${encodeURIComponent(raw)}`;
    for (const family of streaming) {
      expect((await whole(family, query)).text).toContain(`"input_tokens":${raw},`);
      expect((await streamed(family, query)).text).toContain(`"input_tokens":${raw},`);
    }
  });

  it('an empty count is left out, and usage=none leaves out all of a message', async () => {
    expect(responseOf(await whole('responses', 'completion-tokens=&total-tokens=')).usage).not.toHaveProperty(
      'output_tokens',
    );
    expect((await streamed('messages', 'usage=none')).text).not.toContain('"usage"');
  });
});

describe('an answer that must follow a schema', () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' }, degrees: { type: 'number' } },
    required: ['city', 'degrees'],
    additionalProperties: false,
  };
  const named = { name: 'place', strict: true, schema };
  const message = { messages: [{ role: 'user', content: 'Hello' }] };

  it.each([
    [
      'chat/completions',
      { ...message, response_format: { type: 'json_schema', json_schema: named } },
      (received: Received) =>
        (jsonOf(received)['choices'] as { message: { content: string } }[])[0]?.message.content,
    ],
    [
      'responses',
      { input: 'Hello', text: { format: { type: 'json_schema', ...named } } },
      (received: Received) =>
        (responseOf(received).output as { content: { text: string }[] }[])[0]?.content[0]?.text,
    ],
    [
      'messages',
      { ...message, max_tokens: 9, output_config: { format: { type: 'json_schema', schema } } },
      (received: Received) => (messageOf(received).content as { text: string }[])[0]?.text,
    ],
  ] as const)('%s: an object with every member', async (family, body, textOf) => {
    const received = await send(family, { model: 'simulated-fast', ...body });
    expect(JSON.parse(textOf(received) ?? '')).toEqual({ city: 'simulated city', degrees: 1 });
  });
});

describe('tool calls of every family', () => {
  type ToolFamily = keyof typeof toolsFor;
  /** A tool named `name` with the given schema, as the family spells it. */
  const spelled = (family: ToolFamily, name: string, schema: Json): Json => {
    if (family === 'messages') return { name, input_schema: schema };
    return family === 'responses'
      ? { type: 'function', name, parameters: schema }
      : { type: 'function', function: { name, parameters: schema } };
  };
  const callsIn = (family: ToolFamily, received: Received): readonly { name: unknown; input: unknown }[] => {
    if (family === 'messages') return messageOf(received).content.map(({ name, input }) => ({ name, input }));
    const calls =
      family === 'responses'
        ? responseOf(received).output
        : ((
            jsonOf(received)['choices'] as readonly {
              message: { tool_calls: readonly { function: Json }[] };
            }[]
          )[0]?.message.tool_calls.map((call) => call.function) ?? []);
    return calls.map((call) => ({
      name: call['name'],
      input: JSON.parse(String(call['arguments'])) as unknown,
    }));
  };

  it.each(Object.keys(toolsFor) as readonly ToolFamily[])(
    '%s: tools that start agents are called last',
    async (family) => {
      const tools = ['Agent', 'run_task', 'Bash', 'Read'].map((name) =>
        spelled(family, name, { type: 'object' }),
      );
      const names = async (query: string, offered: readonly Json[]) =>
        callsIn(family, await whole(family, query, { tools: offered })).map(({ name }) => name);
      expect(await names('tools', tools)).toEqual(['Bash']);
      expect(await names('parallel-tools', tools)).toEqual(['Bash', 'Read']);
      expect(await names('tools', tools.slice(0, 1))).toEqual(['Agent']);
    },
  );

  it.each(Object.keys(toolsFor) as readonly ToolFamily[])(
    '%s: tool-name and tool-arguments say what is called',
    async (family) => {
      const input = { command: 'echo "hi"' };
      const query = `tools&tool-name=time&tool-arguments=${encodeURIComponent(JSON.stringify(input))}`;
      const received = await whole(family, query, { tools: toolsFor[family] });
      expect(callsIn(family, received)).toEqual([{ name: 'time', input }]);
    },
  );

  it('arguments keep to the limits of their schema', async () => {
    const schema = {
      type: 'object',
      properties: {
        few: { type: 'array', items: { type: 'string' } },
        some: {
          type: 'array',
          minItems: 2,
          items: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
        },
        either: { anyOf: [{ type: 'null' }, { type: 'integer', minimum: 5 }] },
        one: { oneOf: [{ const: 'x' }, { const: 'y' }] },
        below: { type: 'integer', maximum: -3 },
        above: { type: 'number', exclusiveMinimum: 9 },
        between: { type: 'integer', minimum: 0, exclusiveMaximum: 1 },
        short: { type: 'string', maxLength: 4 },
        url: { type: 'string', format: 'uri' },
        when: { type: 'string', format: 'date-time' },
        maybe: { type: ['string', 'null'] },
        untyped: { properties: { b: { type: 'boolean' } }, required: ['b'] },
      },
    };
    const required = Object.keys(schema.properties);
    const tools = [spelled('messages', 't', { ...schema, required })];
    const [call] = callsIn('messages', await whole('messages', 'tools', { tools }));
    expect(call?.input).toEqual({
      few: [],
      some: [{ a: 1 }, { a: 1 }],
      either: 5,
      one: 'x',
      below: -3,
      above: 10,
      between: 0,
      short: 'simu',
      url: 'https://example.com/simulated',
      when: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      maybe: 'simulated maybe',
      untyped: { b: true },
    });
  });

  it('arguments are never deeper or longer than their bounds, whatever the schema', async () => {
    let schema: Json = { type: 'string' };
    for (let depth = 0; depth < 12; depth += 1) schema = { type: 'array', minItems: 4, items: schema };
    const tools = [spelled('messages', 't', { type: 'object', properties: { a: schema }, required: ['a'] })];
    const started = Date.now();
    const received = await whole('messages', 'tools', { tools });
    expect(received.status).toBe(200);
    expect(Date.now() - started).toBeLessThan(5000);
  });
});

describe('bounds', () => {
  it('a text that would be repeated whole is refused, streamed or not', async () => {
    const query = 'chunks=1000&chunk-bytes=1000000';
    expect((await streamed('responses', query)).status).toBe(400);
    expect((await whole('responses', query)).status).toBe(400);
    expect((await whole('messages', query)).status).toBe(400);
  });

  it('a quoted text is short and never half a character', async () => {
    const said = `${'long '.repeat(79)}tale🙂${' more'.repeat(1000)}`;
    const text = String(outputText(responseOf(await whole('responses', '', { input: said }))));
    expect(text.length).toBeLessThan(500);
    expect(text.isWellFormed()).toBe(true);
  });
});
