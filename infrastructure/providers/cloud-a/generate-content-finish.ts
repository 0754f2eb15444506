import {
  isObject,
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  numberOf,
} from '../../../domain/shared/json.ts';

/** Reasons by their number, for answers whose enums are integers. All other numbers mean that content was withheld. */
const numbered: ReadonlyMap<number, string> = new Map([
  [0, 'FINISH_REASON_UNSPECIFIED'],
  [1, 'STOP'],
  [2, 'MAX_TOKENS'],
]);

/** With these reasons the calls of an answer become `tool_calls`, even if their function was not declared. */
const ordinary: ReadonlySet<string> = new Set(['STOP', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS']);

/** Whether the model stopped by itself. */
export const isOrdinary = (reason: string): boolean => ordinary.has(reason);

/** The answer reached a limit, of the request or of the platform. It is valid as far as it goes. */
const cutOff: ReadonlySet<string> = new Set(['MAX_TOKENS', 'CONTINUATION']);

/** The name of the candidate's reason; `undefined` as long as the model has not stopped. */
export function reasonOf({ finishReason }: JsonObject): string | undefined {
  const number = numberOf(finishReason);
  const name = number === undefined ? finishReason : (numbered.get(number) ?? String(number));
  return isString(name) && name !== '' && name !== 'FINISH_REASON_UNSPECIFIED' ? name : undefined;
}

/**
 * The finish reason of the chat completion. Answers with calls finish with `STOP`. `SAFETY`, `RECITATION`, `BLOCKLIST`,
 * `PROHIBITED_CONTENT`, `SPII`, `MODEL_ARMOR` and every other reason, including `MALFORMED_FUNCTION_CALL`, mean that
 * the platform withheld something, so the answer must not look complete.
 */
export function finishReason(reason: string, called: boolean): string {
  if (called && isOrdinary(reason)) return 'tool_calls';
  if (cutOff.has(reason)) return 'length';
  return reason === 'STOP' ? 'stop' : 'content_filter';
}

const promptBlocked = 'PROMPT_BLOCKED';

/** Reasons that `finish_reason` expresses in full, and the one that is not the platform's own. */
const inChat: ReadonlySet<string> = new Set(['STOP', 'MAX_TOKENS', promptBlocked]);

/** The platform's own reasons for blocking a prompt, or withholding or truncating an answer, if chat has none. */
export function platformReasons(candidate: JsonObject): JsonObject {
  const reason = reasonOf(candidate);
  return {
    ...(reason === undefined || inChat.has(reason) ? {} : { stop_reason: reason }),
    ...(isString(candidate['blockReason']) ? { block_reason: candidate['blockReason'] } : {}),
  };
}

/** A prompt that was blocked, with the platform's own reason and message, if it gave any. */
export interface Block {
  readonly reason: Json | undefined;
  readonly message: string | undefined;
}

/** The candidate that represents a blocked prompt: one that was withheld. */
export const blockedCandidate = ({ reason, message }: Block): JsonObject => ({
  finishReason: promptBlocked,
  finishMessage: message,
  blockReason: reason,
});

/** Values that mean that nothing was blocked. The platform's APIs spell it in two ways. */
const noBlock: ReadonlySet<Json> = new Set(['', 'BLOCK_REASON_UNSPECIFIED', 'BLOCKED_REASON_UNSPECIFIED']);

/** The block of an answer's prompt; `undefined` if it was not blocked. A blocked prompt has no candidates. */
export function blockOf(answer: JsonObject): Block | undefined {
  const { promptFeedback: feedback } = answer;
  if (candidatesOf(answer).length > 0 || !isObject(feedback)) return undefined;
  const { blockReason, blockReasonMessage } = feedback;
  if (isAbsent(blockReason) || noBlock.has(blockReason) || numberOf(blockReason) === 0) return undefined;
  return { reason: blockReason, message: isString(blockReasonMessage) ? blockReasonMessage : undefined };
}

/** The candidates of an answer. Anything that is not an object is skipped. */
export const candidatesOf = ({ candidates }: JsonObject): readonly JsonObject[] =>
  isArray(candidates) ? candidates.filter(isObject) : [];

/** The platform's explanation of a finish. */
export const finishMessageOf = ({ finishMessage }: JsonObject): string | undefined =>
  isString(finishMessage) && finishMessage !== '' ? finishMessage : undefined;
