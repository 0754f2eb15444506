import { describe, expect, it } from '@jest/globals';
import {
  expectCompleteStream,
  json,
  type Loose,
  payloadsOf,
  priced,
  scene,
  streamed,
  usageMissing,
  whole,
} from '../e2e/scene.ts';
import { chatToolName } from '../../domain/messages/tool-names.ts';
import { chat, messages, responses } from '../e2e/talk.ts';

const { ask } = scene();

const callDelta = (call: object): string =>
  `data: ${JSON.stringify({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: null }],
  })}\n\n`;

/** A streamed chat answer with one call; `finish` is the upstream's finish reason. */
const calling = (id: string, name: string, finish = 'tool_calls'): string =>
  chat.upstream.begin +
  callDelta({ id, type: 'function', function: { name, arguments: '' } }) +
  callDelta({ function: { arguments: '{"city":' } }) +
  callDelta({ function: { arguments: '"Ulm"}' } }) +
  chat.upstream.finish.replace('"stop"', JSON.stringify(finish)) +
  chat.upstream.usage +
  chat.upstream.done;

const called = (id: string, name: string, finish = 'tool_calls') => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name, arguments: '{"city":"Ulm"}' } }],
      },
      finish_reason: finish,
    },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
});

const longId = `call|${'x'.repeat(90)}:functions.get/weather 0 ü`;
const longName = `mcp__${'server_'.repeat(12)}__tool`;

const chatTool = (name: string, parameters: unknown) => ({
  type: 'function',
  function: { name, parameters },
});
const messagesTool = (name: string, input_schema: unknown) => ({ name, input_schema });
const schema = { type: 'object', properties: null };

