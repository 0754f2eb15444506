import { createHash } from 'node:crypto';
import type { TextFacts } from './library.ts';

/** JSON as a caller reads it, of an unknown shape. */
export type Loose = Readonly<Record<string, unknown>>;

export interface ReceivedChoice {
  readonly finishReason: string | null;
  readonly text: string;
  readonly reasoning: string;
}

export interface ReceivedToolCall {
  /** `CHOICE:INDEX`, or `CHOICE:ID` when the pieces have no index. */
  readonly key: string;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
}

/** A chat stream as a caller parses it, without the code of the gateway. */
export interface ReceivedStream {
  /** The data of every event, in order. */
  readonly payloads: readonly string[];
  /** Every payload that is neither `[DONE]` nor an error. */
  readonly chunks: readonly Loose[];
  readonly errors: readonly Loose[];
  /** The number of `[DONE]`. */
  readonly dones: number;
  readonly choices: Readonly<Record<string, ReceivedChoice>>;
  readonly toolCalls: readonly ReceivedToolCall[];
  /** The usage of the last chunk that has one at its top level. */
  readonly usage: Loose | undefined;
}

export const isLoose = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const listOf = (value: unknown): readonly Loose[] =>
  Array.isArray(value) ? value.filter(isLoose) : [];

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const nameOf = (value: unknown): string | undefined =>
  typeof value === 'number' || typeof value === 'string' ? String(value) : undefined;

/** One complete event of a stream. */
export interface ReceivedEvent {
  readonly name: string | undefined;
  readonly data: string;
  /** Its exact bytes, including the blank line. */
  readonly wire: Buffer;
  /** Offset of the first byte after the one that completes it. */
  readonly to: number;
}

/** The events by the standard: lines end with LF, CRLF or CR, and an event must end with a blank line. */
export function readEvents(bytes: Buffer): readonly ReceivedEvent[] {
  const text = bytes.toString('latin1');
  const events: ReceivedEvent[] = [];
  let fields: [name: string, value: string][] = [];
  let line = 0;
  let block = 0;
  for (const match of text.matchAll(/\r\n|\n|\r/g)) {
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(text.slice(line, match.index)) ?? [];
    const isBlank = line === match.index;
    line = match.index + match[0].length;
    if (!isBlank) {
      fields.push([field ?? '', Buffer.from(value ?? '', 'latin1').toString()]);
      continue;
    }
    const data = fields.filter(([name]) => name === 'data').map(([, each]) => each);
    const name = fields.findLast(([each]) => each === 'event')?.[1];
    if (data.length > 0)
      events.push({ name, data: data.join('\n'), wire: bytes.subarray(block, line), to: match.index + 1 });
    fields = [];
    block = line;
  }
  return events;
}

/** The data of each complete event. */
export const eventData = (bytes: Buffer): readonly string[] => readEvents(bytes).map(({ data }) => data);

export function readStream(bytes: Buffer, namespace?: string): ReceivedStream {
  const payloads = eventData(bytes);
  const values = payloads.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as Loose);
  const isError = (value: Loose) => value['error'] !== undefined && value['error'] !== null;
  const chunks = values.filter((value) => !isError(value));
  return {
    payloads,
    chunks,
    errors: values.filter(isError),
    dones: payloads.filter((data) => data === '[DONE]').length,
    ...collected(chunks, namespace),
    usage: chunks.map((chunk) => chunk['usage']).findLast(isLoose),
  };
}

function collected(
  chunks: readonly Loose[],
  namespace: string | undefined,
): Pick<ReceivedStream, 'choices' | 'toolCalls'> {
  const choices: Record<string, ReceivedChoice> = {};
  const toolCalls = new Map<string, ReceivedToolCall>();
  for (const choice of chunks.flatMap((chunk) => listOf(chunk['choices']))) {
    const index = nameOf(choice['index']) ?? '0';
    const delta = isLoose(choice['delta']) ? choice['delta'] : {};
    const before = choices[index] ?? { finishReason: null, text: '', reasoning: '' };
    const finish = choice['finish_reason'];
    choices[index] = {
      finishReason: typeof finish === 'string' && finish !== '' ? finish : before.finishReason,
      text: before.text + contentText(delta['content']),
      reasoning: before.reasoning + reasoningText(delta, namespace),
    };
    for (const piece of listOf(delta['tool_calls'])) addPiece(toolCalls, index, piece);
  }
  return { choices, toolCalls: [...toolCalls.values()] };
}

function addPiece(calls: Map<string, ReceivedToolCall>, choice: string, piece: Loose): void {
  const key = `${choice}:${nameOf(piece['index']) ?? nameOf(piece['id']) ?? '?'}`;
  const named = isLoose(piece['function']) ? piece['function'] : {};
  const before = calls.get(key);
  calls.set(key, {
    key,
    id: before?.id ?? (textOf(piece['id']) || undefined),
    name: before?.name ?? (textOf(named['name']) || undefined),
    arguments: (before?.arguments ?? '') + textOf(named['arguments']),
  });
}

/** Text, or the texts of an array of parts. */
export const contentText = (content: unknown): string =>
  textOf(content) ||
  listOf(content)
    .filter((part) => part['type'] === 'text')
    .map((part) => textOf(part['text']))
    .join('');

/** Reasoning where the gateway puts it: in the canonical field, or under the provider's metadata. */
const reasoningText = (delta: Loose, namespace: string | undefined): string =>
  textOf(delta['reasoning']) + thinkingParts(delta, namespace).map(thinkingText).join('');

/** The native parts under `provider_metadata.<provider>.reasoning`. */
export function thinkingParts(message: Loose, namespace = 'compat'): readonly Loose[] {
  const metadata = isLoose(message['provider_metadata']) ? message['provider_metadata'] : {};
  const own = isLoose(metadata[namespace]) ? metadata[namespace] : {};
  return listOf(own['reasoning']);
}

const thinkingText = (part: Loose): string =>
  textOf(part['thinking']) ||
  listOf(part['thinking'])
    .map((inner) => textOf(inner['text']))
    .join('');

export const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

/** The facts of a text, as the metadata have them. */
export const factsOf = (text: string): TextFacts => ({ chars: text.length, sha256: sha256(text) });
