/** Bytes of an item or member: those that cannot be shortened, and those of its value. */
export interface Part {
  readonly fixed: number;
  readonly size: number;
}

/**
 * How many parts fit, and how many bytes the value of each may take: all that it needs, or at least `least`. `mark` is
 * the size of the marker that says that some were left out. No more parts are examined than can fit.
 */
export function share(
  count: number,
  partAt: (index: number) => Part,
  least: number,
  room: number,
  mark: number,
): { readonly kept: number; readonly most: number } {
  const needOf = ({ fixed, size }: Part): number => fixed + Math.min(size, least);
  const parts: Part[] = [];
  let need = 0;
  while (parts.length < count && need <= room) {
    const part = partAt(parts.length);
    parts.push(part);
    need += needOf(part);
  }
  const enough = need > room ? room - mark : room;
  for (let last = parts.at(-1); last !== undefined && need > enough; last = parts.at(-1)) {
    need -= needOf(last);
    parts.pop();
  }
  const values = parts.reduce((rest, { fixed }) => rest - fixed, enough);
  return { kept: parts.length, most: equalShare(parts, values) };
}

/** Values smaller than the share leave the rest of it to the others. */
function equalShare(parts: readonly Part[], room: number): number {
  let rest = room;
  const sizes = parts.map(({ size }) => size).sort((a, b) => a - b);
  for (const [index, size] of sizes.entries()) {
    const share = Math.floor(rest / (sizes.length - index));
    if (size > share) return share;
    rest -= size;
  }
  return room;
}
