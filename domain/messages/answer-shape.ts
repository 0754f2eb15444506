import { calleeOf } from '../calls/call-pieces.ts';
import { reasoningFields } from '../reasoning/reasoning-fields.ts';
import {
  isAbsent,
  isArray,
  isDeeperThan,
  isFilled,
  isObject,
  isString,
  type Json,
  type JsonObject,
  numberOf,
} from '../shared/json.ts';
import { maxJsonDepth } from '../shared/limits.ts';
import { firstChoicePieces } from './chat-answer.ts';

/** Whether a field may have this value. */
type Shape = (value: Json | undefined) => boolean;

/** An empty value of any type is well-formed, because upstreams fill fields that they do not use. */
const orEmpty =
  (is: Shape): Shape =>
  (value) =>
    !isFilled(value) || is(value);

const aText = orEmpty(isString);

/** Some upstreams send a piece that consists of digits, or the id of a call, as a number. */
const isPlain: Shape = (value) => isString(value) || numberOf(value) !== undefined;

const itemsOf = (is: Shape): Shape =>
  orEmpty((value) => isArray(value) && value.every((item) => isAbsent(item) || is(item)));

const aPart: Shape = (part) =>
  isObject(part) && isString(part['type']) && (part['type'] !== 'text' || aText(part['text']));

/** Some upstreams send an object itself where its text belongs, and some send reasoning as a block. */
const anObject: Shape = (value) => isObject(value) && !isDeeperThan(value, maxJsonDepth);

const content = orEmpty((value) => isPlain(value) || itemsOf(aPart)(value) || anObject(value));

const callArguments = orEmpty((value) => isPlain(value) || anObject(value));

const aCallee = orEmpty(
  (callee) => isObject(callee) && aText(callee['name']) && callArguments(callee['arguments']),
);

const aCall: Shape = (call) => isObject(call) && orEmpty(isPlain)(call['id']) && aCallee(calleeOf(call));

/** The fields of a message or delta that are translated. */
const fields: readonly (readonly [field: string, shape: Shape])[] = [
  ['content', content],
  ['refusal', aText],
  ...reasoningFields.map((field) => [field, orEmpty((value) => isPlain(value) || anObject(value))] as const),
  ['tool_calls', itemsOf(aCall)],
  ['function_call', aCallee],
];

const aMessage = orEmpty(
  (message) => isObject(message) && fields.every(([field, shape]) => shape(message[field])),
);

/**
 * Whether a piece of the translated choice has a type that it cannot have. The translation would silently drop the
 * piece, and the rest would look like the whole answer. `member` is the member of the choice that is read.
 */
export const isMalformedChat = ({ choices }: JsonObject, member: 'message' | 'delta'): boolean =>
  !itemsOf(isObject)(choices) || !firstChoicePieces(choices).every((choice) => aMessage(choice[member]));
