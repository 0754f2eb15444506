import { foldEmail, isEmail } from '../../../domain/identity/password.ts';
import { idShape, isDisplayName, maxIdChars, maxNameChars } from '../../../domain/identity/owner-names.ts';
import { hasAtMostChars } from '../../../domain/text/characters.ts';
import { type Input, input, isStorable } from './inputs.ts';

/** A display name. */
export const displayNameInput: Input<string> = input(
  `must be text of 1 to ${maxNameChars} characters that can be seen, without control characters`,
  { type: 'string', minLength: 1, maxLength: maxNameChars },
  (given) => (typeof given === 'string' && isDisplayName(given) ? given : undefined),
);

/** The id of a team or service account, as allowed in the configuration file. */
export const ownerIdInput: Input<string> = input(
  `must be an id of 1 to ${maxIdChars} letters, digits and . _ : / @ -, beginning with a letter or digit`,
  { type: 'string', pattern: idShape.source },
  (given) => (typeof given === 'string' && idShape.test(given) ? given : undefined),
);

/** An e-mail address, in the folded form that identifies accounts. */
export const emailInput: Input<string> = input(
  'must be an e-mail address',
  { type: 'string', format: 'email' },
  (given) => (typeof given === 'string' && isEmail(given) ? foldEmail(given) : undefined),
);

const maxModels = 10_000;
const maxModelChars = 256;

const isModelId = (given: unknown): given is string =>
  typeof given === 'string' && given !== '' && hasAtMostChars(given, maxModelChars) && isStorable(given);

/** Models that a key may use. */
export const modelsInput: Input<readonly string[]> = input(
  `must be a list of at most ${maxModels} ids of models`,
  {
    type: 'array',
    maxItems: maxModels,
    items: { type: 'string', minLength: 1, maxLength: maxModelChars },
  },
  (given) =>
    Array.isArray(given) && given.length <= maxModels && given.every(isModelId) ? given : undefined,
);