describe('faults of other gateways that this gateway does not have', () => {
  describe('hazard 50: tool ids over 64 characters, or with unusual characters, are rejected or truncated', () => {
    it('chat_completions: ids are unchanged in both directions', async () => {
      const answer = await ask(chat, streamed(calling(longId, 'weather')));
      expect(answer.text).toContain(JSON.stringify(longId));
      expectCompleteStream(chat, answer, priced);
      const turn = [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: longId, type: 'function', function: { name: 'weather', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: longId, content: 'Rain.' },
      ];
      const next = await ask(chat, streamed(chat.upstream.begin + chat.upstream.done), {
        body: { messages: turn },
      });
      expect(next.upstream?.body['messages']).toEqual(turn);
    });

    it.each([true, false])(
      'messages: ids are unchanged in the answer, and upstream on both sides of the pair (stream: %p)',
      async (stream) => {
        const replay = stream ? streamed(calling(longId, 'weather')) : whole(called(longId, 'weather'));
        const answer = await ask(messages, replay, { stream });
        const block = stream
          ? payloadsOf(answer).find(({ type }) => type === 'content_block_start')?.['content_block']
          : json(answer.text).content[0];
        expect(block).toMatchObject({ type: 'tool_use', id: longId, name: 'weather' });
        const next = await ask(messages, streamed(chat.upstream.begin + chat.upstream.done), {
          body: {
            messages: [
              { role: 'user', content: 'Hi' },
              { role: 'assistant', content: [{ type: 'tool_use', id: longId, name: 'weather', input: {} }] },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: longId, content: 'Rain.' }] },
            ],
          },
        });
        const [, assistant, tool]: Loose = next.upstream?.body['messages'] ?? [];
        expect(assistant.tool_calls[0].id).toBe(longId);
        expect(tool).toEqual({ role: 'tool', tool_call_id: longId, content: 'Rain.' });
      },
    );

    it('responses: foreign ids become ids of fixed length, equal within a pair, different if only their ends differ', async () => {
      const twin = `${longId}!`;
      const input = [longId, twin].flatMap((id) => [
        { type: 'function_call', id, call_id: id, name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: id, output: 'Rain.' },
      ]);
      const answer = await ask(responses, whole(responses.upstream.whole), {
        stream: false,
        body: { input },
      });
      const sent = answer.upstream?.body['input'] as Loose[];
      for (const [at, id] of [
        [0, sent[0].call_id],
        [2, sent[2].call_id],
      ]) {
        expect(id).toMatch(/^call_[A-Za-z0-9_-]{43}$/);
        expect(sent[at + 1].call_id).toBe(id);
        expect(sent[at].id).toMatch(/^fc_[A-Za-z0-9_-]{43}$/);
      }
      expect(sent[0].call_id).not.toBe(sent[2].call_id);
    });
  });

  describe('hazard 51: tool names over 64 characters, and a tool schema with `properties: null`, are rejected', () => {
    it('chat_completions: the tools are sent unchanged, and the answer has the long name', async () => {
      const tools = [chatTool(longName, schema)];
      const answer = await ask(chat, streamed(calling('call_1', longName)), { body: { tools } });
      expect(answer.upstream?.body['tools']).toEqual(tools);
      expect(answer.text).toContain(longName);
      expectCompleteStream(chat, answer, priced);
    });

    it('messages: chat APIs get a shortened name and an empty object, and the answer has the long name', async () => {
      const tools = [messagesTool(longName, schema)];
      const short = chatToolName(longName);
      const answer = await ask(messages, streamed(calling('call_1', short)), { body: { tools } });
      expect(answer.upstream?.body['tools']).toEqual([chatTool(short, { ...schema, properties: {} })]);
      expect(answer.text).toContain(longName);
      expectCompleteStream(messages, answer, priced);
    });

    it('responses: the tools are sent unchanged', async () => {
      const tools = [{ type: 'function', name: longName, parameters: schema }];
      const answer = await ask(responses, whole(responses.upstream.whole), {
        stream: false,
        body: { tools },
      });
      expect(answer.status).toBe(200);
      expect(answer.upstream?.body['tools']).toEqual(tools);
    });
  });

  describe('hazard 52: the upstream reports `stop` although there are tool calls, and clients miss the tool turn', () => {
    it('messages, streamed: calls in an earlier chunk make the stop reason `tool_use`', async () => {
      const answer = await ask(messages, streamed(calling('call_1', 'weather', 'stop')));
      expectCompleteStream(messages, answer, priced);
      expect(payloadsOf(answer).at(-2)).toMatchObject({ delta: { stop_reason: 'tool_use' } });
    });

    it('messages, non-streamed: calls make the stop reason `tool_use`', async () => {
      const answer = await ask(messages, whole(called('call_1', 'weather', 'stop')), { stream: false });
      expect(json(answer.text)).toMatchObject({
        stop_reason: 'tool_use',
        content: [{ type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Ulm' } }],
      });
    });

    it('chat_completions: the tool call is counted on the log row', async () => {
      const answer = await ask(chat, streamed(calling('call_1', 'weather', 'stop')));
      expectCompleteStream(chat, answer, priced);
      expect(answer.after.logs[0]).toMatchObject({ invoked_tool_count: 1 });
    });
  });

  describe('hazard 53: `tool_calls: []` beside content turns the messages answer into tool input instead of text', () => {
    it('streamed: the answer is text, and ends with `end_turn`', async () => {
      const piece = chat.upstream.piece.replace('"content":"piece"', '"content":"piece","tool_calls":[]');
      const finish = chat.upstream.finish.replace('"delta":{}', '"delta":{"tool_calls":[]}');
      const { begin, done } = chat.upstream;
      const answer = await ask(messages, streamed(begin + piece + finish + done));
      expectCompleteStream(messages, answer, usageMissing);
      expect(answer.text).not.toContain('input_json_delta');
      expect(answer.text).toContain('{"type":"text_delta","text":"piece"}');
      expect(payloadsOf(answer).at(-2)).toMatchObject({ delta: { stop_reason: 'end_turn' } });
    });

    it('non-streamed: the answer is text, and ends with `end_turn`', async () => {
      const body = json(chat.upstream.whole);
      body.choices[0].message.tool_calls = [];
      const answer = await ask(messages, whole(body), { stream: false });
      expect(json(answer.text)).toMatchObject({
        stop_reason: 'end_turn',
        content: [{ type: 'text', text: 'all' }],
      });
    });
  });
});
