import { eventFrame } from '../event-stream-frames.ts';
import { times } from './growth.ts';
import { type AnswerShape, call, chatFamilies } from './whole-answers.ts';

export interface StreamShape extends AnswerShape {
  readonly contentType: string;
  /** The bytes as received from the network. */
  readonly pieces: (count: number) => readonly Buffer[];
}

const json = (value: unknown): string => JSON.stringify(value);
const sse = 'text/event-stream';
const data = (event: unknown): Buffer => Buffer.from(`data: ${json(event)}\n\n`);
const named = (event: { readonly type: string; readonly [key: string]: unknown }): Buffer =>
  Buffer.from(`event: ${event.type}\ndata: ${json(event)}\n\n`);

const byteByByte = (bytes: Buffer): readonly Buffer[] =>
  times(bytes.length, (index) => bytes.subarray(index, index + 1));

const delta = (of: object): Buffer => data({ choices: [{ index: 0, delta: of, finish_reason: null }] });
const done = Buffer.from('data: [DONE]\n\n');

const chatStreams: readonly StreamShape[] = chatFamilies.flatMap((family) =>
  [
    { of: 'pieces of text', pieces: (count: number) => times(count, () => delta({ content: 'x' })) },
    {
      of: 'pieces of text at once',
      pieces: (count: number) => [Buffer.concat(times(count, () => delta({ content: 'x' })))],
    },
    {
      of: 'text and reasoning in turn, behind a call that goes on',
      pieces: (count: number) => [
        delta({ tool_calls: [{ ...call(0), function: { name: 'f', arguments: '{' } }] }),
        ...times(count, (index) => delta(index % 2 === 0 ? { content: 'x' } : { reasoning: 'x' })),
      ],
    },
    {
      of: 'pieces of arguments',
      pieces: (count: number) => [
        delta({ tool_calls: [call(0)] }),
        ...times(count, () => delta({ tool_calls: [{ index: 0, function: { arguments: ' ' } }] })),
      ],
    },
    {
      of: 'arguments with blanks that come again and again',
      pieces: (count: number) =>
        [`{"a":1${' '.repeat(count)}}`, ...times(count, () => '{"a":1}')].map((text) =>
          delta({ tool_calls: [{ ...call(0), function: { name: 'f', arguments: text } }] }),
        ),
    },
    {
      of: 'tool calls',
      pieces: (count: number) => times(count, (index) => delta({ tool_calls: [call(index)] })),
    },
    {
      of: 'tool calls in one event',
      pieces: (count: number) => [delta({ tool_calls: times(count, call) })],
    },
    {
      of: 'bytes of one event, one by one',
      pieces: (count: number) => [...byteByByte(delta({ content: 'x'.repeat(count) })), done],
    },
    { of: 'lines of one event', pieces: (count: number) => [Buffer.from(`${'data:\n'.repeat(count)}\n`)] },
    { of: 'comments', pieces: (count: number) => times(count, () => Buffer.from(': hello\n\n')) },
  ].map((shape) => ({ route: 'compat', family, contentType: sse, ...shape })),
);

const piece = (index: number, of: object) => named({ type: 'content_block_delta', index, delta: of });
const begun = (index: number, content_block: object) =>
  named({ type: 'content_block_start', index, content_block });

const messagesStreams: readonly StreamShape[] = (
  ['cloud_a_platform anthropic', 'endpointb_messages'] as const
).flatMap((route) =>
  chatFamilies.flatMap((family) =>
    [
      {
        of: 'pieces of text',
        pieces: (count: number) => times(count, () => piece(0, { type: 'text_delta', text: 'x' })),
      },
      {
        of: 'blocks',
        pieces: (count: number) => times(count, (index) => begun(index, { type: 'text', text: 'x' })),
      },
      {
        of: 'blocks of hosted tools',
        pieces: (count: number) =>
          times(count, (index) => begun(index, { type: 'server_tool_use', id: 'a', name: 'f', input: {} })),
      },
      {
        of: 'reports of usage, with a field of its own each',
        pieces: (count: number) =>
          times(count, (index) =>
            named({
              type: 'message_delta',
              delta: {},
              usage: { output_tokens: 1, [`x${index}`]: 1 },
            }),
          ),
      },
    ].map((shape) => ({ route, family, contentType: sse, ...shape })),
  ),
);

