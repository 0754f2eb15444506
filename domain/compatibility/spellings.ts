/** A field of a platform's own as callers may spell it: in the platform's way, and in snake case. */
export const spellingsOf = (name: string): readonly string[] => [
  ...new Set([name, name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
];
