import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  dataOf,
  deltasOf,
  echoed,
  endOf,
  errorOf,
  eventsOf,
  filled,
  hello,
  type Json,
  jsonOf,
  outputText,
  partsOf,
  responseOf,
  shapeOf,
  simulatedFamiliesScene,
  toolsFor,
  typesOf,
} from './simulated-families-scene.ts';

const { send, streamed, whole } = simulatedFamiliesScene();

describe('a response', () => {
  it("states that it is simulated, echoes the caller's text, and repeats the request", async () => {
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
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
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

  it('begins in progress, without output and usage, with the id that it keeps', async () => {
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

  it('has in its events the same items as at its end', async () => {
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

  it('streams the same text as the whole answer, for any number of chunks', () =>
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
  ])('is rejected for %s', async (_, body, param) => {
    const received = await send('responses', body);
    expect(received.status).toBe(400);
    expect(errorOf(received)).toMatchObject({ type: 'invalid_request_error', param });
  });
});

describe('items of a response', () => {
  it('a function call is streamed with its arguments in pieces, and complete at the end', async () => {
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

  it('two function calls are two consecutive items', async () => {
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

  it('a tool of a namespace is called with its namespace', async () => {
    const space = { type: 'namespace', name: 'mcp__files', tools: [{ type: 'function', name: 'read' }] };
    const { output } = responseOf(await whole('responses', 'tools', { tools: [space] }));
    expect(output).toMatchObject([{ type: 'function_call', name: 'read', namespace: 'mcp__files' }]);
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

  it('reasoning is encrypted for callers that request it', async () => {
    const more = { include: ['reasoning.encrypted_content'] };
    const { output } = responseOf(await whole('responses', 'reasoning', more));
    expect(output[0]).toHaveProperty('encrypted_content', expect.any(String));
  });
});

describe('the end of a response', () => {
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

  it('an incomplete response has incomplete items', async () => {
    const { text } = await streamed('responses', 'terminal=incomplete');
    expect(endOf(text).output[0]).toMatchObject({ status: 'incomplete' });
  });

  it('terminal=error-failed sends an error event, and then `response.failed`', async () => {
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

  it('a failed response has usage only if a directive requests it', async () => {
    expect(endOf((await streamed('responses', 'terminal=failed')).text).usage).toBeNull();
    expect(endOf((await streamed('responses', 'terminal=failed&usage=last')).text).usage).not.toBeNull();
    expect(endOf((await streamed('responses', 'usage=none')).text).usage).toBeNull();
  });

  it('finish=T sets a status, which its event may contradict', async () => {
    const { text } = await streamed('responses', 'finish=failed');
    expect(typesOf(text).at(-1)).toBe('response.completed');
    expect(endOf(text).status).toBe('failed');
  });

  it('no-finish omits the terminal event, and nothing else', async () => {
    const { text, ended } = await streamed('responses', 'no-finish');
    expect(ended).toBe('clean');
    expect(typesOf(text).at(-1)).toBe('response.output_item.done');
    expect(responseOf(await whole('responses', 'no-finish')).status).toBe('in_progress');
  });

  it('done appends a `[DONE]` that real upstreams do not send', async () => {
    const { text } = await streamed('responses', 'done');
    expect(eventsOf(text).at(-1)).toEqual({ name: undefined, data: '[DONE]', lines: ['data: [DONE]'] });
    expect(typesOf(text).at(-2)).toBe('response.completed');
  });
});
