/** The members of a JSON value by their keys. */
const below = (value: object): ReadonlyMap<string, unknown> => new Map(Object.entries(value));

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * Whether two JSON values are equal, at any depth: a recursive comparison fails at some ten thousand
 * brackets, and the readers of streams do not.
 */
export function isSameJson(one: unknown, other: unknown): boolean {
  const pairs: [unknown, unknown][] = [[one, other]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [left, right] = pair;
    if (!isNested(left) || !isNested(right)) {
      if (!Object.is(left, right)) return false;
      continue;
    }
    const members = below(left);
    const others = below(right);
    if (Array.isArray(left) !== Array.isArray(right) || members.size !== others.size) return false;
    for (const [key, member] of members) {
      if (!others.has(key)) return false;
      pairs.push([member, others.get(key)]);
    }
  }
  return true;
}
