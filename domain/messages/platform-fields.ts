import { spellingsOf } from '../compatibility/spellings.ts';
import { isAbsent, type JsonObject } from '../shared/json.ts';

/** Fields of platforms' own APIs, which a request may carry in any family. */
const names = [
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'cachedContent',
  'guardrailConfig',
  'imageConfig',
  'labels',
  'performanceConfig',
  'requestMetadata',
  'responseModalities',
  'safetySettings',
  'thinkingConfig',
] as const;

const spellings = [...names.flatMap(spellingsOf), 'extra_body', 'google'];

/** Those of a body, as the caller wrote them: whether they fit is for the one who writes the upstream body. */
export const platformFields = (body: JsonObject): JsonObject =>
  Object.fromEntries(
    spellings.flatMap((name) => {
      const value = body[name];
      return isAbsent(value) ? [] : [[name, value]];
    }),
  );
