// What `npm run bench` measures, as data only.
import { pacedFrames, type RequestName } from './requests.ts';

/**
 * Closed loop: this many callers, each of which sends its next request when it has its answer. Open loop: a fixed rate.
 */
export type Load =
  | { readonly callers: number; readonly requests: number }
  | { readonly perSecond: number; readonly seconds: number };

/**
 * The measures of a load: CPU of the serving process and of its PostgreSQL in microseconds per unit, and times in
 * milliseconds, of whole calls and to the first byte of the answer's body.
 */
export type Measure = 'cpu' | 'database' | 'p50' | 'p99' | 'firstP50' | 'firstP99';

/** The gateway's profiles by name, the same in other modes, and what they are compared with. */
export type SideName =
  | 'bare proxy'
  | 'pass-through'
  | 'budgeted'
  | 'full'
  | 'budgeted, /v1/messages'
  | 'full, two workers'
  | 'portkey'
  | 'a commit';

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly load: Load;
  readonly request: RequestName;
  /** The unit that CPU is divided by, and the number of units in a request. */
  readonly unit: 'request' | 'frame';
  readonly unitsPerRequest: number;
  /** The first one is the yardstick for the others. */
  readonly sides: readonly SideName[];
  /** Measured in the same rounds, but not compared. */
  readonly beside: readonly SideName[];
  /** Whether a peer is measured too. */
  readonly withPeer: boolean;
  readonly measures: readonly Measure[];
  /** Rounds that do not count, so that compilation is not measured. */
  readonly warmRounds: number;
}

const perRequest = { unit: 'request', unitsPerRequest: 1 } as const;
const perFrame = { unit: 'frame', unitsPerRequest: pacedFrames } as const;
const profiles = {
  sides: ['bare proxy', 'pass-through', 'budgeted', 'full'],
  beside: [],
  withPeer: true,
  warmRounds: 1,
} as const;
/** The cost of a request, side by side. */
const costPerRequest = { ...perRequest, ...profiles, measures: ['cpu', 'database'] } as const;
const families = {
  sides: ['budgeted', 'budgeted, /v1/messages'],
  beside: [],
  withPeer: false,
  measures: ['cpu'],
  warmRounds: 1,
} as const;

const small = { callers: 32, requests: 4000 };
const large = { callers: 8, requests: 400 };
const streams = { callers: 100, requests: 200 };

export const scenarios: readonly Scenario[] = [
  {
    name: 'small',
    title: 'A small chat, 32 connections',
    load: small,
    request: 'small',
    ...costPerRequest,
  },
  {
    name: '100kb',
    title: 'A chat of 100 KB, 8 connections',
    load: large,
    request: '100 KB',
    ...costPerRequest,
  },
  {
    name: '1mb',
    title: 'A chat of 1 MB, 4 connections',
    load: { callers: 4, requests: 60 },
    request: '1 MB',
    ...costPerRequest,
  },
  {
    name: 'streams',
    title: '100 concurrent streams, a frame every 20 ms',
    load: streams,
    request: 'paced',
    ...perFrame,
    ...profiles,
    measures: ['cpu', 'database'],
  },
  {
    name: 'sequential',
    title: 'One small chat at a time',
    load: { callers: 1, requests: 500 },
    request: 'small',
    ...perRequest,
    ...profiles,
    beside: ['a commit'],
    measures: ['p50', 'cpu', 'database'],
  },
  {
    name: 'first-token',
    title: 'First token, 100 streams per second',
    load: { perSecond: 100, seconds: 3 },
    request: 'streamed',
    ...perRequest,
    ...profiles,
    measures: ['firstP50', 'firstP99'],
    // All sides are warmed up by then.
    warmRounds: 0,
  },
  {
    name: 'steady',
    title: 'Whole calls, 300 small chats per second',
    load: { perSecond: 300, seconds: 4 },
    request: 'small',
    ...perRequest,
    ...profiles,
    beside: ['a commit'],
    measures: ['p50', 'p99'],
    // All sides are warmed up by then.
    warmRounds: 0,
  },
  {
    name: 'workers',
    title: 'One and two workers, a small chat, 32 connections',
    load: small,
    request: 'small',
    ...perRequest,
    sides: ['full', 'full, two workers'],
    beside: [],
    withPeer: false,
    measures: ['cpu', 'database'],
    warmRounds: 1,
  },
  {
    name: 'messages-small',
    title: 'A small chat in two API families',
    load: small,
    request: 'small',
    ...perRequest,
    ...families,
  },
  {
    name: 'messages-100kb',
    title: 'A chat of 100 KB in two API families',
    load: large,
    request: '100 KB of prose',
    ...perRequest,
    ...families,
  },
  {
    name: 'messages-streams',
    title: 'Paced streams in two API families',
    load: streams,
    request: 'paced',
    ...perFrame,
    ...families,
  },
];

/** The load with the requests, or the time, multiplied by `scale`. Never fewer requests than callers. */
export const scaled = (load: Load, scale: number): Load =>
  'callers' in load
    ? { ...load, requests: Math.max(load.callers, Math.round(load.requests * scale)) }
    : { ...load, seconds: load.seconds * scale };
