import type { Random } from './random.ts';

/** The limit for mutants: larger inputs are made by growing one input once. */
export const maxMutantBytes = 64 * 1024;

/** Material for mutations. */
export interface Sources {
  readonly others: readonly Buffer[];
  readonly words: readonly string[];
}

type Mutation = (input: Buffer, random: Random, sources: Sources) => Buffer;

/** The input with the bytes from `from` to `to` replaced. */
const replaced = (input: Buffer, from: number, to: number, by: Buffer): Buffer =>
  Buffer.concat([input.subarray(0, from), by, input.subarray(to)]);

/** A piece of the input: mostly a few bytes, sometimes of any length. */
function aSpan(input: Buffer, random: Random): readonly [from: number, to: number] {
  const from = random.below(input.length + 1);
  const longest = random.chance(0.7) ? 16 : input.length;
  return [from, Math.min(input.length, from + 1 + random.below(longest))];
}

const flipBits: Mutation = (input, random) => {
  const flipped = Buffer.from(input);
  for (let bits = 1 + random.below(4); bits > 0 && flipped.length > 0; bits -= 1) {
    const at = random.below(flipped.length);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8));
  }
  return flipped;
};

const edges = [0, 1, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d, 0x7f, 0x80, 0xff];

const setByte: Mutation = (input, random) => {
  const at = random.below(input.length + 1);
  return replaced(input, at, at + random.below(2), Buffer.from([random.pick(edges)]));
};

const take: Mutation = (input, random) => replaced(input, ...aSpan(input, random), Buffer.alloc(0));

const insert: Mutation = (input, random) => {
  const at = random.below(input.length + 1);
  const bytes = Buffer.from(Array.from({ length: 1 + random.below(8) }, () => random.below(256)));
  return replaced(input, at, at, bytes);
};

/** Repeats a piece once or many times, at any place. */
const repeat: Mutation = (input, random) => {
  const piece = input.subarray(...aSpan(input, random));
  const at = random.below(input.length + 1);
  const most = Math.max(1, Math.floor(maxMutantBytes / Math.max(1, 4 * piece.length)));
  const times = random.chance(0.8) ? 1 : 1 + random.below(Math.min(300, most));
  return replaced(input, at, at, Buffer.concat(Array.from({ length: times }, () => piece)));
};

const swap: Mutation = (input, random) => {
  const cuts = [0, 0, 0, 0].map(() => random.below(input.length + 1)).sort((a, b) => a - b);
  const [a = 0, b = 0, c = 0, d = 0] = cuts;
  const part = (from: number, to: number) => input.subarray(from, to);
  return Buffer.concat([part(0, a), part(c, d), part(b, c), part(a, b), part(d, input.length)]);
};

const splice: Mutation = (input, random, { others }) => {
  const other = random.pick(others);
  const at = random.below(input.length + 1);
  const piece = random.chance(0.5)
    ? other.subarray(random.below(other.length + 1))
    : other.subarray(...aSpan(other, random));
  return replaced(input, at, random.chance(0.5) ? input.length : at, piece);
};

const truncate: Mutation = (input, random) => input.subarray(0, random.below(input.length + 1));

const putWord: Mutation = (input, random, { words }) => {
  const at = random.below(input.length + 1);
  const word = Buffer.from(random.pick(words));
  return replaced(input, at, at + (random.chance(0.5) ? 0 : word.length), word);
};

const numbers = [
  '0',
  '-0',
  '-1',
  '1',
  '1.0',
  '1e0',
  '0.1',
  '255',
  '256',
  '65536',
  '2147483648',
  '4294967295',
  '9007199254740991',
  '9007199254740993',
  '-9007199254740993',
  '1e21',
  '1e308',
  '1e999',
  '-1e999',
  '123456789012345678901234567890',
  '1e-400',
  '00',
  '1.',
  '.5',
  'NaN',
  'Infinity',
  '0x10',
];

/** Replaces one of the numbers in the text. */
const setNumber: Mutation = (input, random) => {
  const found = [...input.toString('latin1').matchAll(/-?\d+(?:\.\d+)?/g)];
  if (found.length === 0) return input;
  const { index, 0: digits } = random.pick(found);
  return replaced(input, index, index + digits.length, Buffer.from(random.pick(numbers)));
};

/** Overwrites four or two bytes, which may be a length in a binary format. */
const setLength: Mutation = (input, random) => {
  if (input.length < 4) return input;
  const changed = Buffer.from(input);
  const value = random.pick([0, 1, 15, 16, 17, 0xff, 0xffff, 0x20000, 0x1000000, 0x7fffffff, 0xffffffff]);
  if (random.chance(0.7)) changed.writeUInt32BE(value, random.below(Math.min(64, input.length - 3)));
  else changed.writeUInt16BE(value & 0xffff, random.below(input.length - 1));
  return changed;
};

const depths = [2, 8, 254, 255, 256, 257, 300, 1000, 5000];

