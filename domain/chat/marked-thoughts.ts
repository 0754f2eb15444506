import { isObject, type Json, type JsonObject, membersOf, numberOf, textIn } from '../shared/json.ts';
import { maxChoices } from '../shared/limits.ts';

/**
 * Google's chat API puts the thoughts of its models into the content, between these, and marks the messages and deltas
 * that have any (https://ai.google.dev/gemini-api/docs/openai#thinking, rule 18.7). The mark alone says nothing: it is
 * also on whole answers without thoughts.
 */
const opening = '<thought>';
const closing = '</thought>';

const isMarked = ({ extra_content: extra }: JsonObject): boolean =>
  isObject(extra) && membersOf(extra['google'])['thought'] === true;

/** Whether the content of a message or delta begins with thoughts. */
export const hasMarkedThoughts = (message: JsonObject): boolean =>
  textIn(message['content']).startsWith(opening) && isMarked(message);

/** A whole message, with the thoughts in its content as a part of their own, as other upstreams send them. */
export const withThoughtParts = (message: JsonObject): JsonObject =>
  hasMarkedThoughts(message) ? divided(message, textIn(message['content']).slice(opening.length)) : message;

/** The message whose content is thoughts, up to the closing tag. */
function divided(message: JsonObject, text: string): JsonObject {
  const end = text.indexOf(closing);
  if (end < 0) return { ...message, content: [thought(text)] };
  const content: Json = [
    thought(text.slice(0, end)),
    { type: 'text', text: text.slice(end + closing.length) },
  ];
  return { ...message, content };
}

const thought = (text: string): JsonObject => ({ type: 'thinking', thinking: text });

/** The choices of a streamed answer whose content is thoughts at the moment. It changes as deltas are read. */
export class MarkedThoughts {
  private readonly thinking = new Set<number>();

  /** Whether {@link withParts} changes the delta of a choice. */
  concern(index: number, delta: JsonObject): boolean {
    const text = textIn(delta['content']);
    return text !== '' && (this.thinking.has(index) || hasMarkedThoughts(delta));
  }

  /** A choice with its thoughts as parts. The first delta of the answer itself is not marked, and has the closing tag. */
  withParts(choice: JsonObject): JsonObject {
    const { delta } = choice;
    const index = numberOf(choice['index']) ?? 0;
    if (!isObject(delta) || !this.concern(index, delta)) return choice;
    const text = textIn(delta['content']);
    if (!isMarked(delta)) {
      this.thinking.delete(index);
      const answer = text.startsWith(closing) ? text.slice(closing.length) : text;
      return { ...choice, delta: { ...delta, content: answer } };
    }
    const thoughts = this.thinking.has(index) ? text : text.slice(opening.length);
    if (thoughts.includes(closing)) this.thinking.delete(index);
    else if (this.thinking.size < maxChoices) this.thinking.add(index);
    return { ...choice, delta: divided(delta, thoughts) };
  }
}
