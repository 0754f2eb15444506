import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import { unifiedStream } from '../../infrastructure/providers/cloud-b/unified-stream.ts';
import { eventFrames } from '../../infrastructure/providers/wire/event-stream.ts';
import { aJson } from '../support/arbitraries/json-text.ts';
import { errorFrame, eventFrame, exceptionFrame, frame } from '../support/event-stream-frames.ts';
import { outputsOf } from '../support/machine-laws.ts';

const names = { id: 'chatcmpl-1', model: 'asked-for', createdSecs: 1_700_000_000 };
const sanitise = (message: string): string => message.replaceAll('secret', '***');
export const machine = andThen(eventFrames, seal(unifiedStream(names, sanitise)));

export const started = eventFrame('messageStart', { role: 'assistant', p: 'abc' });
export const start = (contentBlockIndex: number, block: JsonObject): Buffer =>
  eventFrame('contentBlockStart', { contentBlockIndex, start: block });
export const tool = (index: number, toolUseId: string, name: string, type?: string): Buffer =>
  start(index, { toolUse: { toolUseId, name, ...(type === undefined ? {} : { type }) } });
export const delta = (contentBlockIndex: number, piece: JsonObject): Buffer =>
  eventFrame('contentBlockDelta', { contentBlockIndex, delta: piece, p: 'abcdefgh' });
export const text = (words: string, index = 0): Buffer => delta(index, { text: words });
export const input = (index: number, words: string): Buffer => delta(index, { toolUse: { input: words } });
export const stopped = (contentBlockIndex: number): Buffer =>
  eventFrame('contentBlockStop', { contentBlockIndex });
export const stop = (stopReason = 'end_turn', more: JsonObject = {}): Buffer =>
  eventFrame('messageStop', { stopReason, ...more });
export const metadata = (more: JsonObject = {}): Buffer =>
  eventFrame('metadata', {
    usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    metrics: { latencyMs: 1 },
    ...more,
  });

type Event = StreamEvent<JsonObject>;
export const eventsOf = (frames: readonly Buffer[], ending?: Ending): readonly Event[] =>
  outputsOf(machine, [Buffer.concat(frames)], ending);

export interface Chunk {
  readonly choices: readonly { readonly delta: JsonObject; readonly finish_reason: string | null }[];
  readonly usage?: JsonObject;
  readonly provider_metadata?: JsonObject;
}

/** What a caller reads, in order: each delta, finish reason, usage and end. */
export const told = (frames: readonly Buffer[], ending?: Ending): readonly unknown[] =>
  eventsOf(frames, ending).map((event) => {
    if (event.kind === 'failed') return { failed: event.error.message };
    if (event.kind === 'done') return 'done';
    const { choices, usage } = event.chunk as unknown as Chunk;
    const [choice] = choices;
    if (choice === undefined) return { usage };
    return choice.finish_reason === null ? choice.delta : { finish: choice.finish_reason };
  });

export const role = { role: 'assistant', content: '' };
export const summed = { usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } };

export const anEvent: fc.Arbitrary<Buffer> = fc.oneof(
  fc.constantFrom(
    started,
    tool(1, 'a', 'f'),
    tool(2, 'b', 'g'),
    tool(3, 'c', 'h', 'server_tool_use'),
    stopped(0),
    stopped(1),
    stop(),
    stop('tool_use'),
    stop('malformed_tool_use'),
    metadata(),
    eventFrame('unheardOf', {}),
    exceptionFrame('throttlingException', { message: 'Slow down.' }),
    errorFrame('InternalFailure', 'a'),
    frame([], Buffer.alloc(0)),
    Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
  ),
  fc.string({ unit: 'grapheme', maxLength: 10 }).map((words) => text(words)),
  fc.tuple(fc.nat(3), fc.string({ maxLength: 6 })).map(([index, words]) => input(index, words)),
  fc
    .tuple(
      fc.constantFrom('messageStart', 'contentBlockStart', 'contentBlockDelta', 'messageStop', 'metadata'),
      fc.dictionary(
        fc.constantFrom('role', 'contentBlockIndex', 'start', 'delta', 'stopReason', 'usage', 'trace'),
        aJson,
      ),
    )
    .map(([type, payload]) => eventFrame(type, payload)),
);
