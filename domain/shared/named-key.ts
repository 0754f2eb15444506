import { maxNamedKeyChars } from './limits.ts';

/**
 * A caller's own key or word as an error quotes it: valid Unicode, since some clients cannot parse an answer with half a
 * character. Truncation may leave part of a secret; `withoutPartialSecrets` looks for one before the `…` before the
 * error is sent.
 */
export const namedKey = (key: string): string =>
  (key.length > maxNamedKeyChars ? `${key.slice(0, maxNamedKeyChars)}…` : key).toWellFormed();

/** A place in a body as an error names it, by keys and indexes: `messages[0].content`. */
export const namedPath = (path: readonly (string | number)[]): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