/** Inserts nested brackets, closed or not, around a value or in front of it. */
const nest: Mutation = (input, random) => {
  const depth = random.pick(depths);
  const [open, close] = random.pick([['[', ']'] as const, ['{"a":', '}'] as const]);
  const at = valueAt(input, random);
  const to = random.chance(0.5) ? at : Math.min(input.length, at + random.below(24));
  const inner = to === at ? '1' : input.toString('latin1', at, to);
  const text = open.repeat(depth) + inner + (random.chance(0.8) ? close.repeat(depth) : '');
  return replaced(input, at, to, Buffer.from(text, 'latin1'));
};

/** A place where a value may start: after a colon, a bracket or a comma. */
function valueAt(input: Buffer, random: Random): number {
  const found = [...input.toString('latin1').matchAll(/[:[,]\s?/g)];
  if (found.length === 0) return random.below(input.length + 1);
  const { index, 0: sign } = random.pick(found);
  return index + sign.length;
}

const values = [
  'null',
  'true',
  'false',
  '""',
  '" "',
  '"x"',
  '{}',
  '[]',
  '[null]',
  '[[]]',
  '[{}]',
  '{"type":"x"}',
  '"\\ud800"',
  '"\\u0000"',
  '0',
  '-1',
  '1.0',
  '1e999',
  '[1,"a",null]',
  '{"__proto__":1}',
  '"__proto__"',
];
const member = /("(?:[^"\\]|\\.){0,60}"\s?:\s?)(?:"(?:[^"\\]|\\.){0,200}"|[\w.+-]+|\{\}|\[\])?/g;

/** Replaces the value of a member, or repeats or removes the member. */
const editMember: Mutation = (input, random) => {
  const found = [...input.toString('latin1').matchAll(member)];
  if (found.length === 0) return input;
  const { index, 0: text, 1: key = '' } = random.pick(found);
  const to = random.chance(0.6) ? index + text.length : index;
  const by = random.pick([`${key}${random.pick(values)}`, `${key}${random.pick(values)}`, text, '']);
  return replaced(input, index, to, Buffer.from(to === index ? `${by},` : by, 'latin1'));
};

const strange = [
  '\\ud800',
  '\\udc00\\ud800',
  '\\u0000',
  '\\u0022',
  '\\u005c',
  '\\"',
  '\\',
  '\uFEFF',
  '\0',
  '\u2028',
  '\u0085',
  '\u202E',
  '\u{1F600}',
  'é',
  'e\u0301',
  'ſ',
  'K',
  'ﬁ',
  '\r',
  '\r\n',
  '\n\n',
  '\n',
  '\t',
  '\v',
].map((text) => Buffer.from(text));
/** Invalid UTF-8: a surrogate, an overlong NUL, an invalid lead byte, half of a character, a UTF-16 mark. */
const noText = [[0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf5], [0xe2, 0x82], [0xff, 0xfe]].map((bytes) =>
  Buffer.from(bytes),
);

const putStrange: Mutation = (input, random) => {
  const at = random.below(input.length + 1);
  return replaced(input, at, at, random.pick(random.chance(0.75) ? strange : noText));
};

/** Repeats, removes or moves one event, line or element. */
const editLines: Mutation = (input, random) => {
  const end = random.pick(['\n\n', '\n', ',']);
  const parts = input.toString('latin1').split(end);
  const at = random.below(parts.length);
  const [part = ''] = random.chance(0.5) ? parts.splice(at, 1) : [parts[at]];
  if (random.chance(0.7)) parts.splice(random.below(parts.length + 1), 0, part);
  return Buffer.from(parts.join(end), 'latin1');
};

/** Replaces all line ends, or those after some place. */
const otherLineEnds: Mutation = (input, random) => {
  const text = input.toString('latin1');
  const from = random.chance(0.5) ? 0 : random.below(text.length + 1);
  const end = random.pick(['\r', '\r\n', '\n']);
  return Buffer.from(text.slice(0, from) + text.slice(from).replaceAll(/\r\n|\n|\r/g, end), 'latin1');
};

const mutations: readonly Mutation[] = [
  flipBits,
  setByte,
  take,
  insert,
  repeat,
  swap,
  splice,
  truncate,
  setLength,
  nest,
  putWord,
  putWord,
  setNumber,
  setNumber,
  editMember,
  editMember,
  editMember,
  putStrange,
  editLines,
  editLines,
  otherLineEnds,
];

/** The input after one or more mutations. */
export function mutated(input: Buffer, random: Random, sources: Sources): Buffer {
  let mutant = input;
  do {
    const next = random.pick(mutations)(mutant, random, sources);
    mutant = next.length > maxMutantBytes ? mutant : next;
  } while (random.chance(0.55));
  return mutant;
}

/** A large input: this one with a piece of it repeated until `bytes` is reached. */
export function grown(input: Buffer, random: Random, bytes: number): Buffer {
  const [from, to] = aSpan(input, random);
  const piece = input.subarray(from, to);
  const room = Math.max(0, bytes - input.length);
  if (piece.length === 0) return input;
  const times = Math.floor(room / piece.length);
  return replaced(input, from, from, Buffer.concat(Array.from({ length: times }, () => piece)));
}
