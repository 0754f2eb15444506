import type { Json, JsonObject } from './json.ts';

/** The array with `change` applied to its items, or the same array when no item changed. */
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

/** The object with `change` applied to its members, or the same object when no member changed. */
export function mappedMembers(object: JsonObject, change: (value: Json, key: string) => Json): JsonObject {
  let copy: Record<string, Json | undefined> | undefined;
  for (const key in object) {
    const value = object[key];
    if (value === undefined) continue;
    const changed = change(value, key);
    if (changed === value) continue;
    // Spread creates own properties, so a key named `__proto__` stays an ordinary key.
    copy ??= { ...object };
    copy[key] = changed;
  }
  return copy ?? object;
}
