import { describe, expect, it } from '@jest/globals';
import { maxEventLoopBodyBytes, maxEventLoopValues } from '../../domain/shared/limits.ts';
import { fitsEventLoop } from '../../infrastructure/providers/event-loop-limits.ts';

const pieces = (text: string, bytes: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(text.length / bytes) }, (_, index) =>
    Buffer.from(text.slice(index * bytes, (index + 1) * bytes)),
  );

describe('an answer', () => {
  it.each([
    ['a small one', '{"a":[]}'],
    ['one long string', JSON.stringify({ text: 'word '.repeat(100_000) })],
    ['the maximum number of values', JSON.stringify(Array.from({ length: maxEventLoopValues }, () => 1))],
  ])('is processed in the event loop: %s', (_, text) => {
    expect(fitsEventLoop(pieces(text, text.length))).toBe(true);
    expect(fitsEventLoop(pieces(text, 1000))).toBe(true);
  });

  it.each([
    ['bytes', 'x'.repeat(maxEventLoopBodyBytes + 1)],
    ['numbers', JSON.stringify(Array.from({ length: maxEventLoopValues + 1 }, () => 1))],
    ['objects', JSON.stringify(Array.from({ length: maxEventLoopValues / 2 + 1 }, () => ({})))],
    ['nested arrays', `[${'[[[[]]]],'.repeat(maxEventLoopValues / 4)}1]`],
    ['members', JSON.stringify(Array.from({ length: maxEventLoopValues / 2 + 1 }, () => ({ a: 1 })))],
  ])('is not processed in the event loop with too many %s', (_, text) => {
    expect(fitsEventLoop(pieces(text, text.length))).toBe(false);
    expect(fitsEventLoop(pieces(text, 1000))).toBe(false);
  });
});
