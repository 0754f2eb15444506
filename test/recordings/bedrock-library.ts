import { EventStreamCodec } from '@smithy/eventstream-codec';
import { eventFrame } from '../support/event-stream-frames.ts';
import type { Cuts } from '../support/replay-upstream.ts';
import {
  type MessagesStreamFacts,
  recordingsOf,
  refusalsIn,
  type Recording,
  type TextFacts,
  type UsageFacts,
} from './library.ts';
import { isLoose, listOf, type Loose } from './received.ts';
import { cutsFor } from './cuts.ts';

interface ConverseUsageFacts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** The facts of a converse stream by an independent decoder. */
export interface ConverseStreamFacts {
  readonly protocol: 'converse-stream' | 'converse-stream-events';
  readonly stopReason: string;
  /** Of all text blocks. */
  readonly text: TextFacts;
  readonly blocks: readonly {
    readonly kind: string;
    readonly reasoning?: TextFacts;
    readonly inputJson?: string;
  }[];
  readonly usage?: ConverseUsageFacts;
}

export interface ConverseFacts {
  readonly protocol: 'converse';
  readonly stopReason: string;
  /** Of all text blocks, without cited text. */
  readonly text: TextFacts;
  readonly reasoning?: TextFacts;
  /** The kinds of the blocks. */
  readonly blocks: readonly string[];
  readonly usage: ConverseUsageFacts;
}

/** The facts of a stream of an unsupported model. */
interface ForeignStreamFacts {
  readonly protocol: 'invoke-stream-other';
  readonly frames: number;
}

/** The facts of a messages stream, and its number of frames. */
type InvokeStreamFacts = Omit<MessagesStreamFacts, 'protocol'> & {
  readonly protocol: 'invoke-stream-anthropic';
  readonly frames: number;
};

export interface VectorFacts {
  readonly protocol: 'eventstream-vector';
  /** `accept`, or `reject: …`. */
  readonly expectWithoutChecksums: string;
  readonly expectWithChecksums: 'valid' | 'invalid';
  readonly decoded?: {
    readonly headers: readonly { readonly name: string; readonly string?: string }[];
    readonly payloadHex: string;
  };
}

/** Each line of a payload list is one event, keyed by its type. */
const eventFraming = (payloads: readonly string[]): Buffer =>
  Buffer.concat(
    payloads
      .flatMap((line) => Object.entries(JSON.parse(line) as Record<string, object>))
      .map(([type, payload]) => eventFrame(type, payload)),
  );

/** All recordings of converse and converse-stream. */
export const converseRecordings = () => ({
  streams: [
    ...recordingsOf<ConverseStreamFacts>('converse-stream'),
    ...recordingsOf<ConverseStreamFacts>('converse-stream-events', eventFraming),
  ],
  answers: recordingsOf<ConverseFacts>('converse'),
  refusals: refusalsIn('bedrock/converse'),
});

/** Streams of a call that the gateway does not use: their frames have other events than those of converse. */
export const invokeStreams = (): readonly Recording<InvokeStreamFacts | ForeignStreamFacts>[] => [
  ...recordingsOf<InvokeStreamFacts>('invoke-stream-anthropic'),
  ...recordingsOf<ForeignStreamFacts>('invoke-stream-other'),
];

/** The streams of messages models without their frames, as a messages endpoint of the platform sends them. */
export const unwrappedStreams = (): readonly Recording<MessagesStreamFacts>[] =>
  recordingsOf<InvokeStreamFacts>('invoke-stream-anthropic').map(({ facts, ...recording }) => ({
    ...recording,
    name: `${recording.name}, without its frames`,
    contentType: 'text/event-stream',
    facts: { ...facts, protocol: 'messages-stream' },
    body: Buffer.from(framesOf(recording.body).map(unwrapped).join('')),
  }));

