import type { Json } from '../shared/json.ts';
import { maxPayloadDepth } from '../shared/limits.ts';
import { type Read, readWritten } from './read-written.ts';
import { isHiddenHeader } from './secret-headers.ts';
import { marker } from '../text/text-edits.ts';
import { Items, Members, type Written } from '../text/written.ts';

/** The members at the root of wrapped payloads: requests, responses, streams, and invocations of MCP tools. */
export const payloadRoots = [
  'headers',
  'body',
  'stream',
  'events',
  'usage',
  'error',
  'arguments',
  'result',
] as const;
export type PayloadRoot = (typeof payloadRoots)[number];

/** A payload root with these members. */
const root = (members: readonly (readonly [PayloadRoot, Written])[]): Members =>
  new Members(
    members.map(([key]) => key),
    members.map(([, value]) => value),
  );

/** Headers of a request, as the HTTP layer reads them. */
export type PayloadHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A missing or unreadable body is null. */
export const wrapRequest = (headers: PayloadHeaders, body: Written): Members =>
  root([
    ['headers', writtenHeaders(headers)],
    ['body', body],
  ]);

export const wrapResponse = (body: Written): Members => root([['body', body]]);

export const wrapStream = (events: readonly Written[], usage: Written, error: Written): Members =>
  root([
    ['stream', true],
    ['events', new Items(events)],
    ['usage', usage],
    ['error', error],
  ]);

export type InvocationRoot = Extract<PayloadRoot, 'arguments' | 'result' | 'error'>;
export const wrapInvocation = (side: InvocationRoot, value: Written): Members => root([[side, value]]);

/** Redacts credentials at once, because a header's name says more about it than the same key in a body. */
function writtenHeaders(headers: PayloadHeaders): Members {
  const keys: string[] = [];
  const values: Written[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    keys.push(name);
    if (isHiddenHeader(name)) values.push(marker);
    else values.push(typeof value === 'string' ? value : new Items(value));
  }
  return new Members(keys, values);
}

/** Where a value stands: in the root of a wrapped payload, or among its events. */
type Place = 'root' | 'events';
const levelsAbove: Readonly<Record<Place, number>> = { root: 1, events: 2 };

const nothing: Read = { value: null, truncated: false };

/** A text parsed for a wrapped payload, no deeper than a payload may be; null when it is missing or not JSON. */
export const wrappable = (text: string | undefined, isParsed: boolean, place: Place = 'root'): Read =>
  (text === undefined ? undefined : readWritten(text, maxPayloadDepth - levelsAbove[place], isParsed)) ??
  nothing;

/** The same for a value that did not come as text. */
export const wrappableValue = (value: Json | undefined): Written =>
  value === undefined ? null : wrappable(JSON.stringify(value), true).value;
