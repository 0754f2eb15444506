import type { Json, JsonObject } from './json.ts';

/** The array with its items changed; the same array when no item was. */
export function mappedItems(items: readonly Json[], change: (item: Json) => Json): readonly Json[] {
  let copy: Json[] | undefined;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index] ?? null;
    const changed = change(item);
    if (changed === item) continue;
    copy ??= items.slice();
    copy[index] = changed;
  }
  return copy ?? items;
}

/** The object with its members changed; the same object when no member was. */
export function mappedMembers(object: JsonObject, change: (value: Json, key: string) => Json): JsonObject {
  let copy: Record<string, Json | undefined> | undefined;
  for (const key in object) {
    const value = object[key];
    if (value === undefined) continue;
    const changed = change(value, key);
    if (changed === value) continue;
    // Spread defines each member of its own, so that a key named `__proto__` stays a key.
    copy ??= { ...object };
    copy[key] = changed;
  }
  return copy ?? object;
}
