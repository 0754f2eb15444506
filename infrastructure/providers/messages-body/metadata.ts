import { nonChatStopReason } from '../../../domain/messages/stop-reason.ts';
import { isAbsent, isObject, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';

/** Parts of a native answer that chat has no field for. `blocks` are those other than text, thinking and `tool_use`. */
export type NativeParts = Readonly<Partial<Record<'reasoning' | 'citations' | 'blocks', readonly Json[]>>>;

/** Members of a message, or of the events of a stream, that describe the answer as a whole. */
const ofAnswer = [
  'stop_sequence',
  'stop_details',
  'container',
  'context_management',
  'input_transformations',
] as const;

/** Those of them that are present, and the stop reason if chat has no equivalent of it. */
export const answerParts = (message: JsonObject): JsonObject => {
  const there = ofAnswer.filter((name) => !isAbsent(message[name]));
  const stop = nonChatStopReason(message['stop_reason']);
  return {
    ...(stop === undefined ? {} : { stop_reason: stop }),
    ...Object.fromEntries(there.map((name) => [name, message[name]])),
  };
};

/** The upstream's explanation of why it refused an answer. */
export function explanationOf({ stop_details: details }: JsonObject): string | undefined {
  const explanation = isObject(details) ? details['explanation'] : undefined;
  return isString(explanation) && explanation !== '' ? explanation : undefined;
}

export const isThinking = ({ type }: JsonObject): boolean =>
  type === 'thinking' || type === 'redacted_thinking';
