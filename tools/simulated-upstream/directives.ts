import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { chunkMaxBytes, chunksMax, delayMaxMs, lineMaxBytes } from './bounds.ts';

/**
 * A place between two frames of a stream. A number N: after N content deltas, where 0 is before the role delta.
 * `role`: after the role delta. `finish`: after the finish chunk. `end`: after everything but `[DONE]`.
 * Responses: the role delta is `response.created`, the finish chunk the terminal event. Messages: the role delta is
 * `message_start`, the finish chunk `message_delta`, and `message_stop` stands for `[DONE]`.
 */
export type Gap = number | 'role' | 'finish' | 'end';

/** A frame of a stream. A number N: the Nth content delta, where 0 is the role delta. */
export type FrameName = number | 'finish' | 'usage' | 'done';

/**
 * Where a stream (or a whole answer) carries its usage; `last` is the usage-only chunk. The other families have one
 * place for it, so there every word but `none` means that place.
 */
export type UsagePlace = 'none' | 'finish' | 'choices' | 'last';

/** How a response ends: its status; `error-failed` is an `error` event and then the failure, as quota faults come. */
export type Terminal = 'completed' | 'incomplete' | 'failed' | 'error-failed' | 'cancelled';

/** Reads the text of one directive; undefined means that the text is not understood. */
type Reader<T> = (text: string) => T | undefined;

const whole =
  (min: number, max: number): Reader<number> =>
  (text) =>
    /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined;

const flag: Reader<boolean> = (text) => {
  if (['', 'on', 'true', '1'].includes(text)) return true;
  return ['off', 'false', '0'].includes(text) ? false : undefined;
};

const anyText: Reader<string> = (text) => text;

/** Text that may stand in a response header. */
const headerText: Reader<string> = (text) => (/^[\x20-\x7e]+$/.test(text) ? text : undefined);

const word =
  <T extends string>(...words: readonly T[]): Reader<T> =>
  (text) =>
    words.find((known) => known === text);

/** A number or one of some words; `bare` is meant when the directive stands without a value. */
const place =
  <T extends string>(bare: number | T, ...words: readonly T[]): Reader<number | T> =>
  (text) =>
    text === '' ? bare : (word(...words)(text) ?? whole(0, chunksMax)(text));

