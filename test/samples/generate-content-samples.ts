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

const sample = (name: string, facts: Facts, contentType: string, body: Buffer): Sample => ({
  name,
  upstream: 'platform A, generation',
  callers: ['chat_completions', 'messages'],
  contentType,
  body,
  facts,
});

/** Events end with CRLF, and nothing follows the last one. */
const streamed = (name: string, facts: Facts, ...events: readonly object[]): Sample =>
  sample(name, facts, eventStreamType, bytesOf(...events.map((event) => dataEvent(event, '\r\n'))));

/** The same without `alt=sse`: one array, with one element per line. */
const inArray = (name: string, facts: Facts, ...events: readonly object[]): Sample =>
  sample(
    name,
    facts,
    'application/json; charset=UTF-8',
    bytesOf(`[${events.map((event) => JSON.stringify(event)).join('\n,\r\n')}\n]`),
  );

const names = { modelVersion: 'loom-1', responseId: 'loom-response' };

const event = (parts: readonly object[], more: object = {}, finishReason?: string): object => ({
  candidates: [
    {
      content: { role: 'model', parts },
      ...(finishReason === undefined ? {} : { finishReason }),
      index: 0,
    },
  ],
  ...more,
  ...names,
});

const counted = (candidates: number, thoughts = 0) => ({
  usageMetadata: {
    promptTokenCount: 8,
    candidatesTokenCount: candidates,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    totalTokenCount: 8 + candidates + thoughts,
  },
});

const plain: UsageFacts = { prompt: 8, completion: 6, total: 14 };
const thinking: UsageFacts = { prompt: 8, completion: 16, total: 24 };
const signature = 'bG9vbS10aG91Z2h0';
const keeps = { chat_completions: [signature], messages: [signature] };
const tideCall = { name: 'tide_at', args: { port: 'Brüel', hour: 6 } };
const tide = { name: 'tide_at', input: { port: 'Brüel', hour: 6 } };
/** A call without an id from the upstream is named after the answer. */
const generatedCallId = 'call_1_0_0';

/** Streams of generate-content events. */
export const generateContentStreams: readonly Sample[] = [
  streamed(
    'text, with usage that grows from event to event',
    { text: 'High water at six — mind the step.', finish: 'stop', usage: plain },
    event([{ text: 'High water at six ' }], { usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 } }),
    event([{ text: '— mind the step.' }], counted(6), 'STOP'),
  ),
  streamed(
    'thoughts before the text, which the usage counts apart',
    {
      text: 'Nineteen.',
      reasoning: 'Seven and twelve: add the tens.',
      finish: 'stop',
      usage: thinking,
    },
    event([{ text: 'Seven and twelve: ', thought: true }], counted(0, 4)),
    event([{ text: 'add the tens.', thought: true }], counted(0, 10)),
    event([{ text: 'Nineteen.' }], counted(6, 10), 'STOP'),
  ),
  streamed(
    'a function call with its signature',
    { text: '', calls: [{ id: generatedCallId, ...tide }], finish: 'tool_calls', usage: plain, keeps },
    event([{ functionCall: tideCall, thoughtSignature: signature }], counted(6)),
    event([{ text: '' }], counted(6), 'STOP'),
  ),
  streamed(
    'an answer that was blocked for safety',
    { text: '', finish: 'content_filter', usage: { prompt: 8, completion: 0, total: 8 } },
    { candidates: [{ finishReason: 'SAFETY', index: 0 }], ...counted(0), ...names },
  ),
  streamed(
    'an error in the middle of the text',
    { text: 'The first ', error: 'The loom is overloaded.' },
    event([{ text: 'The first ' }]),
    { error: { code: 503, message: 'The loom is overloaded.', status: 'UNAVAILABLE' } },
  ),
  streamed(
    'a stream that ends before its answer does',
    { text: 'The second ', error: cutShort },
    event([{ text: 'The second ' }]),
  ),
  inArray(
    'text in one JSON array',
    { text: 'Mind the “step”: [it], {is}, wet \\ slippery.', finish: 'stop', usage: plain },
    event([{ text: 'Mind the “step”: [it], ' }]),
    event([{ text: '{is}, wet \\ slippery.' }], counted(6), 'STOP'),
  ),
  inArray(
    'a function call with an id of its own in one JSON array',
    { text: '', calls: [{ id: 'fc-tide', ...tide }], finish: 'tool_calls', usage: plain },
    event([{ functionCall: { id: 'fc-tide', ...tideCall } }], counted(6), 'STOP'),
  ),
];

/** Whole generate-content answers. */
export const generateContentAnswers: readonly Sample[] = [
  sample(
    'an answer with a thought, text and a signed call',
    {
      text: 'I look.',
      reasoning: 'The tide table knows — “always”.',
      calls: [{ id: generatedCallId, ...tide }],
      finish: 'tool_calls',
      usage: thinking,
      keeps,
    },
    jsonType,
    jsonBytes(
      event(
        [
          { text: 'The tide table knows — “always”.', thought: true },
          { text: 'I look.' },
          { functionCall: tideCall, thoughtSignature: signature },
        ],
        counted(6, 10),
        'STOP',
      ),
    ),
  ),
  sample(
    'an answer that reached its token limit',
    { text: 'Once upon a', finish: 'length', usage: plain },
    jsonType,
    jsonBytes(event([{ text: 'Once upon a' }], counted(6), 'MAX_TOKENS')),
  ),
];
