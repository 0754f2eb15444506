import {
  isFilled,
  isObject,
  type Json,
  type JsonObject,
  membersOf,
  numberOf,
  objectsOf,
  textIn,
} from '../shared/json.ts';
import { meantJsonText, meantText } from '../shared/meant-text.ts';
import { carriedSignature } from './thought-signature.ts';

/** A tool call, or a piece of one; fields that it does not contain are empty. */
export interface CallPiece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** The signature that the upstream expects back with the call. */
  readonly signature: string | undefined;
}

/** The calls of a message or delta. */
export const callsOf = ({ tool_calls }: JsonObject): readonly CallPiece[] =>
  objectsOf(tool_calls).map((call) => pieceOf(call, calleeOf(call)));

/** The callee: a function, or a custom tool, which takes free text instead of arguments. */
export const calleeOf = ({ function: callee, custom }: JsonObject): Json | undefined =>
  isFilled(callee) || !isObject(custom) ? callee : { ...custom, arguments: custom['input'] ?? null };

/**
 * The single call of the older API. Many upstreams always send the field, even when there is no call, and some repeat
 * in it the call that `tool_calls` has.
 */
export function legacyCallOf(message: JsonObject): CallPiece | undefined {
  const { function_call } = message;
  if (!isObject(function_call) || !callsOf(message).every(isEmptyCall)) return undefined;
  const piece = pieceOf({}, function_call);
  return isEmptyCall(piece) ? undefined : piece;
}

function pieceOf(call: JsonObject, callee: Json | undefined): CallPiece {
  const { name, arguments: text } = membersOf(callee);
  return {
    index: numberOf(call['index']),
    id: idInCall(call),
    name: textIn(name),
    text: meantJsonText(text),
    signature: carriedSignature(call),
  };
}

/** The id of a call, which some upstreams send as a number (rule 35.52). */
const idInCall = ({ id }: JsonObject): string => meantText(id);

/** Whether every field of a call is empty: some upstreams send such calls. */
export const isEmptyCall = ({ id, name, text }: Omit<CallPiece, 'index' | 'signature'>): boolean =>
  id === '' && name === '' && text === '';