const partial = (index: number) => ({
  candidates: [
    {
      content: {
        parts: [
          {
            functionCall: {
              ...(index === 0 ? { name: 'f' } : {}),
              args: { [`a${index}`]: 1 },
              partialArgs: [{ jsonPath: `$.b[${index}]`, numberValue: 1 }],
              willContinue: true,
            },
          },
        ],
      },
    },
  ],
});

const googleStreams: readonly StreamShape[] = chatFamilies.flatMap((family) =>
  [
    {
      of: 'pieces of text',
      contentType: sse,
      pieces: (count: number) =>
        times(count, () => data({ candidates: [{ content: { parts: [{ text: 'x' }] } }] })),
    },
    {
      of: 'pieces of arguments',
      contentType: sse,
      pieces: (count: number) => times(count, (index) => data(partial(index))),
    },
    {
      of: 'events of an array',
      contentType: 'application/json',
      pieces: (count: number) => [
        Buffer.from(
          `[${times(count, () => json({ candidates: [{ content: { parts: [{ text: 'x' }] } }] })).join(',')}]`,
        ),
      ],
    },
    {
      of: 'bytes of one event of an array, one by one',
      contentType: 'application/json',
      pieces: (count: number) => byteByByte(Buffer.from(`[${json({ a: 'x'.repeat(count) })}]`)),
    },
  ].map((shape) => ({ route: 'cloud_a_platform google', family, ...shape })),
);

const converse = 'application/vnd.amazon.eventstream';
const block = (contentBlockIndex: number, more: object) => ({ contentBlockIndex, ...more });

const converseStreams: readonly StreamShape[] = chatFamilies.flatMap((family) =>
  [
    {
      of: 'pieces of text',
      pieces: (count: number) =>
        times(count, () => eventFrame('contentBlockDelta', block(0, { delta: { text: 'x' } }))),
    },
    {
      of: 'frames at once',
      pieces: (count: number) => [
        Buffer.concat(
          times(count, () => eventFrame('contentBlockDelta', block(0, { delta: { text: 'x' } }))),
        ),
      ],
    },
    {
      of: 'blocks that end',
      pieces: (count: number) =>
        times(count, (index) => [
          eventFrame('contentBlockStart', block(index, { start: { image: {} } })),
          eventFrame('contentBlockStop', block(index, {})),
        ]).flat(),
    },
    {
      of: 'bytes of one frame, one by one',
      pieces: (count: number) =>
        byteByByte(eventFrame('contentBlockDelta', block(0, { delta: { text: 'x'.repeat(count) } }))),
    },
  ].map((shape) => ({ route: 'runtime_unified', family, contentType: converse, ...shape })),
);

const responsesStreams: readonly StreamShape[] = ['compat', 'endpointb_responses'].flatMap((route) =>
  [
    {
      of: 'pieces of text',
      pieces: (count: number) =>
        times(count, (index) =>
          named({ type: 'response.output_text.delta', delta: 'x', sequence_number: index }),
        ),
    },
    {
      of: 'output items',
      pieces: (count: number) =>
        times(count, (index) =>
          named({
            type: 'response.output_item.added',
            output_index: index,
            item: { type: 'function_call' },
          }),
        ),
    },
    {
      of: 'events behind the last one',
      pieces: (count: number) => [
        named({ type: 'response.completed', response: { status: 'completed' } }),
        ...times(count, () => named({ type: 'response.x' })),
      ],
    },
  ].map((shape) => ({ route, family: 'responses' as const, contentType: sse, ...shape })),
);

/**
 * The routes that are tested with everything: the others share their machines, and are tested with pieces of
 * text only.
 */
const all: ReadonlySet<string> = new Set([
  'compat, chat_completions',
  'compat, messages',
  'compat, responses',
  'cloud_a_platform anthropic, chat_completions',
  'cloud_a_platform anthropic, messages',
  'cloud_a_platform google, chat_completions',
  'runtime_unified, chat_completions',
]);

export const streamedAnswers: readonly StreamShape[] = [
  ...chatStreams,
  ...messagesStreams,
  ...googleStreams,
  ...converseStreams,
  ...responsesStreams,
].filter(({ route, family, of }) => of === 'pieces of text' || all.has(`${route}, ${family}`));
