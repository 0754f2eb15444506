import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { fieldError, unsupportedType, nameOf } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, isObject, type Json, type JsonObject, objectsOf } from '../shared/json.ts';

/** The function of a tool, a call or a `tool_choice` in a chat body. */
export interface ChatFunction {
  readonly name: string;
  /** All members of the `function` object. */
  readonly members: JsonObject;
}

type Read<A> = Either<GatewayError, A>;

/** The function of an object whose type is known to be `function`. */
function functionOf({ function: members }: JsonObject, path: string): Read<ChatFunction> {
  const at = `${path}.function`;
  if (!isObject(members)) return E.left(fieldError(at, 'must be an object.'));
  return pipe(
    nameOf(members, 'name', at),
    E.map((name) => ({ name, members })),
  );
}

/** The function of a tool, which needs no type beside a function. Other types are tools that some providers host. */
export function offeredFunction(
  tool: JsonObject,
  path: string,
): Read<ChatFunction & { readonly parameters: JsonObject | undefined }> {
  const untyped = isAbsent(tool['type']) && isObject(tool['function']);
  if (!untyped && tool['type'] !== 'function') return unsupportedType(tool, path);
  const offered = functionOf(tool, path);
  if (E.isLeft(offered)) return offered;
  const { parameters } = offered.right.members;
  return isAbsent(parameters) || isObject(parameters)
    ? E.right({ ...offered.right, parameters: parameters ?? undefined })
    : E.left(fieldError(`${path}.function.parameters`, 'must be an object.'));
}

/** The function of a call or a `tool_choice`, which may omit its type. */
export const calledFunction = (call: JsonObject, path: string): Read<ChatFunction> =>
  isAbsent(call['type']) || call['type'] === 'function'
    ? functionOf(call, path)
    : unsupportedType(call, path);

const words = ['auto', 'none', 'required'] as const;

/** The `tool_choice` of a chat body: a word, or the one function to call. */
type ChosenTool = (typeof words)[number] | ChatFunction;

/** `undefined` when the caller makes no choice. */
export function chosenTool(choice: Json | undefined): Read<ChosenTool | undefined> {
  if (isAbsent(choice)) return E.right(undefined);
  if (isObject(choice)) return calledFunction(choice, 'tool_choice');
  const word = words.find((each) => each === choice);
  return word === undefined
    ? E.left(fieldError('tool_choice', 'must be `auto`, `none`, `required` or a function.'))
    : E.right(word);
}

/**
 * The error for an upstream that cannot be told to make one call at a time. `undefined` when the caller does not ask
 * for that, or when the choice leaves one function, which already asks for a single call. Clients send both when a tool
 * enforces a schema on the answer.
 */
export function singleCallFault(body: JsonObject): GatewayError | undefined {
  const { parallel_tool_calls: parallel, tool_choice: choice, tools } = body;
  const leavesOne = isObject(choice) || (choice === 'required' && objectsOf(tools).length === 1);
  return parallel !== false || choice === 'none' || leavesOne
    ? undefined
    : fieldError(
        'parallel_tool_calls',
        "cannot ask for one call at a time on this model's route: the model may call several.",
      );
}
