import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { fieldError, foreignType, nameOf } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, isObject, type Json, type JsonObject, objectsOf } from '../shared/json.ts';

/** A function that a chat body speaks of: in a tool, a call or a choice. */
export interface ChatFunction {
  readonly name: string;
  /** All that is said of it. */
  readonly members: JsonObject;
}

type Read<A> = Either<GatewayError, A>;

/** The function of what was found to be of the type `function`. */
function functionOf({ function: members }: JsonObject, path: string): Read<ChatFunction> {
  const at = `${path}.function`;
  if (!isObject(members)) return E.left(fieldError(at, 'must be an object.'));
  return pipe(
    nameOf(members, 'name', at),
    E.map((name) => ({ name, members })),
  );
}

/** Of a tool, which need not say its type beside its function: any other type is one that some providers host. */
export function offeredFunction(
  tool: JsonObject,
  path: string,
): Read<ChatFunction & { readonly parameters: JsonObject | undefined }> {
  const untyped = isAbsent(tool['type']) && isObject(tool['function']);
  if (!untyped && tool['type'] !== 'function') return foreignType(tool, path);
  const offered = functionOf(tool, path);
  if (E.isLeft(offered)) return offered;
  const { parameters } = offered.right.members;
  return isAbsent(parameters) || isObject(parameters)
    ? E.right({ ...offered.right, parameters: parameters ?? undefined })
    : E.left(fieldError(`${path}.function.parameters`, 'must be an object.'));
}

/** Of a call or a choice, which need not say its type. */
export const calledFunction = (call: JsonObject, path: string): Read<ChatFunction> =>
  isAbsent(call['type']) || call['type'] === 'function' ? functionOf(call, path) : foreignType(call, path);

const words = ['auto', 'none', 'required'] as const;

/** What a chat body says of the choice among its tools: a word, or the one function that is to be called. */
type ChosenTool = (typeof words)[number] | ChatFunction;

/** Undefined: the caller leaves it open. */
export function chosenTool(choice: Json | undefined): Read<ChosenTool | undefined> {
  if (isAbsent(choice)) return E.right(undefined);
  if (isObject(choice)) return calledFunction(choice, 'tool_choice');
  const word = words.find((each) => each === choice);
  return word === undefined
    ? E.left(fieldError('tool_choice', 'must be `auto`, `none`, `required` or a function.'))
    : E.right(word);
}

/**
 * Why an upstream that has no word for it cannot ask for one call at a time; undefined: nobody asks for it, or the choice
 * leaves one function, which is asked for one call already. Clients send both where an answer follows a schema by a tool.
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
