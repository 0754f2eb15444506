import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { eventually } from './simulated-chat-scene.ts';
import {
  bodies,
  dataOf,
  endOf,
  errorOf,
  eventsOf,
  hello,
  type Json,
  jsonOf,
  messageOf,
  outputText,
  type Received,
  responseOf,
  simulatedFamiliesScene,
  streaming,
  toolsFor,
  typesOf,
} from './simulated-families-scene.ts';

const { send, streamed, upstream, whole } = simulatedFamiliesScene();

describe.each(streaming)('directives in a stream of %s', (family) => {
  const content = family === 'responses' ? 'response.output_text.delta' : 'content_block_delta';
  const start = family === 'responses' ? 'response.created' : 'message_start';
  const finish = family === 'responses' ? 'response.completed' : 'message_delta';
  const count = (text: string, type: string): number => typesOf(text).filter((name) => name === type).length;

  it.each([0, 1, 7])('chunks=%i produces that many content deltas', async (chunks) => {
    expect(count((await streamed(family, `chunks=${chunks}`)).text, content)).toBe(chunks);
  });

  it('write-bytes, comments, crlf and gzip do not change the events', async () => {
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

  it('no-event-lines omits the event names', async () => {
    const events = eventsOf((await streamed(family, 'no-event-lines')).text);
    expect(events.every(({ lines }) => lines.length === 1 && lines[0]?.startsWith('data: '))).toBe(true);
  });

  it('data-first puts each payload before its event name', async () => {
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

  it.each(['break', 'eof'])('%s=role, finish and end stop the stream after those frames', async (fault) => {
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

  it.each([0, 2])('error-at=%i sends an error event after that many deltas, and ends', async (at) => {
    const { text, ended } = await streamed(family, `error-at=${at}&message=no`);
    expect(ended).toBe('clean');
    expect(count(text, content)).toBe(at);
    const last = eventsOf(text).at(-1);
    expect(last?.name).toBe('error');
    expect(JSON.parse(last?.data ?? '')).toMatchObject({ type: 'error', error: { message: 'no' } });
    if (family === 'responses')
      expect(JSON.parse(last?.data ?? '')).toMatchObject({ sequence_number: eventsOf(text).length - 1 });
  });

  it('garbage=2 and foreign=2 insert a wrong frame after two deltas', async () => {
    const full = typesOf((await streamed(family)).text);
    const place = full.indexOf(content) + 2;
    const bad = eventsOf((await streamed(family, 'garbage=2')).text);
    expect(bad[place]?.name).toBe(content);
    expect(() => JSON.parse(bad[place]?.data ?? '') as unknown).toThrow(SyntaxError);
    const { text } = await streamed(family, 'foreign=2');
    expect(JSON.parse(eventsOf(text)[place]?.data ?? '')).toMatchObject({ object: 'chat.completion.chunk' });
    expect(typesOf(text).toSpliced(place, 1)).toEqual(full);
  });

  it('hang keeps the stream open at its end, until the client disconnects', async () => {
    const before = upstream().aborted();
    const received: Buffer[] = [];
    const body = JSON.stringify({ model: 'simulated?hang', ...bodies[family](hello), stream: true });
    const socket = connect(Number(new URL(upstream().url).port), '127.0.0.1');
    socket.on('data', (piece) => received.push(piece));
    socket.write(`POST /v1/${family} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await eventually(() => Buffer.concat(received).toString().includes(`event: ${finish}`));
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(Buffer.concat(received).toString()).not.toContain('message_stop');
    expect(upstream().inFlight()).toBe(1);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.destroy();
    await gone;
    await eventually(() => upstream().inFlight() === 0);
    expect(upstream().aborted()).toBe(before + 1);
  });

  it('faults apply to tool calls as to text', async () => {
    const { text, ended } = await streamed(family, 'tools&break=2', { tools: toolsFor[family] });
    const type = family === 'responses' ? 'response.function_call_arguments.delta' : content;
    expect(ended).toBe('broken');
    expect(count(text, type)).toBe(2);
  });

  it.each(['json-error', 'html', 'empty', 'content-type=text/plain'])('%s is supported', async (query) => {
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
  });

  it('latency-ms and chunk-delay-ms delay the stream', async () => {
    const started = Date.now();
    await streamed(family, 'latency-ms=60&chunks=3&chunk-delay-ms=30');
    expect(Date.now() - started).toBeGreaterThanOrEqual(145);
  });
});

describe.each(['responses', 'messages', 'embeddings'] as const)(
  'directives in a whole answer of %s',
  (family) => {
    it('digits and id are returned exactly', async () => {
      const { text } = await whole(family, 'digits&id=mine');
      expect(text).toContain('"digits":[9007199254740993,0.10]');
      expect(text.includes('"id":"mine"')).toBe(family !== 'embeddings');
    });

    it('foreign and garbage replace the answer; eof and cut send half of it', async () => {
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

    it.each(['', '{', '[]', 'null'])('the body %p is a 400', async (body) => {
      expect((await send(family, body)).status).toBe(400);
    });
  },
);

describe('token counts that directives set', () => {
  it('are named as the responses API names them', async () => {
    const query = 'prompt-tokens=30&completion-tokens=4&reasoning-tokens=2&cached-tokens=10&total-tokens=99';
    const usage = {
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 10, cache_write_tokens: 0 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 99,
    };
    expect(responseOf(await whole('responses', query)).usage).toEqual(usage);
    expect(endOf((await streamed('responses', query)).text).usage).toEqual(usage);
  });

  it('have cached tokens apart and no total in a message', async () => {
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

  it('include cache writes in all families if a directive sets them', async () => {
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

  it('include cached tokens in a chat completion only if a directive sets them', async () => {
    const usageOf = async (query: string): Promise<unknown> =>
      jsonOf(await whole('chat/completions', query))['usage'];
    expect(await usageOf('cached-tokens=10')).toMatchObject({ prompt_tokens_details: { cached_tokens: 10 } });
    expect(await usageOf('')).not.toHaveProperty('prompt_tokens_details');
  });

  it.each(['-1', '1.5', '1e300', '"12"', 'null'])('prompt-tokens=%s is sent exactly', async (raw) => {
    const query = `prompt-tokens=${encodeURIComponent(raw)}`;
    for (const family of streaming) {
      expect((await whole(family, query)).text).toContain(`"input_tokens":${raw},`);
      expect((await streamed(family, query)).text).toContain(`"input_tokens":${raw},`);
    }
  });

  it('omit an empty count, and usage=none omits all usage of a message', async () => {
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
  ] as const)('in %s is an object with every member', async (family, body, textOf) => {
    const received = await send(family, { model: 'simulated-fast', ...body });
    expect(JSON.parse(textOf(received) ?? '')).toEqual({ city: 'simulated city', degrees: 1 });
  });

  it('in chat/completions is an object, too, if any will do', async () => {
    const body = { ...message, response_format: { type: 'json_object' } };
    const [choice] = jsonOf(await send('chat/completions', { model: 'simulated-fast', ...body }))[
      'choices'
    ] as { message: { content: string } }[];
    expect(JSON.parse(choice?.message.content ?? '')).toEqual({ answer: 'simulated answer' });
  });
});

describe('tool calls in every family', () => {
  type ToolFamily = keyof typeof toolsFor;
  /** A tool named `name` with the given schema, in the format of the family. */
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
    '%s: tool-name and tool-arguments select the call',
    async (family) => {
      const input = { command: 'echo "hi"' };
      const query = `tools&tool-name=time&tool-arguments=${encodeURIComponent(JSON.stringify(input))}`;
      const received = await whole(family, query, { tools: toolsFor[family] });
      expect(callsIn(family, received)).toEqual([{ name: 'time', input }]);
    },
  );

  it('have arguments within the limits of their schema', async () => {
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

  it('have arguments of limited depth and length, whatever the schema', async () => {
    let schema: Json = { type: 'string' };
    for (let depth = 0; depth < 12; depth += 1) schema = { type: 'array', minItems: 4, items: schema };
    const tools = [spelled('messages', 't', { type: 'object', properties: { a: schema }, required: ['a'] })];
    const started = Date.now();
    const received = await whole('messages', 'tools', { tools });
    expect(received.status).toBe(200);
    expect(Date.now() - started).toBeLessThan(5000);
  });
});

describe('limits', () => {
  it('reject a text that would be too long, streamed or not', async () => {
    const query = 'chunks=1000&chunk-bytes=1000000';
    expect((await streamed('responses', query)).status).toBe(400);
    expect((await whole('responses', query)).status).toBe(400);
    expect((await whole('messages', query)).status).toBe(400);
  });

  it('keep a quoted text short, without half a character', async () => {
    const said = `${'long '.repeat(79)}tale🙂${' more'.repeat(1000)}`;
    const text = String(outputText(responseOf(await whole('responses', '', { input: said }))));
    expect(text.length).toBeLessThan(500);
    expect(text.isWellFormed()).toBe(true);
  });
});
