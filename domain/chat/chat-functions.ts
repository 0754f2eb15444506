import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import {
  choiceOfNoTool,
  choiceOfOther,
  fieldError,
  unsupportedType,
  nameOf,
} from '../shared/field-errors.ts';
import { aBoolean, aString, type FieldShapes, shapeError } from '../shared/field-shapes.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import {
  isAbsent,
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  objectsOf,
} from '../shared/json.ts';

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

/** A function that a body offers, and the tool that it is in. */
export interface OfferedFunction extends ChatFunction {
  readonly tool: JsonObject;
  readonly parameters: JsonObject | undefined;
}

/** What an upstream does not take in the name of a function; `undefined` if it takes the name. */
type NameProblem = (name: string) => string | undefined;

/** The functions of a body's tools, each with a name of its own, without which upstreams reject them (rule 26.11). */
export function offeredFunctions(
  { tools }: JsonObject,
  nameProblem: NameProblem,
): Read<readonly OfferedFunction[]> {
  const offered: OfferedFunction[] = [];
  const names = new Set<string>();
  for (const [index, tool] of objectsOf(tools).entries()) {
    const path = `tools[${index}]`;
    const read = offeredFunction(tool, path);
    if (E.isLeft(read)) return read;
    const { name } = read.right;
    const problem = names.has(name) ? 'is the name of another tool, too.' : nameProblem(name);
    if (problem !== undefined) return E.left(fieldError(`${path}.function.name`, problem));
    names.add(name);
    offered.push(read.right);
  }
  return E.right(offered);
}

/** What describes a function, or the schema of an answer, beside its name and its schema. */
export const describedShapes: FieldShapes = [
  ['description', aString],
  ['strict', aBoolean],
];

/** A tool needs no type beside a function. Other types are tools that some providers host. */
function offeredFunction(tool: JsonObject, path: string): Read<OfferedFunction> {
  const untyped = isAbsent(tool['type']) && isObject(tool['function']);
  if (!untyped && tool['type'] !== 'function') return unsupportedType(tool, path);
  const offered = functionOf(tool, path);
  if (E.isLeft(offered)) return offered;
  const { members } = offered.right;
  const { parameters } = members;
  const fault =
    shapeError(members, describedShapes, `${path}.function.`) ??
    (isAbsent(parameters) ? undefined : inputSchemaFault(parameters, `${path}.function.parameters`));
  return fault === undefined
    ? E.right({ ...offered.right, tool, parameters: isObject(parameters) ? parameters : undefined })
    : E.left(fault);
}

/** The error for the schema of a function's arguments, which are an object. The schema need not say so. */
export function inputSchemaFault(schema: Json | undefined, path: string): GatewayError | undefined {
  if (!isObject(schema)) return fieldError(path, 'must be an object.');
  const { type } = schema;
  const isOfObject = isAbsent(type) || isArray(type) || (isString(type) && type.toLowerCase() === 'object');
  return isOfObject ? undefined : fieldError(`${path}.type`, 'must be `object`.');
}

/** The function of a call or a `tool_choice`, which may omit its type. */
export const calledFunction = (call: JsonObject, path: string): Read<ChatFunction> =>
  isAbsent(call['type']) || call['type'] === 'function'
    ? functionOf(call, path)
    : unsupportedType(call, path);

const words = ['auto', 'none', 'required'] as const;

/** The `tool_choice` of a chat body: a word, or the one function to call. */
type ChosenTool = (typeof words)[number] | ChatFunction;

/** The choice among these functions; `undefined` when the caller makes none. */
export function chosenTool(
  choice: Json | undefined,
  offered: readonly Pick<ChatFunction, 'name'>[],
): Read<ChosenTool | undefined> {
  if (isAbsent(choice)) return E.right(undefined);
  const read = isObject(choice) ? calledFunction(choice, 'tool_choice') : wordOf(choice);
  if (E.isLeft(read)) return read;
  const { right: chosen } = read;
  if (chosen === 'auto' || chosen === 'none') return read;
  if (offered.length === 0) return E.left(choiceOfNoTool);
  return chosen === 'required' || offered.some(({ name }) => name === chosen.name)
    ? read
    : E.left(choiceOfOther('tool_choice.function.name'));
}

function wordOf(choice: Json): Read<ChosenTool> {
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
