/** A field of a platform's own as callers may spell it: in the platform's way, and in snake case. */
export const spellingsOf = (name: string): readonly string[] => {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return snake === name || snake === ofMessages ? [name] : [name, snake];
};

/** In snake case platform B's `outputConfig` would be the messages family's own. */
const ofMessages = 'output_config';
