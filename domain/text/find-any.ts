/** Finds which of many short texts stand in a text; `found` is told each once for each place. */
export type FindAny = (text: string, found: (index: number) => void) => void;

/** Signs of which a text must have more than any other has in common with it by chance. */
const gram = 3;

/**
 * One search for all, whose time does not grow with their number: it looks at three signs, and skips as many as none
 * of them has there (Wu and Manber). Each has at least three signs.
 */
export function findAny(texts: readonly string[]): FindAny {
  const least = Math.min(...texts.map(({ length }) => length));
  const last = least - gram;
  const skips = new Uint16Array(buckets).fill(last + 1);
  const ending = new Map<number, number[]>();
  texts.forEach((text, index) => {
    for (let at = 0; at <= last; at += 1) {
      const bucket = bucketOf(text, at);
      skips[bucket] = Math.min(skips[bucket] ?? 0, last - at);
      if (at === last) ending.set(bucket, [...(ending.get(bucket) ?? []), index]);
    }
  });
  return (text, found) => {
    for (let at = last; at + gram <= text.length; ) {
      const bucket = bucketOf(text, at);
      const skip = skips[bucket] ?? 0;
      if (skip === 0)
        for (const index of ending.get(bucket) ?? [])
          if (text.startsWith(texts[index] ?? '', at - last)) found(index);
      at += Math.max(1, skip);
    }
  };
}

const buckets = 1 << 15;

const bucketOf = (text: string, at: number): number =>
  (text.charCodeAt(at) * 1021 + text.charCodeAt(at + 1) * 37 + text.charCodeAt(at + 2)) & (buckets - 1);
