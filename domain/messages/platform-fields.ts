import { controlsOfA, controlsOfB } from '../compatibility/foreign-fields.ts';
import { spellingsOf } from '../compatibility/spellings.ts';
import { isAbsent, type JsonObject } from '../shared/json.ts';

/** Fields of platforms' own APIs that a request may have in any family: those that change the answer, and the rest. */
const spellings = [
  ...[...controlsOfA, ...controlsOfB, 'labels', 'performanceConfig', 'requestMetadata'].flatMap(spellingsOf),
  // In snake case it is a field of the messages family.
  'serviceTier',
];

/**
 * The platform fields of a body, as the caller wrote them. The code that writes the upstream body decides whether they
 * fit.
 */
export const platformFields = (body: JsonObject): JsonObject =>
  Object.fromEntries(
    spellings.flatMap((name) => {
      const value = body[name];
      return isAbsent(value) ? [] : [[name, value]];
    }),
  );
