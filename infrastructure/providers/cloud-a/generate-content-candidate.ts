import { signed } from '../../../domain/calls/thought-signature.ts';
import {
  isObject,
  isAbsent,
  isArray,
  isFilled,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  without,
} from '../../../domain/shared/json.ts';

/** A call of a function, or a piece of one, and the thought signature that came with it. */
export interface CandidateCall {
  readonly call: JsonObject;
  readonly signature: string | undefined;
}

/** The content of a candidate, by kind. */
export interface CandidateContent {
  readonly text: string;
  readonly calls: readonly CandidateCall[];
  /** In the format that compatible APIs use for images in an answer. */
  readonly images: readonly JsonObject[];
  /** Thoughts, and the signatures of parts other than calls. */
  readonly reasoning: readonly JsonObject[];
  /** Parts that a chat completion has no field for: executed code, media, the platform's own tools. */
  readonly others: readonly JsonObject[];
  /** Members that describe the answer as a whole. */
  readonly about: JsonObject;
}

/** Members that name the sources of an answer. */
const abouts = ['groundingMetadata', 'citationMetadata', 'urlContextMetadata'] as const;

/** Empty for blocked candidates: they have no content, or an empty one, or one without parts. */
export function contentOf(candidate: JsonObject): CandidateContent {
  const { content } = candidate;
  const collected: Collected = { texts: [], calls: [], images: [], reasoning: [], others: [] };
  const parts = isObject(content) && isArray(content['parts']) ? content['parts'].filter(isObject) : [];
  for (const part of parts) collect(part, collected);
  const { texts, ...rest } = collected;
  const about = Object.fromEntries(
    abouts.flatMap((name) => (isAbsent(candidate[name]) ? [] : [[name, candidate[name]]])),
  );
  return { text: texts.join(''), ...rest, about };
}

interface Collected {
  readonly texts: string[];
  readonly calls: CandidateCall[];
  readonly images: JsonObject[];
  readonly reasoning: JsonObject[];
  readonly others: JsonObject[];
}

function collect(part: JsonObject, collected: Collected): void {
  const { calls, reasoning } = collected;
  const { thought, thoughtSignature, text, functionCall } = part;
  const signature = isString(thoughtSignature) ? thoughtSignature : undefined;
  if (isObject(functionCall)) {
    calls.push({ call: functionCall, signature });
    if (isFilled(text)) collect(without(part, 'functionCall', 'thoughtSignature'), collected);
    return;
  }
  const isThought = thought === true && isString(text);
  if (isThought || signature !== undefined) reasoning.push(thinking(isThought ? text : '', signature));
  if (!isThought) collectShown(part, signature, collected);
}

/** Text and an image may come in one part. */
function collectShown(
  part: JsonObject,
  signature: string | undefined,
  { texts, images, others }: Collected,
): void {
  const { text } = part;
  const rest = without(part, 'thoughtSignature');
  const image = imageOf(part);
  if (isString(text)) texts.push(text);
  if (image !== undefined) images.push({ ...image, ...signed(signature) });
  else if (!isString(text) && Object.keys(rest).length > 0) others.push(rest);
}

/** An image of the answer. An image that belongs to a thought is not part of the answer. */
function imageOf({ thought, inlineData }: JsonObject): JsonObject | undefined {
  if (thought === true || !isObject(inlineData)) return undefined;
  const { mimeType, data } = inlineData;
  if (!isString(mimeType) || !mimeType.startsWith('image/') || !isString(data)) return undefined;
  return { type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } };
}

const mayBe =
  (is: (value: Json) => boolean) =>
  (value: Json | undefined): boolean =>
    isAbsent(value) || is(value);

const mayBeText = mayBe(isString);
const mayBeCall = mayBe(
  (call) =>
    isObject(call) &&
    mayBeText(call['name']) &&
    mayBe(isObject)(call['args']) &&
    mayBe(isArray)(call['partialArgs']),
);
const isPart = (part: Json): boolean =>
  isObject(part) && mayBeText(part['text']) && mayBeCall(part['functionCall']);
/** Callers tell choices apart by their index, so one that is present must be valid. */
const mayBeIndex = mayBe((index) => Number.isInteger(numberOf(index)) && Number(numberOf(index)) >= 0);
const mayBeParts = mayBe((parts) => isArray(parts) && parts.every(isPart));

/**
 * Whether a part of an answer has a type that it cannot have. It would be dropped silently, and the rest would look
 * like the whole answer. Null counts as absent.
 */
export const isMalformed = ({ candidates }: JsonObject): boolean =>
  !mayBe((all) => isArray(all) && all.every(isCandidate))(candidates);

const isCandidate = (candidate: Json): boolean =>
  isObject(candidate) &&
  mayBeIndex(candidate['index']) &&
  mayBe((content) => isObject(content) && mayBeParts(content['parts']))(candidate['content']);

/** A thought in the format that native thinking has for all other providers. */
const thinking = (text: string, signature: string | undefined): JsonObject => ({
  type: 'thinking',
  thinking: text,
  ...(signature === undefined ? {} : { signature }),
});

/** The name in a call, or in a piece of one. */
export const callName = ({ name }: JsonObject): string => (isString(name) ? name : '');

/** The id that the upstream gave a call, if it gave any. */
export const idOf = ({ id }: JsonObject): string | undefined => (isString(id) && id !== '' ? id : undefined);
