import { isRecord } from '../../../domain/messages/blocks.ts';
import {
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  without,
} from '../../../domain/shared/json.ts';

/** The reasoning metadata namespace of this platform. */
const namespace = 'cloud_a_platform';

/** What the parts of a candidate say. */
export interface Said {
  readonly text: string;
  /** Calls of functions, or pieces of one. */
  readonly calls: readonly JsonObject[];
  /** Thoughts, and the signatures of other parts. */
  readonly reasoning: readonly JsonObject[];
  /** Parts that a chat completion has no place for: code that was run, media, tools of the platform's own. */
  readonly others: readonly JsonObject[];
}

/** Blocked candidates have no content, or an empty one, or one without parts: they say nothing. */
export function saidIn({ content }: JsonObject): Said {
  const texts: string[] = [];
  const calls: JsonObject[] = [];
  const reasoning: JsonObject[] = [];
  const others: JsonObject[] = [];
  const parts = isRecord(content) && isArray(content['parts']) ? content['parts'].filter(isRecord) : [];
  for (const part of parts) {
    const { thought, thoughtSignature, text, functionCall } = part;
    const isThought = thought === true && isString(text);
    if (isThought || isString(thoughtSignature))
      reasoning.push(thinking(isThought ? text : '', thoughtSignature));
    if (isThought) continue;
    if (isString(text)) texts.push(text);
    else if (isRecord(functionCall)) calls.push(functionCall);
    else if (Object.keys(without(part, 'thoughtSignature')).length > 0)
      others.push(without(part, 'thoughtSignature'));
  }
  return { text: texts.join(''), calls, reasoning, others };
}

const mayBe =
  (is: (value: Json) => boolean) =>
  (value: Json | undefined): boolean =>
    isAbsent(value) || is(value);

const mayBeText = mayBe(isString);
const mayBeCall = mayBe(
  (call) =>
    isRecord(call) &&
    mayBeText(call['name']) &&
    mayBe(isRecord)(call['args']) &&
    mayBe(isArray)(call['partialArgs']),
);
const isPart = (part: Json): boolean =>
  isRecord(part) && mayBeText(part['text']) && mayBeCall(part['functionCall']);
const mayBeParts = mayBe((parts) => isArray(parts) && parts.every(isPart));

/**
 * Whether an answer holds a piece of a type that it cannot have: it would vanish without a word, and what is left would
 * look like the whole answer. Null counts as absent.
 */
export const isMalformed = ({ candidates }: JsonObject): boolean =>
  !mayBe((all) => isArray(all) && all.every(isCandidate))(candidates);

const isCandidate = (candidate: Json): boolean =>
  isRecord(candidate) &&
  mayBe((content) => isRecord(content) && mayBeParts(content['parts']))(candidate['content']);

/** In the shape that native thinking has everywhere else. */
const thinking = (text: string, signature: Json | undefined): JsonObject => ({
  type: 'thinking',
  thinking: text,
  ...(isString(signature) ? { signature } : {}),
});

/**
 * Native reasoning is never placed in the content: it is kept under `provider_metadata.<provider>.reasoning`.
 */
export function metadataOf({ reasoning, others }: Pick<Said, 'reasoning' | 'others'>): JsonObject {
  if (reasoning.length === 0 && others.length === 0) return {};
  const own = {
    ...(reasoning.length === 0 ? {} : { reasoning }),
    ...(others.length === 0 ? {} : { parts: others }),
  };
  return { provider_metadata: { [namespace]: own } };
}

/** The name in a call, or in a piece of one. */
export const nameOf = ({ name }: JsonObject): string => (isString(name) ? name : '');

/** The id that the upstream gave a call, if it gave any. */
export const idOf = ({ id }: JsonObject): string | undefined => (isString(id) && id !== '' ? id : undefined);
