import { isFilled, type JsonObject } from '../../../domain/shared/json.ts';

/**
 * Whether a `message_start` begins a different message than the one that had begun: the upstream started over in the
 * middle of an answer. A start with the same id, or without one, repeats the same message.
 */
export const startsAnotherMessage = ({ id }: JsonObject, begun: JsonObject): boolean =>
  isFilled(id) && isFilled(begun['id']) && id !== begun['id'];

/** Such a stream fails, because the answer would mix parts of both messages. */
export const anotherMessageError = 'The upstream began another message before it had ended the first one.';
