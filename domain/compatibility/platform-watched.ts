import type { Watched } from '../shared/json-scan.ts';
import { spellingsOf } from './spellings.ts';

const inBothSpellings = (fields: Watched): Watched =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, levels]) => spellingsOf(name).map((each) => [each, levels])),
  );

const google = inBothSpellings({
  thinkingConfig: {},
  imageConfig: {},
  labels: {},
  safetySettings: { '*': {} },
});

const converse = inBothSpellings({
  additionalModelRequestFields: { thinking: {}, output_config: {}, tool_choice: {} },
  guardrailConfig: {},
  performanceConfig: {},
  requestMetadata: {},
  serviceTier: {},
  outputConfig: {},
});

/** The levels of the platforms' own fields that the gateway reads or edits, in a body of any family. */
export const platformWatched: Watched = {
  extra_body: { google },
  google,
  ...google,
  ...converse,
};
