import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { addFragment } from '../../../domain/shared/fragments.ts';

function collected(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const fragments: Uint8Array[] = [];
  for (const piece of pieces) addFragment(fragments, piece);
  return fragments;
}

describe('fragments', () => {
  it('contain the bytes of the pieces, in order', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (pieces) => {
        expect(Buffer.concat(collected(pieces))).toEqual(Buffer.concat(pieces));
      }),
    );
  });

  it('are few, however small the pieces are', () => {
    const ones = Array.from({ length: 1_000_000 }, (_, index) => Uint8Array.of(index % 256));
    expect(collected(ones).length).toBeLessThan(100);
  });

  it('keep large pieces as they are', () => {
    const large = new Uint8Array(64 * 1024);
    expect(collected([large, large])).toEqual([large, large]);
    expect(collected([Uint8Array.of(1), large])[1]).toBe(large);
  });
});
