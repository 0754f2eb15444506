import { type Cuts, randomNumbers } from '../support/replay-upstream.ts';

/** Byte by byte for bodies that are short enough; random cuts, and every awkward place, for all. */
export function cutsFor(body: Buffer): readonly Cuts[] {
  const cuts: Cuts[] = [
    { kind: 'whole' },
    { kind: 'random', seed: 1 },
    { kind: 'random', seed: 2 },
    { kind: 'at', offsets: awkward(body) },
  ];
  return body.length <= 4096 ? [...cuts, { kind: 'bytes' }] : cuts;
}

const LF = 0x0a;

/** Around line ends and inside UTF-8 sequences. */
const awkward = (body: Buffer): readonly number[] =>
  [...body.keys()].filter((at) => body[at] === LF || ((body[at] ?? 0) & 0xc0) === 0x80);

/** Longer ones do not end after every byte, but after many of them. */
const endBytes = 12_000;
const manyEnds = 1500;

/** After every byte of a stream that is short enough; else after many of them, and all around the places. */
export const endLengths = (body: Buffer, places: readonly number[]): readonly number[] =>
  body.length <= endBytes ? everyLength(body) : lengthsAround(body, places, manyEnds);

/** Every end makes a machine read all that is before it: so many bytes of one recording are read at most. */
const readBytes = 20_000_000;

/** The same where each of many recordings ends: after many of its bytes, fewer where it is long. */
export const someEndLengths = (body: Buffer, places: readonly number[]): readonly number[] =>
  body.length <= manyEnds
    ? everyLength(body)
    : lengthsAround(body, places, Math.min(manyEnds, Math.ceil(readBytes / body.length)));

const everyLength = (body: Buffer): readonly number[] => [...body.keys(), body.length];

/** Nothing, all, some at random, and all around the places. */
export function lengthsAround(body: Buffer, places: readonly number[], some = 3): readonly number[] {
  const random = randomNumbers(body.length);
  const lengths = [0, body.length, ...Array.from({ length: some }, () => Math.floor(random() * body.length))];
  for (const place of places) lengths.push(place - 1, place, place + 3);
  return [...new Set(lengths.filter((length) => length <= body.length))];
}
