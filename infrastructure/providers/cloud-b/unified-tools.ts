import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { fault, foreignType, isRecord, nameOf } from '../../../domain/messages/blocks.ts';
import { markOf } from '../../../domain/messages/cache-marks.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { isAbsent, isString, type Json, type JsonObject, objectsOf } from '../../../domain/shared/json.ts';
import { maxToolNameChars, toolNameShape } from './unified-limits.ts';

/**
 * Function tools and the choice among them as `toolConfig`; undefined: the model may call none. The platform has no
 * word for `tool_choice: none`: the tools are left out.
 */
export function toolConfig(body: JsonObject, strict: boolean): Either<GatewayError, JsonObject | undefined> {
  const described = E.traverseArrayWithIndex((index: number, tool: JsonObject) =>
    toolSpec(tool, `tools[${index}]`, strict),
  )(objectsOf(body['tools']));
  if (E.isLeft(described)) return described;
  const tools = described.right;
  const choice = toolChoice(
    body['tool_choice'],
    tools.map(({ name }) => name),
  );
  if (E.isLeft(choice)) return choice;
  if (tools.length === 0 || body['tool_choice'] === 'none') return E.right(undefined);
  if (body['parallel_tool_calls'] === false)
    return E.left(
      fault('parallel_tool_calls', "cannot be `false` on this model's route: the model may call several."),
    );
  return E.right({ tools: tools.map(({ spec, mark }) => ({ toolSpec: spec, ...mark })), ...choice.right });
}

/** A name that the platform takes. */
export function toolName(called: JsonObject, path: string): Either<GatewayError, string> {
  const name = nameOf(called, 'name', path);
  if (E.isLeft(name)) return name;
  const at = `${path}.name`;
  if (name.right.length > maxToolNameChars)
    return E.left(
      fault(
        at,
        `has ${name.right.length} characters, and at most ${maxToolNameChars} on this model's route.`,
      ),
    );
  if (!toolNameShape.test(name.right))
    return E.left(fault(at, 'must be made of letters, digits, `_` and `-`.'));
  return name;
}

interface Tool {
  readonly name: string;
  readonly spec: JsonObject;
  /** Its cache mark, as a member. */
  readonly mark: JsonObject;
}

/** Of `strict` only what the caller says is told, and nothing where the model does not support it. */
function toolSpec(tool: JsonObject, path: string, supportsStrict: boolean): Either<GatewayError, Tool> {
  const { type, function: described } = tool;
  if (type !== 'function') return foreignType(tool, path);
  const at = `${path}.function`;
  if (!isRecord(described)) return E.left(fault(at, 'must be an object.'));
  const name = toolName(described, at);
  if (E.isLeft(name)) return name;
  const { description, parameters, strict } = described;
  if (!isAbsent(parameters) && !isRecord(parameters))
    return E.left(fault(`${at}.parameters`, 'must be an object.'));
  return E.right({
    name: name.right,
    mark: { ...markOf(described), ...markOf(tool) },
    spec: {
      name: name.right,
      ...(isString(description) && description !== '' ? { description } : {}),
      inputSchema: { json: objectSchema(parameters ?? {}) },
      ...(supportsStrict && typeof strict === 'boolean' ? { strict } : {}),
    },
  });
}

/** The platform wants the schema of an object, and refuses `properties: null`. */
const objectSchema = (parameters: JsonObject): JsonObject => ({
  type: 'object',
  ...parameters,
  ...(parameters['properties'] === null ? { properties: {} } : {}),
});

type Choice = Either<GatewayError, JsonObject>;

/** The choice as a member of `toolConfig`. */
function toolChoice(choice: Json | undefined, names: readonly string[]): Choice {
  if (isAbsent(choice) || choice === 'none') return E.right({});
  if (choice === 'auto') return E.right({ toolChoice: { auto: {} } });
  if (choice !== 'required' && !isRecord(choice))
    return E.left(fault('tool_choice', 'must be `auto`, `none`, `required` or a function.'));
  if (names.length === 0) return E.left(fault('tool_choice', 'asks for a tool, but the request has none.'));
  return choice === 'required' ? E.right({ toolChoice: { any: {} } }) : namedTool(choice, names);
}

function namedTool(choice: JsonObject, names: readonly string[]): Choice {
  const { type, function: chosen } = choice;
  if (type !== 'function') return foreignType(choice, 'tool_choice');
  if (!isRecord(chosen)) return E.left(fault('tool_choice.function', 'must be an object.'));
  const name = nameOf(chosen, 'name', 'tool_choice.function');
  if (E.isLeft(name)) return name;
  return names.includes(name.right)
    ? E.right({ toolChoice: { tool: { name: name.right } } })
    : E.left(fault('tool_choice.function.name', 'is the name of none of the `tools`.'));
}
