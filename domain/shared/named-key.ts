import { maxNamedKeyChars } from './limits.ts';

/**
 * A caller's own key or word as an error names it. Half of a secret may stand where it is cut off: the sign that says
 * so is where it is looked for before the error is told (`withoutHalves`).
 */
export const namedKey = (key: string): string =>
  key.length > maxNamedKeyChars ? `${key.slice(0, maxNamedKeyChars)}…` : key;
