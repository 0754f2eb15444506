import {
  bytesOf,
  cutShort,
  dataEvent,
  eventStreamType,
  type Facts,
  jsonBytes,
  jsonType,
  namedEvent,
  type Sample,
  type TypedEvent,
  type UpstreamName,
  type UsageFacts,
} from './sample.ts';

const callers: Sample['callers'] = ['messages', 'chat_completions'];

const streamedBy =
  (upstream: UpstreamName) =>
  (name: string, facts: Facts, ...events: readonly string[]): Sample => ({
    name,
    upstream,
    callers,
    contentType: eventStreamType,
    body: bytesOf(...events),
    facts,
  });

const onA = streamedBy('platform A, messages');
const onB = streamedBy('platform B, messages');

const start = (usage: object): string =>
  namedEvent({ type: 'message_start', message: message([], null, usage) });

const message = (content: readonly object[], stop: string | null, usage: object) => ({
  id: 'msg_loom',
  type: 'message',
  role: 'assistant',
  model: 'loom-1',
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage,
});

/** A block with its deltas. */
const block = (index: number, content: TypedEvent, ...deltas: readonly TypedEvent[]): string =>
  [
    { type: 'content_block_start', index, content_block: content },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
    .map(namedEvent)
    .join('');

const textBlock = (index: number, ...pieces: readonly string[]): string =>
  block(index, { type: 'text', text: '' }, ...pieces.map((text) => ({ type: 'text_delta', text })));

const ping = namedEvent({ type: 'ping' });
const end = (stop: string, usage: object): string =>
  [
    { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
    .map(namedEvent)
    .join('');

const placeholder = { input_tokens: 21, output_tokens: 1 };
const small: UsageFacts = { prompt: 21, completion: 12, total: 33 };
const signature = 'bG9vbS1zaWduYXR1cmU=';
const signed = { messages: [signature], chat_completions: [signature] };
const tide = { id: 'toolu_tide', name: 'tide_at', input: { port: 'Brüel', hour: 6 } };

/** Streams of messages events. */
export const messagesStreams: readonly Sample[] = [
  onA(
    'text with a ping, from a platform that adds its own event',
    { text: 'High water at six — mind the step.', finish: 'stop', usage: small },
    `event: vertex_event\n${dataEvent({ type: 'vertex_event', note: 'not for callers' })}`,
    start(placeholder),
    ping,
    textBlock(0, 'High water at six ', '— mind the step.'),
    end('end_turn', { output_tokens: 12 }),
  ),
  onB(
    'thinking with its signature, and then text',
    {
      text: 'Nineteen.',
      reasoning: 'Seven and twelve: add the tens.',
      finish: 'stop',
      usage: small,
      keeps: signed,
    },
    start(placeholder),
    block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'Seven and twelve: ' },
      { type: 'thinking_delta', thinking: 'add the tens.' },
      { type: 'signature_delta', signature },
    ),
    textBlock(1, 'Nineteen.'),
    end('end_turn', { output_tokens: 12 }),
  ),
  onB(
    'two tool calls, one of them without input',
    {
      text: 'I look.',
      calls: [tide, { id: 'toolu_moon', name: 'moon_phase', input: {} }],
      finish: 'tool_calls',
      usage: small,
    },
    start(placeholder),
    textBlock(0, 'I look.'),
    block(
      1,
      { type: 'tool_use', id: 'toolu_tide', name: 'tide_at', input: {} },
      { type: 'input_json_delta', partial_json: '' },
      { type: 'input_json_delta', partial_json: '{"port":"Brü' },
      { type: 'input_json_delta', partial_json: 'el","hour":6}' },
    ),
    block(2, { type: 'tool_use', id: 'toolu_moon', name: 'moon_phase', input: {} }),
    end('tool_use', { output_tokens: 12 }),
  ),
  onA(
    'usage of a cache that was read and written, with an answer that reached its token limit',
    { text: 'Once upon a', finish: 'length', usage: { prompt: 245, completion: 4, total: 249 } },
    start({
      input_tokens: 5,
      cache_creation_input_tokens: 40,
      cache_read_input_tokens: 200,
      output_tokens: 1,
    }),
    textBlock(0, 'Once upon a'),
    end('max_tokens', {
      input_tokens: 5,
      cache_creation_input_tokens: 40,
      cache_read_input_tokens: 200,
      output_tokens: 4,
    }),
  ),
  onB(
    'an error event in the middle',
    { text: 'The first ', error: 'The loom is overloaded.' },
    start(placeholder),
    namedEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    namedEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'The first ' } }),
    namedEvent({ type: 'error', error: { type: 'overloaded_error', message: 'The loom is overloaded.' } }),
  ),
  onA(
    'a stream that ends before its answer does',
    { text: 'The second ', error: cutShort },
    start(placeholder),
    textBlock(0, 'The second '),
  ),
];

const wholeBy = (upstream: UpstreamName, name: string, facts: Facts, answer: object): Sample => ({
  name,
  upstream,
  callers,
  contentType: jsonType,
  body: jsonBytes(answer),
  facts,
});

const usage = { input_tokens: 21, output_tokens: 12 };

/** Whole messages. */
export const messagesAnswers: readonly Sample[] = [
  wholeBy(
    'platform A, messages',
    'a message with signed thinking and a tool call',
    {
      text: 'I look.',
      reasoning: 'The tide table knows — “always”.',
      calls: [tide],
      finish: 'tool_calls',
      usage: small,
      keeps: signed,
    },
    message(
      [
        { type: 'thinking', thinking: 'The tide table knows — “always”.', signature },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', ...tide },
      ],
      'tool_use',
      usage,
    ),
  ),
  wholeBy(
    'platform B, invoke',
    'a message with a cache in its usage',
    { text: 'High water at six.', finish: 'stop', usage: { prompt: 221, completion: 12, total: 233 } },
    message([{ type: 'text', text: 'High water at six.' }], 'end_turn', {
      ...usage,
      cache_read_input_tokens: 200,
      cache_creation_input_tokens: 0,
    }),
  ),
];
