import { errorFrame, eventFrame, exceptionFrame } from '../support/event-stream-frames.ts';
import { cutShort, type Facts, jsonBytes, jsonType, type Sample, type UsageFacts } from './sample.ts';

const sample = (name: string, facts: Facts, contentType: string, body: Buffer): Sample => ({
  name,
  upstream: 'platform B, converse',
  callers: ['chat_completions', 'messages'],
  contentType,
  body,
  facts,
});

/** Frames with their checksums. */
const streamed = (name: string, facts: Facts, ...frames: readonly Buffer[]): Sample =>
  sample(name, facts, 'application/vnd.amazon.eventstream', Buffer.concat(frames));

const begin = eventFrame('messageStart', { role: 'assistant', p: 'abcd' });
const delta = (contentBlockIndex: number, said: object): Buffer =>
  eventFrame('contentBlockDelta', { contentBlockIndex, delta: said, p: 'abcdefgh' });
const says = (contentBlockIndex: number, text: string): Buffer => delta(contentBlockIndex, { text });
const closed = (contentBlockIndex: number): Buffer => eventFrame('contentBlockStop', { contentBlockIndex });
const stop = (stopReason: string): Buffer => eventFrame('messageStop', { stopReason });
const metadata = (usage: object): Buffer =>
  eventFrame('metadata', { usage, metrics: { latencyMs: 12 }, p: 'ab' });

const counts = { inputTokens: 15, outputTokens: 9, totalTokens: 24 };
const small: UsageFacts = { prompt: 15, completion: 9, total: 24 };
const signature = 'bG9vbS1jb252ZXJzZQ==';
const input = { port: 'Brüel', hour: 6 };
const tide = { id: 'tooluse_tide', name: 'tide_at', input };

/** Streams of converse frames. */
export const converseStreams: readonly Sample[] = [
  streamed(
    'text, with a cache in its usage',
    {
      text: 'High water at six — mind the step.',
      finish: 'stop',
      usage: { prompt: 255, completion: 9, total: 264 },
    },
    begin,
    says(0, 'High water at six '),
    says(0, '— mind the step.'),
    closed(0),
    stop('end_turn'),
    metadata({ ...counts, totalTokens: 264, cacheReadInputTokens: 200, cacheWriteInputTokens: 40 }),
  ),
  streamed(
    'text and two tool calls, one of them without input',
    {
      text: 'I look.',
      calls: [tide, { id: 'tooluse_moon', name: 'moon_phase', input: {} }],
      finish: 'tool_calls',
      usage: small,
    },
    begin,
    says(0, 'I look.'),
    closed(0),
    eventFrame('contentBlockStart', {
      contentBlockIndex: 1,
      start: { toolUse: { toolUseId: 'tooluse_tide', name: 'tide_at' } },
    }),
    delta(1, { toolUse: { input: '{"port":"Brü' } }),
    delta(1, { toolUse: { input: 'el","hour":6}' } }),
    closed(1),
    eventFrame('contentBlockStart', {
      contentBlockIndex: 2,
      start: { toolUse: { toolUseId: 'tooluse_moon', name: 'moon_phase' } },
    }),
    closed(2),
    stop('tool_use'),
    metadata(counts),
  ),
  streamed(
    'reasoning with its signature, and then text',
    {
      text: 'Nineteen.',
      reasoning: 'Seven and twelve: add the tens.',
      finish: 'stop',
      usage: small,
      keeps: { chat_completions: [signature] },
    },
    begin,
    delta(0, { reasoningContent: { text: 'Seven and twelve: ' } }),
    delta(0, { reasoningContent: { text: 'add the tens.' } }),
    delta(0, { reasoningContent: { signature } }),
    closed(0),
    says(1, 'Nineteen.'),
    closed(1),
    stop('end_turn'),
    metadata(counts),
  ),
  streamed(
    'an exception in the middle of the text',
    { text: 'The first ', error: 'The loom is overloaded.' },
    begin,
    says(0, 'The first '),
    exceptionFrame('modelStreamErrorException', {
      message: 'The loom is overloaded.',
      originalStatusCode: 500,
    }),
  ),
  streamed(
    'an error frame in the middle of the text',
    { text: 'The first ', error: 'The loom has lost its thread.' },
    begin,
    says(0, 'The first '),
    errorFrame('internalServerException', 'The loom has lost its thread.'),
  ),
  streamed(
    'a stream that ends inside a frame',
    { text: 'The second ', error: cutShort },
    begin,
    says(0, 'The second '),
    stop('end_turn').subarray(0, 40),
  ),
];

/** Whole converse answers. */
export const converseAnswers: readonly Sample[] = [
  sample(
    'an answer with signed reasoning, text and a call',
    {
      text: 'I look.',
      reasoning: 'The tide table knows — “always”.',
      calls: [tide],
      finish: 'tool_calls',
      usage: small,
      keeps: { chat_completions: [signature] },
    },
    jsonType,
    jsonBytes({
      metrics: { latencyMs: 12 },
      output: {
        message: {
          role: 'assistant',
          content: [
            {
              reasoningContent: { reasoningText: { text: 'The tide table knows — “always”.', signature } },
            },
            { text: 'I look.' },
            { toolUse: { toolUseId: 'tooluse_tide', name: 'tide_at', input } },
          ],
        },
      },
      stopReason: 'tool_use',
      usage: counts,
    }),
  ),
];
