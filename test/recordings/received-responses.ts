import { isLoose, listOf, type Loose, type ReceivedEvent, readEvents } from './received.ts';

/** A responses stream as a caller parses it, without the code of the gateway. */
export interface ReceivedResponses {
  /** The data of every event, in order. */
  readonly payloads: readonly string[];
  /** Every event but `[DONE]`. */
  readonly events: readonly ReceivedEvent[];
  /** The payloads of `events`. */
  readonly chunks: readonly Loose[];
  /** The payloads of type `error`. */
  readonly errors: readonly Loose[];
  /** The number of `[DONE]`. */
  readonly dones: number;
  /** The text of the deltas. */
  readonly text: string;
  /** The response in the last event that has one. */
  readonly response: Loose;
}

const isDone = ({ data }: ReceivedEvent): boolean => data.trim() === '[DONE]';

export function readResponses(bytes: Buffer): ReceivedResponses {
  const all = readEvents(bytes);
  const events = all.filter((event) => !isDone(event));
  const chunks = events.map(({ data }) => JSON.parse(data) as Loose);
  const deltas = chunks.filter(({ type }) => type === 'response.output_text.delta');
  return {
    payloads: all.map(({ data }) => data),
    events,
    chunks,
    errors: chunks.filter(({ type }) => type === 'error'),
    dones: all.length - events.length,
    text: deltas.map(({ delta }) => String(delta)).join(''),
    response: chunks.map(({ response }) => response).findLast(isLoose) ?? {},
  };
}

/** Successful terminal events. */
export const isTerminal = ({ type }: Loose): boolean =>
  type === 'response.completed' || type === 'response.incomplete';

/** The texts of a response's messages, joined. */
export const outputText = (response: Loose): string =>
  listOf(response['output'])
    .filter(({ type }) => type === 'message')
    .flatMap(({ content }) => listOf(content))
    .filter(({ type }) => type === 'output_text')
    .map(({ text }) => String(text))
    .join('');
