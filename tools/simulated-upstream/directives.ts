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

/**
 * How a response ends: its status. `error-failed` is an `error` event and then the failure, as providers send quota
 * errors.
 */
export type Terminal = 'completed' | 'incomplete' | 'failed' | 'error-failed' | 'cancelled';

/** Reads the text of a directive; `undefined` when it is not understood. */
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

/** Text that a response header may contain. */
const headerText: Reader<string> = (text) => (/^[\x20-\x7e]+$/.test(text) ? text : undefined);

const word =
  <T extends string>(...words: readonly T[]): Reader<T> =>
  (text) =>
    words.find((known) => known === text);

/** A number or one of some words. `bare` is the value of a directive without text. */
const place =
  <T extends string>(bare: number | T, ...words: readonly T[]): Reader<number | T> =>
  (text) =>
    text === '' ? bare : (word(...words)(text) ?? whole(0, chunksMax)(text));

const readers = {
  /** Milliseconds before the response head. */
  'latency-ms': whole(0, delayMaxMs),
  /** Milliseconds before each content and reasoning delta. */
  'chunk-delay-ms': whole(0, delayMaxMs),
  /** How many content deltas the text is split into. It is repeated when it has fewer words. */
  chunks: whole(0, chunksMax),
  /** Each content delta is exactly this many bytes of filler text. */
  'chunk-bytes': whole(1, chunkMaxBytes),
  /** Streams are written in pieces of this many bytes, whatever the frames. */
  'write-bytes': whole(1, chunkMaxBytes),
  /** Token counts: any text, which is put into the answer as it is. An empty text leaves the field out. */
  'prompt-tokens': anyText,
  'completion-tokens': anyText,
  'total-tokens': anyText,
  'reasoning-tokens': anyText,
  'cached-tokens': anyText,
  'cache-write-tokens': anyText,
  usage: word<UsagePlace>('none', 'finish', 'choices', 'last'),
  /** Reasoning before the content: `reasoning_content`, a reasoning item or a thinking block. */
  reasoning: flag,
  /** A tool call, if the request has function tools and its last message is the user's. */
  tools: flag,
  /** Two tool calls, under the same conditions. */
  'parallel-tools': flag,
  /** The id of every tool call in the answer, instead of a generated one. */
  'tool-id': anyText,
  /** The offered tool that is called when the request leaves the choice open. */
  'tool-name': anyText,
  /** The arguments of every tool call in the answer: any text, as it is. */
  'tool-arguments': anyText,
  /** The id of the answer. */
  id: anyText,
  /** The finish reason, the stop reason of a message, or the status of a response, whatever its terminal event is. */
  finish: anyText,
  /** How a response ends. */
  terminal: word<Terminal>('completed', 'incomplete', 'failed', 'error-failed', 'cancelled'),
  /** `"digits":[9007199254740993,0.10]` in every chunk: numbers that parsing and printing again would change. */
  digits: flag,
  /** The status of an error answer in the family's envelope. */
  status: whole(300, 599),
  /** The `retry-after` header. */
  'retry-after': headerText,
  /** The code of `status`, `json-error` and `error-at`. */
  code: anyText,
  /** The message of `status`, `json-error`, `error-at` and of a failed response. */
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
  /** A line that does not end, of this many bytes, then the end of the body. */
  'long-line': whole(1, lineMaxBytes),
  /** Close the socket at the gap; 0 is before the response head. */
  break: place<'role' | 'finish' | 'end'>(0, 'role', 'finish', 'end'),
  /** Close the socket in the middle of the frame. */
  cut: place<'finish' | 'usage' | 'done'>(1, 'finish', 'usage', 'done'),
  /** End the body cleanly at the gap. */
  eof: place<'role' | 'finish' | 'end'>(1, 'role', 'finish', 'end'),
  /** An error chunk at the gap, then the end without `[DONE]`. */
  'error-at': place<'role' | 'finish' | 'end'>(1, 'role', 'finish', 'end'),
  /** A frame of malformed JSON at the gap, after which the stream continues. */
  garbage: place<'role' | 'finish' | 'end'>(1, 'role', 'finish', 'end'),
  /** A frame of another family at the gap, after which the stream continues. */
  foreign: place<'role' | 'finish' | 'end'>(1, 'role', 'finish', 'end'),
  /** Silence from the gap on, with the socket open; `headers`: not even a response head. */
  hang: place<'role' | 'finish' | 'end' | 'headers'>('end', 'role', 'finish', 'end', 'headers'),
  /** `[DONE]` at the end of a responses stream, where the real one has none. */
  done: flag,
  'no-done': flag,
  'no-finish': flag,
};

type Readers = typeof readers;

/** The name of a directive in a request. */
export type DirectiveName = keyof Readers;

/** The directives of a request. Without any, the answer is ordinary. */
export type Directives = { readonly [K in DirectiveName]?: NonNullable<ReturnType<Readers[K]>> };

const isDirectiveName = (name: string): name is DirectiveName => Object.hasOwn(readers, name);

/**
 * Reads named texts into directives. The last text of a name counts, `_` in a name equals `-`, and `undefined` removes
 * the directive. Left is a sentence that names the directive that is not understood.
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
