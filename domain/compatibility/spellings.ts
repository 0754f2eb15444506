/** The spellings of a platform's own field that callers may use: the platform's, and snake case. */
export const spellingsOf = (name: string): readonly string[] => {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return snake === name || snake === ofMessages ? [name] : [name, snake];
};

/** In snake case, platform B's `outputConfig` would be the messages family's own field. */
const ofMessages = 'output_config';
