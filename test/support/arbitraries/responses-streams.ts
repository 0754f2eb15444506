import * as fc from 'fast-check';
import { aLineEnding } from './event-streams.ts';
import { exactJsonText } from './json-text.ts';

/** One event of a responses stream as an upstream may send it, and what it means. */
export interface ResponsesItem {
  readonly means:
    | 'event'
    | 'terminal'
    /** The upstream's own `[DONE]`. */
    | 'done'
    /** The upstream's own failure event of the protocol. */
    | 'failure'
    /** An error in another format. */
    | 'error'
    /** An event that contradicts itself or the protocol. */
    | 'mismatch'
    | 'malformed'
    | 'nothing';
  readonly lines: readonly string[];
}

const response = (status: string, more = ''): string =>
  `"response":{"id":"resp_1","object":"response","status":"${status}","output":[]${more}}`;

const usage = ',"usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8}';

/** `{"type":…}` with a name before it, after it, or without one; `type` may be the last key. */
const events = (
  means: ResponsesItem['means'],
  type: string,
  members: string,
): fc.Arbitrary<ResponsesItem> => {
  const payloads = [`{"type":"${type}",${members}}`, `{${members},"sequence_number":7,"type":"${type}"}`];
  return fc.constantFrom(
    ...payloads.flatMap((payload) => [
      { means, lines: [`data: ${payload}`] },
      { means, lines: [`event: ${type}`, `data: ${payload}`] },
      { means, lines: [`data:${payload}`, `event:${type}`] },
      { means, lines: [': comment', 'id: 7', `data: ${payload}`, `event: ${type}`] },
    ]),
  );
};

const oneOf = (
  means: ResponsesItem['means'],
  ...all: readonly (readonly string[])[]
): fc.Arbitrary<ResponsesItem> => fc.constantFrom(...all.map((lines) => ({ means, lines })));

const onTheWay = fc.oneof(
  events('event', 'response.created', response('in_progress')),
  events('event', 'response.queued', response('queued')),
  events(
    'event',
    'response.output_item.added',
    '"output_index":0,"item":{"type":"function_call","id":"fc_1"}',
  ),
  events('event', 'response.output_text.delta', '"delta":"Grüße 😀","n":9007199254740993'),
  events('event', 'response.refusal.delta', '"delta":"No"'),
  events('event', 'vendor.news', '"x":[1.50]'),
  oneOf(
    'event',
    ['data: {}'],
    ['event: message', 'data: {"type":"response.in_progress"}'],
    ['data: {', 'data: }'],
  ),
  exactJsonText.map((json) => ({
    means: 'event' as const,
    lines: [`data: {"type":"response.output_text.delta","delta":${json}}`],
  })),
);

const terminals = fc.oneof(
  events('terminal', 'response.completed', response('completed', usage)),
  events('terminal', 'response.incomplete', response('incomplete', usage)),
  events('terminal', 'response.completed', response('complete')),
);

const failures = fc.oneof(
  events('failure', 'error', '"code":"c","message":"key hunter2"'),
  events('failure', 'error', '"error":{"message":"quota","code":"insufficient_quota"}'),
  events('failure', 'response.failed', response('failed', ',"error":{"code":"c","message":"m"}')),
  events('failure', 'response.cancelled', response('cancelled')),
);

const mismatches = fc.oneof(
  events('mismatch', 'response.completed', response('failed')),
  events('mismatch', 'response.completed', response('incomplete')),
  events('mismatch', 'response.completed', '"sequence_number":1'),
  events('mismatch', 'response.incomplete', response('completed')),
  events('mismatch', 'response.failed', response('completed')),
  events('mismatch', 'response.in_progress', response('cancelled')),
  oneOf(
    'mismatch',
    ['event: response.created', 'data: {"type":"response.completed"}'],
    ['data: {"id":"c1","choices":[{"index":0,"delta":{"content":"Hi"}}]}'],
    ['data: {"object":"chat.completion.chunk","choices":[]}'],
  ),
);

/** Events of every kind; a stream of them is well-formed more often than not. */
const anItem: fc.Arbitrary<ResponsesItem> = fc.oneof<fc.WeightedArbitrary<ResponsesItem>[]>(
  { weight: 12, arbitrary: onTheWay },
  { weight: 3, arbitrary: terminals },
  { weight: 1, arbitrary: failures },
  { weight: 1, arbitrary: mismatches },
  { weight: 1, arbitrary: oneOf('done', ['data: [DONE]'], ['event: done', 'data:[DONE] ']) },
  {
    weight: 1,
    arbitrary: oneOf(
      'error',
      ['data: {"error":{"message":"m"}}'],
      ['event: error', 'data: {"type":"x","error":"m"}'],
    ),
  },
  {
    weight: 1,
    arbitrary: oneOf(
      'malformed',
      ['data: {"type":"response.'],
      ['data: <html>'],
      ['data: [1]'],
      ['data: null'],
    ),
  },
  { weight: 1, arbitrary: oneOf('nothing', [': ping'], ['event: ping'], ['data:'], ['id: 7']) },
);

export interface ResponsesScript {
  readonly items: readonly ResponsesItem[];
  /** The bytes of each item, including the blank line. */
  readonly wires: readonly Buffer[];
  readonly bytes: Buffer;
}

/** A whole stream of such events. */
export const aResponsesScript: fc.Arbitrary<ResponsesScript> = fc
  .tuple(fc.array(anItem, { maxLength: 12, size: 'max' }), aLineEnding)
  .map(([items, eol]) => {
    const wires = items.map(({ lines }) => Buffer.from(lines.map((line) => line + eol).join('') + eol));
    return { items, wires, bytes: Buffer.concat(wires) };
  });
