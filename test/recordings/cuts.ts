import { type Cuts, randomNumbers } from '../support/replay-upstream.ts';

/** Byte by byte for short bodies; random cuts and cuts at every critical offset for all. */
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

/** Longer bodies are not cut at every byte, but at many. */
const endBytes = 12_000;
const manyEnds = 1500;

/** The lengths to cut a stream at: all if it is short, else many, and those around the given places. */
export const endLengths = (body: Buffer, places: readonly number[]): readonly number[] =>
  body.length <= endBytes ? everyLength(body) : lengthsAround(body, places, manyEnds);

/** The most bytes of one recording that are read in total, since each cut reads all bytes before it. */
const readBytes = 20_000_000;

/** As `endLengths`, for suites of many recordings: fewer cuts where a recording is long. */
export const someEndLengths = (body: Buffer, places: readonly number[]): readonly number[] =>
  body.length <= manyEnds
    ? everyLength(body)
    : lengthsAround(body, places, Math.min(manyEnds, Math.ceil(readBytes / body.length)));

const everyLength = (body: Buffer): readonly number[] => [...body.keys(), body.length];

/** Zero, the whole length, some at random, and those around the given places. */
export function lengthsAround(body: Buffer, places: readonly number[], some = 3): readonly number[] {
  const random = randomNumbers(body.length);
  const lengths = [0, body.length, ...Array.from({ length: some }, () => Math.floor(random() * body.length))];
  for (const place of places) lengths.push(place - 1, place, place + 3);
  return [...new Set(lengths.filter((length) => length <= body.length))];
}
