import type { Json } from '../../domain/shared/json.ts';
import { mappedInTurns, turnItems } from './in-turns.ts';

/**
 * JSON that was stored as text and is sent as that text, so that every digit, every escape and the order of keys
 * survive.
 */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What an admin endpoint returns: JSON, with stored JSON text anywhere in it. */
export type AdminData =
  | Json
  | JsonText
  | readonly AdminData[]
  | { readonly [key: string]: AdminData | undefined };

interface RawJson {
  rawJSON(text: string): unknown;
}

/**
 * A placeholder for a text while the rest is serialised. `JSON.stringify` never escapes a slash, so nothing else
 * matches it.
 */
const markOf = (index: number): unknown => (JSON as unknown as RawJson).rawJSON(`"\\/${index}"`);
const marks = /"\\\/(\d+)"/g;

/** Serialises like `JSON.stringify`, then puts each stored text in place. */
export function serialisedData(
  data: { readonly [key: string]: AdminData | undefined } | readonly AdminData[],
): string {
  const texts: string[] = [];
  const json = JSON.stringify(data, (_key, value: unknown) =>
    value instanceof JsonText ? markOf(texts.push(value.text) - 1) : value,
  );
  return texts.length === 0
    ? json
    : json.replace(marks, (_mark, index: string) => texts[Number(index)] ?? 'null');
}

/** Serialises what a call returns; the long lists in it in turns (rule 23.14). */
export async function serialisedAnswer(
  data: AdminData,
  meta: { readonly [key: string]: AdminData },
): Promise<string> {
  if (typeof data !== 'object' || data === null || data instanceof JsonText || isList(data))
    return serialisedData({ data, meta });
  const members: Record<string, AdminData | undefined> = { ...data };
  for (const [name, value] of Object.entries(members))
    if (value !== undefined && isList(value) && value.length > turnItems)
      members[name] = await serialisedList(value);
  return serialisedData({ data: members, meta });
}

const isList = (data: AdminData): data is readonly AdminData[] => Array.isArray(data);

async function serialisedList(items: readonly AdminData[]): Promise<JsonText> {
  const slices = await mappedInTurns(items, (slice) => serialisedData(slice).slice(1, -1));
  return new JsonText(`[${slices.join(',')}]`);
}

/** The text of a nullable column. */
export const storedJsonText = (text: string | undefined): JsonText | null =>
  text === undefined ? null : new JsonText(text);