const readers = {
  /** Milliseconds before the response head. */
  'latency-ms': whole(0, delayMaxMs),
  /** Milliseconds before each content and reasoning delta. */
  'chunk-delay-ms': whole(0, delayMaxMs),
  /** How many content deltas the text is cut into; the text is repeated when it has fewer words. */
  chunks: whole(0, chunksMax),
  /** Each content delta is exactly that many bytes of filler text. */
  'chunk-bytes': whole(1, chunkMaxBytes),
  /** Streams are written in pieces of that many bytes, whatever the frames. */
  'write-bytes': whole(1, chunkMaxBytes),
  /** Token counts: any text, put into the answer as it is; without text the field is left out. */
  'prompt-tokens': anyText,
  'completion-tokens': anyText,
  'total-tokens': anyText,
  'reasoning-tokens': anyText,
  'cached-tokens': anyText,
  'cache-write-tokens': anyText,
  usage: word<UsagePlace>('none', 'finish', 'choices', 'last'),
  /** Reasoning before the content: `reasoning_content`, a reasoning item or a thinking block. */
  reasoning: flag,
  /** A tool call, when the request has function tools and its last message is the user's. */
  tools: flag,
  /** Two tool calls, likewise. */
  'parallel-tools': flag,
  /** The id of every tool call of the answer, instead of a made-up one. */
  'tool-id': anyText,
  /** Which of the offered tools is called when the request leaves the choice open. */
  'tool-name': anyText,
  /** The arguments of every tool call of the answer: any text, as it is. */
  'tool-arguments': anyText,
  /** The id of the answer. */
  id: anyText,
  /** The finish reason; the stop reason of a message; the status of a response, whatever its terminal event says. */
  finish: anyText,
  /** How a response ends. */
  terminal: word<Terminal>('completed', 'incomplete', 'failed', 'error-failed', 'cancelled'),
  /** `"digits":[9007199254740993,0.10]` in every chunk: numbers that a second printing would change. */
  digits: flag,
  /** Status of an error answer in the family's envelope. */
  status: whole(300, 599),
  /** The `retry-after` header. */
  'retry-after': headerText,
  /** The code of `status`, `json-error` and `error-at`. */
  code: anyText,
  /** The message of `status`, `json-error`, `error-at` and of a response that failed. */
  message: anyText,
  /** Status 200 with a JSON error body, streamed or not. */
  'json-error': flag,
  /** A text/html page instead of an answer. */
  html: flag,
  /** No body at all. */
  empty: flag,
  'content-type': headerText,
  gzip: flag,
  /** Lines end with CR LF. */
  crlf: flag,
  /** A comment line before every frame. */
  comments: flag,
  /** Leaves out the `event:` lines. */
  'no-event-lines': flag,
  /** Puts the `data:` line of an event before its `event:` line. */
  'data-first': flag,
  /** One line without end, of that many bytes, then the end of the body. */
  'long-line': whole(1, lineMaxBytes),
  /** Close the socket at the gap; 0 is before the response head. */
  break: place<'role' | 'finish' | 'end'>(0, 'role', 'finish', 'end'),
  /** Close the socket in the middle of the frame. */
  cut: place<'finish' | 'usage' | 'done'>(1, 'finish', 'usage', 'done'),
  /** End the body cleanly at the gap. */
  eof: place<'role' | 'finish' | 'end'>(1, 'role', 'finish', 'end'),
  /** An error chunk at the gap, then the end without `[DONE]`. */
  'error-at': place<'role' | 'finish' | 'end'>(1, 'role', 'finish', 'end'),
  /** A frame of malformed JSON at the gap; the stream goes on after it. */
  garbage: place<'role' | 'finish' | 'end'>(1, 'role', 'finish', 'end'),
  /** A frame of another family at the gap; the stream goes on after it. */
  foreign: place<'role' | 'finish' | 'end'>(1, 'role', 'finish', 'end'),
  /** Silence from the gap on, the socket stays open; `headers`: not even a response head. */
  hang: place<'role' | 'finish' | 'end' | 'headers'>('end', 'role', 'finish', 'end', 'headers'),
  /** `[DONE]` at the end of a responses stream, where the real one has none. */
  done: flag,
  'no-done': flag,
  'no-finish': flag,
};

type Readers = typeof readers;

/** The name of a directive, as it is written in a request. */
export type DirectiveName = keyof Readers;

/** What one request asks of the simulation; nothing set means an ordinary answer. */
export type Directives = { readonly [K in DirectiveName]?: NonNullable<ReturnType<Readers[K]>> };

const isDirectiveName = (name: string): name is DirectiveName => Object.hasOwn(readers, name);

/**
 * Reads named texts into directives. Of a name that comes more than once the last text counts; `_` in a name equals
 * `-`; undefined takes the directive back. Left is a sentence that names the directive that is not understood.
 */
export function readDirectives(
  pairs: Iterable<readonly [name: string, text: string | undefined]>,
): Either<string, Directives> {
  const read = new Map<string, unknown>();
  for (const [spelled, text] of pairs) {
    const name = spelled.replaceAll('_', '-');
    if (!isDirectiveName(name)) return E.left(`Unknown simulation directive '${spelled}'.`);
    if (text === undefined) {
      read.delete(name);
      continue;
    }
    const value = readers[name](text);
    if (value === undefined) return E.left(`Simulation directive '${spelled}' does not take '${text}'.`);
    read.set(name, value);
  }
  return E.right(Object.fromEntries(read));
}
