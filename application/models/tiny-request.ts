import { isObject, isString, type Json, type JsonObject, objectsOf } from '../../domain/shared/json.ts';
import type { Capability } from '../../domain/routing/capabilities.ts';

/** The families that a model can be tested in: those that use a model. */
export const testedFamilies = ['chat_completions', 'messages', 'responses', 'embeddings'] as const;
export type TestedFamily = (typeof testedFamilies)[number];

/** The capability that each family needs: messages go where chat does. */
export const capabilityOf = {
  chat_completions: 'chat_completions',
  messages: 'chat_completions',
  responses: 'responses',
  embeddings: 'embeddings',
} as const satisfies Record<TestedFamily, Capability>;

const question = 'Answer with one word: ok';

/** The minimum that the responses API accepts, and enough for a word in the others. */
const answerTokens = 16;

const messages = [{ role: 'user', content: question }];

/** The smallest useful body of each family. */
export const tinyBody = {
  chat_completions: (model) => ({ model, messages, max_tokens: answerTokens }),
  messages: (model) => ({ model, messages, max_tokens: answerTokens }),
  responses: (model) => ({ model, input: question, max_output_tokens: answerTokens }),
  embeddings: (model) => ({ model, input: 'ok' }),
} as const satisfies Record<TestedFamily, (model: string) => JsonObject>;

/** The text of an answer; `undefined` when it has none. */
export function wordsOf(family: TestedFamily, answer: Json | undefined): string | undefined {
  if (!isObject(answer)) return undefined;
  const words = wordsIn[family](answer).join('');
  return words === '' ? undefined : words;
}

const wordsIn: Record<TestedFamily, (answer: JsonObject) => readonly string[]> = {
  chat_completions: ({ choices }) =>
    objectsOf(choices)
      .slice(0, 1)
      .flatMap(({ message }) => (isObject(message) ? textsOf(message['content']) : [])),
  messages: ({ content }) => textsOf(content),
  responses: ({ output }) => objectsOf(output).flatMap(({ content }) => textsOf(content)),
  embeddings: () => [],
};

/** The content if it is text, or the texts of its parts. */
const textsOf = (content: Json | undefined): readonly string[] =>
  isString(content) ? [content] : objectsOf(content).flatMap(({ text }) => (isString(text) ? [text] : []));
