import { maxNamedKeyChars } from './limits.ts';

/**
 * A caller's own key or word as an error names it. The cut may leave a part of a secret: the `…` is where that is
 * looked for before the error is sent (`withoutHalves`).
 */
export const namedKey = (key: string): string =>
  key.length > maxNamedKeyChars ? `${key.slice(0, maxNamedKeyChars)}…` : key;

/** A place in a body as an error names it, by the keys and indexes that lead there: `messages[0].content`. */
export const namedPath = (path: readonly (string | number)[]): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