function unwrapped({ payload }: Frame): string {
  const inner = Buffer.from(String(payload['bytes']), 'base64').toString();
  return `event: ${(JSON.parse(inner) as { type: string }).type}\ndata: ${inner}\n\n`;
}

export const vectors = (): readonly Recording<VectorFacts>[] =>
  recordingsOf<VectorFacts>('eventstream-vector');

interface Frame {
  readonly type: string;
  readonly payload: Loose;
  readonly end: number;
}

/** The frames of a recording, read by another implementation. */
export function framesOf(body: Buffer): readonly Frame[] {
  const codec = new EventStreamCodec(
    (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
    (text) => Buffer.from(text, 'utf8'),
  );
  const frames: Frame[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + body.readUInt32BE(at);
    const { headers, body: payload } = codec.decode(body.subarray(at, end));
    frames.push({
      type: String(headers[':event-type']?.value),
      payload: JSON.parse(Buffer.from(payload).toString('utf8')) as Loose,
      end,
    });
    at = end;
  }
  return frames;
}

/** The offset at which each frame begins. */
export const frameStarts = (body: Buffer): readonly number[] =>
  [0, ...framesOf(body).map(({ end }) => end)].slice(0, -1);

/** The length at which the stop is complete. */
export const stopEnd = (body: Buffer): number =>
  framesOf(body).find(({ type }) => type === 'messageStop')?.end ?? Number.POSITIVE_INFINITY;

/** The cuts of any body, and cuts at every offset that is critical for a decoder of frames. */
export function frameCuts(body: Buffer): readonly Cuts[] {
  const inside = [1, 4, 7, 8, 11, 12, 13];
  const offsets = frameStarts(body).flatMap((start) => inside.map((byte) => start + byte));
  return [...cutsFor(body).filter(({ kind }) => kind !== 'at'), { kind: 'at', offsets }];
}

/** Usage as it is billed: input, cache read and cache write are the prompt (rule 36.10). */
export const billed = ({ usage }: Pick<ConverseStreamFacts, 'usage'>): Required<UsageFacts> | undefined =>
  usage === undefined
    ? undefined
    : {
        prompt_tokens: usage.inputTokens + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0),
        completion_tokens: usage.outputTokens,
        total_tokens: usage.totalTokens,
      };

/** The finish reason that a caller must receive, independent of the product's code. */
export const finishOf: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  guardrail_intervened: 'content_filter',
};

/** A call that the caller must answer; the platform answers its own. */
interface RecordedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

const isOwn = ({ type }: Loose): boolean => type === 'server_tool_use';

const toolIn = (holder: unknown): readonly Loose[] =>
  isLoose(holder) && isLoose(holder['toolUse']) ? [holder['toolUse']] : [];

const callOf = ({ toolUseId, name }: Loose, input: string): RecordedCall => ({
  id: String(toolUseId),
  name: String(name),
  arguments: input,
});

/** The caller's calls of a stream; the arguments are those of the facts. */
export function streamedCalls({ body, facts }: Recording<ConverseStreamFacts>): readonly RecordedCall[] {
  const starts = framesOf(body)
    .filter(({ type }) => type === 'contentBlockStart')
    .flatMap(({ payload }) => toolIn(payload['start']));
  const inputs = facts.blocks.filter(({ kind }) => kind === 'toolUse').map(({ inputJson }) => inputJson);
  if (inputs.length !== starts.length) throw new Error('The facts know other calls than the frames.');
  return starts.flatMap((start, index) => (isOwn(start) ? [] : [callOf(start, inputs[index] || '{}')]));
}

/** The caller's calls of a whole answer. */
export function wholeCalls(body: Buffer): readonly RecordedCall[] {
  const { output } = JSON.parse(body.toString('utf8')) as { readonly output: { readonly message: Loose } };
  return listOf(output.message['content'])
    .flatMap(toolIn)
    .filter((tool) => !isOwn(tool))
    .map((tool) => callOf(tool, JSON.stringify(tool['input'])));
}
