import { signed } from '../../../domain/chat/thought-signature.ts';
import {
  isObject,
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  without,
} from '../../../domain/shared/json.ts';
import { namespace } from './generate-content-signatures.ts';

/** A call of a function, or a piece of one, and the thought signature that stood with it. */
export interface SaidCall {
  readonly call: JsonObject;
  readonly signature: string | undefined;
}

/** What a candidate says. */
export interface Said {
  readonly text: string;
  readonly calls: readonly SaidCall[];
  /** As the compatible APIs tell images in an answer. */
  readonly images: readonly JsonObject[];
  /** Thoughts, and the signatures of other parts than calls. */
  readonly reasoning: readonly JsonObject[];
  /** Parts that a chat completion has no place for: code that was run, media, tools of the platform's own. */
  readonly others: readonly JsonObject[];
  /** What the platform says about the answer. */
  readonly about: JsonObject;
}

/** Where an answer comes from. */
const abouts = ['groundingMetadata', 'citationMetadata', 'urlContextMetadata'] as const;

/** Blocked candidates have no content, or an empty one, or one without parts: they say nothing. */
export function saidIn(candidate: JsonObject): Said {
  const { content } = candidate;
  const said: Collected = { texts: [], calls: [], images: [], reasoning: [], others: [] };
  const parts = isObject(content) && isArray(content['parts']) ? content['parts'].filter(isObject) : [];
  for (const part of parts) collect(part, said);
  const { texts, ...rest } = said;
  const about = Object.fromEntries(
    abouts.flatMap((name) => (isAbsent(candidate[name]) ? [] : [[name, candidate[name]]])),
  );
  return { text: texts.join(''), ...rest, about };
}

interface Collected {
  readonly texts: string[];
  readonly calls: SaidCall[];
  readonly images: JsonObject[];
  readonly reasoning: JsonObject[];
  readonly others: JsonObject[];
}

function collect(part: JsonObject, { texts, calls, images, reasoning, others }: Collected): void {
  const { thought, thoughtSignature, text, functionCall } = part;
  const signature = isString(thoughtSignature) ? thoughtSignature : undefined;
  if (!isString(text) && isObject(functionCall)) {
    calls.push({ call: functionCall, signature });
    return;
  }
  const isThought = thought === true && isString(text);
  if (isThought || signature !== undefined) reasoning.push(thinking(isThought ? text : '', signature));
  if (isThought) return;
  const rest = without(part, 'thoughtSignature');
  const image = imageOf(part);
  if (isString(text)) texts.push(text);
  else if (image !== undefined) images.push({ ...image, ...signed(signature) });
  else if (Object.keys(rest).length > 0) others.push(rest);
}

/** Images of the answer itself: those that the model made while it thought are none of it. */
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
const mayBeParts = mayBe((parts) => isArray(parts) && parts.every(isPart));

/**
 * Whether an answer holds a piece of a type that it cannot have: it would vanish without a word, and what is left would
 * look like the whole answer. Null counts as absent.
 */
export const isMalformed = ({ candidates }: JsonObject): boolean =>
  !mayBe((all) => isArray(all) && all.every(isCandidate))(candidates);

const isCandidate = (candidate: Json): boolean =>
  isObject(candidate) &&
  mayBe((content) => isObject(content) && mayBeParts(content['parts']))(candidate['content']);

/** In the shape that native thinking has everywhere else. */
const thinking = (text: string, signature: string | undefined): JsonObject => ({
  type: 'thinking',
  thinking: text,
  ...(signature === undefined ? {} : { signature }),
});

/**
 * Native reasoning is never placed in the content: it is kept under `provider_metadata.<provider>.reasoning`, with the
 * signatures of calls behind it. Grounding and citations stand beside it as the platform tells them.
 */
export function metadataOf(
  { reasoning, others, about }: Pick<Said, 'reasoning' | 'others' | 'about'>,
  ofCalls: readonly JsonObject[],
): JsonObject {
  const all = [...reasoning, ...ofCalls];
  const own = {
    ...(all.length === 0 ? {} : { reasoning: all }),
    ...(others.length === 0 ? {} : { parts: others }),
    ...about,
  };
  return Object.keys(own).length === 0 ? {} : { provider_metadata: { [namespace]: own } };
}

/** The name in a call, or in a piece of one. */
export const nameOf = ({ name }: JsonObject): string => (isString(name) ? name : '');

/** The id that the upstream gave a call, if it gave any. */
export const idOf = ({ id }: JsonObject): string | undefined => (isString(id) && id !== '' ? id : undefined);
