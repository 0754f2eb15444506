import { isAbsent, type Json, type JsonObject } from '../shared/json.ts';

/** Fields that an upstream has no word for, each with what makes it say nothing. */
export type ForeignFields = readonly (readonly [field: string, saysNothing: (value: Json) => boolean])[];

/** The first of them that asks for something in a body. */
export const foreignIn = (body: JsonObject, fields: ForeignFields): string | undefined =>
  fields.find(([field, saysNothing]) => {
    const value = body[field];
    return !isAbsent(value) && !saysNothing(value);
  })?.[0];
