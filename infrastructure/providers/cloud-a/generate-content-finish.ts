import {
  isObject,
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  numberOf,
} from '../../../domain/shared/json.ts';

/** The reasons with a number, where enums come as integers; the others all stand for a stopped answer. */
const numbered: ReadonlyMap<number, string> = new Map([
  [0, 'FINISH_REASON_UNSPECIFIED'],
  [1, 'STOP'],
  [2, 'MAX_TOKENS'],
]);

/** With these the calls of an answer are to be answered: also one that the request did not declare. */
const ordinary: ReadonlySet<string> = new Set(['STOP', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS']);

/** The answer reached a limit, of the request's or of the platform's own: it is good as far as it goes. */
const cutOff: ReadonlySet<string> = new Set(['MAX_TOKENS', 'CONTINUATION']);

/** The candidate's reason by its name; undefined as long as the model has not stopped. */
export function reasonOf({ finishReason }: JsonObject): string | undefined {
  const number = numberOf(finishReason);
  const name = number === undefined ? finishReason : (numbered.get(number) ?? String(number));
  return isString(name) && name !== '' && name !== 'FINISH_REASON_UNSPECIFIED' ? name : undefined;
}

/**
 * The chat completion's reason. Answers with calls finish with `STOP`. `SAFETY`, `RECITATION`, `BLOCKLIST`,
 * `PROHIBITED_CONTENT`, `SPII`, `MODEL_ARMOR` and every other reason, `MALFORMED_FUNCTION_CALL` among them, say that
 * the platform withheld something: an answer must not look complete then.
 */
export function finishReason(reason: string, called: boolean): string {
  if (called && ordinary.has(reason)) return 'tool_calls';
  if (cutOff.has(reason)) return 'length';
  return reason === 'STOP' ? 'stop' : 'content_filter';
}

const promptBlocked = 'PROMPT_BLOCKED';

/** Reasons that a `finish_reason` says in full, and the one that is none of the platform's. */
const inChat: ReadonlySet<string> = new Set(['STOP', 'MAX_TOKENS', promptBlocked]);

/** Why the answer, or its prompt, was withheld or cut off, in the platform's own words, where chat has none. */
export function ownReasons(candidate: JsonObject): JsonObject {
  const reason = reasonOf(candidate);
  return {
    ...(reason === undefined || inChat.has(reason) ? {} : { stop_reason: reason }),
    ...(isString(candidate['blockReason']) ? { block_reason: candidate['blockReason'] } : {}),
  };
}

/** A prompt that was blocked; `reason` and `message` are the platform's own, where there are any. */
export interface Block {
  readonly reason: Json | undefined;
  readonly message: string | undefined;
}

/** The candidate that stands for a blocked prompt: it was withheld. */
export const withheldBy = ({ reason, message }: Block): JsonObject => ({
  finishReason: promptBlocked,
  finishMessage: message,
  blockReason: reason,
});

/** What stands where nothing was blocked: the APIs of the platform spell it in two ways. */
const noBlock: ReadonlySet<Json> = new Set(['', 'BLOCK_REASON_UNSPECIFIED', 'BLOCKED_REASON_UNSPECIFIED']);

/** A prompt that was blocked has no candidates. */
export function blockOf(answer: JsonObject): Block | undefined {
  const { promptFeedback: feedback } = answer;
  if (candidatesOf(answer).length > 0 || !isObject(feedback)) return undefined;
  const { blockReason, blockReasonMessage } = feedback;
  if (isAbsent(blockReason) || noBlock.has(blockReason) || numberOf(blockReason) === 0) return undefined;
  return { reason: blockReason, message: isString(blockReasonMessage) ? blockReasonMessage : undefined };
}

/** A candidate is an object. */
export const candidatesOf = ({ candidates }: JsonObject): readonly JsonObject[] =>
  isArray(candidates) ? candidates.filter(isObject) : [];

/** The platform's explanation of a finish. */
export const finishMessageOf = ({ finishMessage }: JsonObject): string | undefined =>
  isString(finishMessage) && finishMessage !== '' ? finishMessage : undefined;
