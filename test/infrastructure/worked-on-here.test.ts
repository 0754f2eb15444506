import { describe, expect, it } from '@jest/globals';
import { maxEventLoopBodyBytes, maxEventLoopValues } from '../../domain/shared/limits.ts';
import { fitsEventLoop } from '../../infrastructure/providers/event-loop-limits.ts';

const pieces = (text: string, bytes: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(text.length / bytes) }, (_, index) =>
    Buffer.from(text.slice(index * bytes, (index + 1) * bytes)),
  );

describe('an answer is worked on in the event loop', () => {
  it.each([
    ['a small one', '{"a":[]}'],
    ['one long text', JSON.stringify({ text: 'word '.repeat(100_000) })],
    ['as many values as may be', JSON.stringify(Array.from({ length: maxEventLoopValues }, () => 1))],
  ])('%s', (_, text) => {
    expect(fitsEventLoop(pieces(text, text.length))).toBe(true);
    expect(fitsEventLoop(pieces(text, 1000))).toBe(true);
  });

  it.each([
    ['of more bytes', 'x'.repeat(maxEventLoopBodyBytes + 1)],
    ['of more numbers', JSON.stringify(Array.from({ length: maxEventLoopValues + 1 }, () => 1))],
    ['of more objects', JSON.stringify(Array.from({ length: maxEventLoopValues / 2 + 1 }, () => ({})))],
    ['of more arrays in arrays', `[${'[[[[]]]],'.repeat(maxEventLoopValues / 4)}1]`],
    ['of more members', JSON.stringify(Array.from({ length: maxEventLoopValues / 2 + 1 }, () => ({ a: 1 })))],
  ])('not one %s', (_, text) => {
    expect(fitsEventLoop(pieces(text, text.length))).toBe(false);
    expect(fitsEventLoop(pieces(text, 1000))).toBe(false);
  });
});
