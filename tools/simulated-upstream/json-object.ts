/** A JSON object with unchecked members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True for a JSON object; false for arrays, null and every other value. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
