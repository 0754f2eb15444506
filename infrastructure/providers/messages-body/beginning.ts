import { isFilled, type JsonObject } from '../../../domain/shared/json.ts';

/**
 * Whether a message begins that is another one than the one that had begun: an upstream that starts anew in the middle of
 * an answer. One that begins once more under its own name, or under none, is the same.
 */
export const isAnother = ({ id }: JsonObject, begun: JsonObject): boolean =>
  isFilled(id) && isFilled(begun['id']) && id !== begun['id'];

/** What came until then would stand in one answer with what follows. */
export const anotherMessage = 'The upstream began another message before it had ended the first one.';
