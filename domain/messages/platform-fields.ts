import { controlsOfA, controlsOfB } from '../compatibility/foreign-fields.ts';
import { spellingsOf } from '../compatibility/spellings.ts';
import { isAbsent, type JsonObject } from '../shared/json.ts';

/** Fields of platforms' own APIs, which a request may carry in any family: those that change the answer, and the rest. */
const spellings = [
  ...[...controlsOfA, ...controlsOfB, 'labels', 'performanceConfig', 'requestMetadata'].flatMap(spellingsOf),
  // In snake case it is the messages family's own.
  'serviceTier',
];

/** Those of a body, as the caller wrote them: whether they fit is for the one who writes the upstream body. */
export const platformFields = (body: JsonObject): JsonObject =>
  Object.fromEntries(
    spellings.flatMap((name) => {
      const value = body[name];
      return isAbsent(value) ? [] : [[name, value]];
    }),
  );
