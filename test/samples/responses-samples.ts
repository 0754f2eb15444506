import {
  bytesOf,
  cutShort,
  eventStreamType,
  type Facts,
  jsonBytes,
  jsonType,
  namedEvent,
  type Sample,
  type TypedEvent,
  type UsageFacts,
} from './sample.ts';

const sample = (name: string, facts: Facts, contentType: string, body: Buffer): Sample => ({
  name,
  upstream: 'compat',
  callers: ['responses'],
  contentType,
  body,
  facts,
});

/** Numbered in the order of sending. */
const streamed = (name: string, facts: Facts, ...events: readonly TypedEvent[]): Sample =>
  sample(
    name,
    facts,
    eventStreamType,
    bytesOf(...events.map((event, at) => namedEvent({ ...event, sequence_number: at }))),
  );

const usageOf = ({ prompt, completion, total }: UsageFacts): object => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: total,
});

const response = (status: string, output: readonly object[] = [], more: object = {}): object => ({
  id: 'resp_loom',
  object: 'response',
  created_at: 1_767_225_600,
  model: 'loom-1',
  status,
  output,
  error: null,
  incomplete_details: null,
  usage: null,
  ...more,
});

const begun: readonly TypedEvent[] = [
  { type: 'response.created', response: response('in_progress') },
  { type: 'response.in_progress', response: response('in_progress') },
];

const messageItem = (text: string, status = 'completed'): object => ({
  id: 'msg_loom',
  type: 'message',
  status,
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});

const place = { item_id: 'msg_loom', content_index: 0 };

const addedItem = (index: number, item: object): TypedEvent => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});

const doneItem = (index: number, item: object): TypedEvent => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});

/** A message in pieces. */
const saying = (index: number, ...pieces: readonly string[]): readonly TypedEvent[] => {
  const text = pieces.join('');
  const at = { ...place, output_index: index };
  return [
    addedItem(index, { ...messageItem(''), status: 'in_progress', content: [] }),
    { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '', annotations: [] } },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.content_part.done', ...at, part: { type: 'output_text', text, annotations: [] } },
    doneItem(index, messageItem(text)),
  ];
};

const callItem = {
  id: 'fc_tide',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_tide',
  name: 'tide_at',
  arguments: '{"port":"Brüel","hour":6}',
};

const reasoningItem = (summary: string): object => ({
  id: 'rs_loom',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: summary }],
  encrypted_content: 'bG9vbS1yZWFzb25pbmc=',
});

const tide = { id: 'call_tide', name: 'tide_at', input: { port: 'Brüel', hour: 6 } };
const small: UsageFacts = { prompt: 14, completion: 9, total: 23 };

/** Streams of responses events. */
export const responsesStreams: readonly Sample[] = [
  streamed(
    'a message in pieces',
    { text: 'High water at six — mind the step.', finish: 'completed', usage: small },
    ...begun,
    ...saying(0, 'High water at six ', '— mind ', 'the step.'),
    {
      type: 'response.completed',
      response: response('completed', [messageItem('High water at six — mind the step.')], {
        usage: usageOf(small),
      }),
    },
  ),
  streamed(
    'a function call',
    { text: '', calls: [tide], finish: 'completed', usage: small },
    ...begun,
    addedItem(0, { ...callItem, status: 'in_progress', arguments: '' }),
    {
      type: 'response.function_call_arguments.delta',
      item_id: 'fc_tide',
      output_index: 0,
      delta: '{"port":"Brü',
    },
    {
      type: 'response.function_call_arguments.delta',
      item_id: 'fc_tide',
      output_index: 0,
      delta: 'el","hour":6}',
    },
    {
      type: 'response.function_call_arguments.done',
      item_id: 'fc_tide',
      output_index: 0,
      arguments: callItem.arguments,
    },
    doneItem(0, callItem),
    { type: 'response.completed', response: response('completed', [callItem], { usage: usageOf(small) }) },
  ),
  streamed(
    'reasoning before a message',
    {
      text: 'Nineteen.',
      reasoning: 'Seven and twelve.',
      finish: 'completed',
      usage: small,
      keeps: { responses: ['bG9vbS1yZWFzb25pbmc='] },
    },
    ...begun,
    addedItem(0, { id: 'rs_loom', type: 'reasoning', summary: [] }),
    {
      type: 'response.reasoning_summary_text.delta',
      item_id: 'rs_loom',
      output_index: 0,
      summary_index: 0,
      delta: 'Seven and twelve.',
    },
    doneItem(0, reasoningItem('Seven and twelve.')),
    ...saying(1, 'Nineteen.'),
    {
      type: 'response.completed',
      response: response('completed', [reasoningItem('Seven and twelve.'), messageItem('Nineteen.')], {
        usage: usageOf(small),
      }),
    },
  ),
  streamed(
    'an answer that is incomplete',
    { text: 'Once upon a', finish: 'incomplete', usage: small },
    ...begun,
    ...saying(0, 'Once upon ', 'a'),
    {
      type: 'response.incomplete',
      response: response('incomplete', [messageItem('Once upon a', 'incomplete')], {
        incomplete_details: { reason: 'max_output_tokens' },
        usage: usageOf(small),
      }),
    },
  ),
  streamed(
    'an answer that failed',
    { text: '', finish: 'failed', error: 'The loom has lost its thread.' },
    ...begun,
    {
      type: 'response.failed',
      response: response('failed', [], {
        error: { code: 'server_error', message: 'The loom has lost its thread.' },
      }),
    },
  ),
  streamed(
    'an error event in the middle',
    { text: 'The first ', error: 'The loom is too busy.' },
    ...begun,
    addedItem(0, { ...messageItem(''), status: 'in_progress', content: [] }),
    { type: 'response.output_text.delta', ...place, output_index: 0, delta: 'The first ' },
    { type: 'error', code: 'rate_limit_exceeded', message: 'The loom is too busy.', param: null },
  ),
  streamed('a stream that ends before its answer does', { text: 'The second ', error: cutShort }, ...begun, {
    type: 'response.output_text.delta',
    ...place,
    output_index: 0,
    delta: 'The second ',
  }),
];

/** Whole responses. */
export const responsesAnswers: readonly Sample[] = [
  sample(
    'a response with reasoning, a message and a call',
    {
      text: 'One moment — I look.',
      reasoning: 'The tide table knows.',
      calls: [tide],
      finish: 'completed',
      usage: small,
      keeps: { responses: ['bG9vbS1yZWFzb25pbmc='] },
    },
    jsonType,
    jsonBytes(
      response(
        'completed',
        [reasoningItem('The tide table knows.'), messageItem('One moment — I look.'), callItem],
        { usage: usageOf(small) },
      ),
    ),
  ),
];
