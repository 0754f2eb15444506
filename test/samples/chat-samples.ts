import {
  bytesOf,
  cutShort,
  dataEvent,
  eventStreamType,
  type Facts,
  jsonBytes,
  jsonType,
  type Sample,
  type UsageFacts,
} from './sample.ts';

const callers: Sample['callers'] = ['chat_completions', 'messages'];

const streamed = (name: string, facts: Facts, ...events: readonly string[]): Sample => ({
  name,
  upstream: 'compat',
  callers,
  contentType: eventStreamType,
  body: bytesOf(...events),
  facts,
});

const whole = (name: string, facts: Facts, answer: object): Sample => ({
  name,
  upstream: 'compat',
  callers,
  contentType: jsonType,
  body: jsonBytes(answer),
  facts,
});

const names = { id: 'chatcmpl-loom', created: 1_767_225_600, model: 'loom-1' };

const payload = (choices: readonly object[], more: object = {}): object => ({
  ...names,
  object: 'chat.completion.chunk',
  choices,
  ...more,
});

const piece = (delta: object, finish: string | null = null): object =>
  payload([{ index: 0, delta, finish_reason: finish }]);

const usageOf = ({ prompt, completion, total }: UsageFacts): object => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: total,
});

const role = dataEvent(piece({ role: 'assistant', content: '' }));
const says = (content: string): string => dataEvent(piece({ content }));
const done = dataEvent('[DONE]');

const callPiece = (index: number, call: object): string =>
  dataEvent(piece({ tool_calls: [{ index, ...call }] }));

const small: UsageFacts = { prompt: 11, completion: 7, total: 18 };
const larger: UsageFacts = { prompt: 240, completion: 31, total: 271 };

/** Streams of chat chunks. */
export const chatStreams: readonly Sample[] = [
  streamed(
    'plain text and a usage chunk',
    { text: 'The kettle is on: ☕ in a minute.', finish: 'stop', usage: small },
    role,
    says('The kettle is on: '),
    says('☕ in a minute.'),
    dataEvent(piece({}, 'stop')),
    dataEvent(payload([], { usage: usageOf(small) })),
    done,
  ),
  streamed(
    'two tool calls whose pieces arrive one after the other',
    {
      text: '',
      calls: [
        { id: 'call_tide', name: 'tide_at', input: { port: 'Brüel', hour: 6 } },
        { id: 'call_moon', name: 'moon_phase', input: {} },
      ],
      finish: 'tool_calls',
      usage: larger,
    },
    dataEvent(piece({ role: 'assistant', content: null })),
    callPiece(0, { id: 'call_tide', type: 'function', function: { name: 'tide_at', arguments: '' } }),
    callPiece(0, { function: { arguments: '{"port":"Brü' } }),
    callPiece(0, { function: { arguments: 'el","hour":6}' } }),
    callPiece(1, { id: 'call_moon', type: 'function', function: { name: 'moon_phase', arguments: '' } }),
    callPiece(1, { function: { arguments: '{}' } }),
    dataEvent(piece({}, 'tool_calls')),
    dataEvent(payload([], { usage: usageOf(larger) })),
    done,
  ),
  {
    ...streamed(
      'complete tool calls of one index without ids',
      {
        text: '',
        calls: [
          { id: 'toolu_row1_0', name: 'tide_at', input: { hour: 6 } },
          { id: 'toolu_row1_1', name: 'tide_at', input: { hour: 7 } },
        ],
        finish: 'tool_calls',
        usage: larger,
      },
      role,
      callPiece(0, { id: '', type: 'function', function: { name: 'tide_at', arguments: '{"hour":6}' } }),
      callPiece(0, { id: '', type: 'function', function: { name: 'tide_at', arguments: '{"hour":7}' } }),
      dataEvent(payload([{ index: 0, delta: {}, finish_reason: 'stop' }], { usage: usageOf(larger) })),
      done,
    ),
    // To chat callers, everything under one index is one call.
    callers: ['messages'],
  },
  streamed(
    'reasoning in a field of its own, before the text',
    {
      text: 'Nineteen.',
      reasoning: 'Seven and twelve: add the tens, then the rest.',
      finish: 'stop',
      usage: small,
    },
    dataEvent(piece({ role: 'assistant', content: null, reasoning_content: 'Seven and twelve: ' })),
    dataEvent(piece({ content: null, reasoning_content: 'add the tens, then the rest.' })),
    says('Nineteen.'),
    dataEvent(payload([{ index: 0, delta: {}, finish_reason: 'stop' }], { usage: usageOf(small) })),
    done,
  ),
  streamed(
    'thinking among the parts of the content, and no [DONE]',
    { text: 'Left at the mill.', reasoning: 'The map has north below.', finish: 'stop' },
    role,
    dataEvent(
      piece({
        content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'The map has north below.' }] }],
      }),
    ),
    says('Left at the mill.'),
    dataEvent(piece({}, 'stop')),
  ),
  streamed(
    'comments, CRLF, and usage inside the choice of an answer that reached its token limit',
    { text: 'Once upon a time there', finish: 'length', usage: small },
    ': the loom is warming up\r\n\r\n',
    dataEvent(piece({ role: 'assistant', content: 'Once upon a time ' }), '\r\n'),
    dataEvent(piece({ content: 'there' }), '\r\n'),
    dataEvent(payload([{ index: 0, delta: {}, finish_reason: 'length', usage: usageOf(small) }]), '\r\n'),
    dataEvent('[DONE]', '\r\n'),
  ),
  streamed(
    'an error in the middle of the text',
    { text: 'The first row is ', error: 'The loom has lost its thread.' },
    role,
    says('The first row is '),
    dataEvent({ error: { message: 'The loom has lost its thread.', type: 'server_error', code: 500 } }),
    done,
  ),
  streamed(
    'a stream that ends before its answer does',
    { text: 'The second row', error: cutShort },
    role,
    says('The second row'),
  ),
];

const message = (said: object, finish: string, usage: UsageFacts): object => ({
  ...names,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', ...said }, finish_reason: finish, logprobs: null }],
  usage: usageOf(usage),
});

/** Whole chat completions. */
export const chatAnswers: readonly Sample[] = [
  whole(
    'an answer with reasoning',
    {
      text: 'Nineteen, or “neunzehn”.',
      reasoning: 'Seven and twelve.',
      finish: 'stop',
      usage: small,
    },
    message({ content: 'Nineteen, or “neunzehn”.', reasoning: 'Seven and twelve.' }, 'stop', small),
  ),
  whole(
    'an answer with a tool call',
    {
      text: '',
      calls: [{ id: 'call_tide', name: 'tide_at', input: { port: 'Brüel' } }],
      finish: 'tool_calls',
      usage: larger,
    },
    message(
      {
        content: null,
        tool_calls: [
          {
            id: 'call_tide',
            type: 'function',
            function: { name: 'tide_at', arguments: '{"port":"Brüel"}' },
          },
        ],
      },
      'tool_calls',
      larger,
    ),
  ),
];
