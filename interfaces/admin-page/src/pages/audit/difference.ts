import type { AdminEvent } from './events.ts';

/** A field before and after; `undefined` when it did not exist. */
export interface FieldChange {
  readonly field: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

type Versions = Pick<AdminEvent, 'before_json' | 'after_json'>;

/** Every field of either version. Nested fields are named by their path. */
export function fieldsOf({ before_json: before, after_json: after }: Versions): readonly FieldChange[] {
  const left = leavesOf(before);
  const right = leavesOf(after);
  return [...new Set([...left.keys(), ...right.keys()])].map((field) => ({
    field,
    before: left.get(field),
    after: right.get(field),
  }));
}

export const isChanged = ({ before, after }: FieldChange): boolean => before !== after;

export const changedFields = (versions: Versions): readonly string[] =>
  fieldsOf(versions)
    .filter(isChanged)
    .map(({ field }) => field);

/** Text as it is, everything else as JSON. */
function leavesOf(value: unknown): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>();
  const walk = (at: unknown, path: readonly string[]): void => {
    if (typeof at === 'object' && at !== null && !Array.isArray(at))
      for (const [key, inner] of Object.entries(at)) walk(inner, [...path, key]);
    else if (path.length > 0) leaves.set(path.join('.'), typeof at === 'string' ? at : JSON.stringify(at));
    else if (at !== null && at !== undefined) leaves.set('value', JSON.stringify(at));
  };
  walk(value, []);
  return leaves;
}
