import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { chosenTool, offeredFunction } from '../../../domain/chat/chat-functions.ts';
import {
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  objectsOf,
} from '../../../domain/shared/json.ts';
import { choiceOfNoTool, fieldError, unavailableField } from '../../../domain/shared/field-errors.ts';
import { markOf } from '../../../domain/messages/cache-marks.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { enforcedSchema } from './enforced-schema.ts';
import { asFlatTool } from './flat-tool.ts';

/** Members of the messages body. */
type Members = Either<GatewayError, JsonObject>;

/**
 * Function tools as custom tools with their cache marks, and the tool choice, which includes `parallel_tool_calls`.
 * `strict` is sent if the model supports it.
 */
export function toolMembers(body: JsonObject, supportsStrict: boolean): Members {
  if (isArray(body['functions']) && body['functions'].length > 0)
    return E.left(unavailableField('functions', 'use `tools`'));
  const tools: JsonObject[] = [];
  for (const [index, tool] of objectsOf(body['tools']).entries()) {
    const custom = customTool(tool, `tools[${index}]`, supportsStrict);
    if (E.isLeft(custom)) return custom;
    tools.push(custom.right);
  }
  const choice = choiceOf(body['tool_choice']);
  if (E.isLeft(choice)) return choice;
  const parallel = body['parallel_tool_calls'];
  if (!isAbsent(parallel) && typeof parallel !== 'boolean')
    return E.left(fieldError('parallel_tool_calls', 'must be a boolean.'));
  return tools.length === 0 ? withoutTools(choice.right) : E.right(withTools(tools, choice.right, parallel));
}

const withTools = (
  tools: readonly JsonObject[],
  choice: JsonObject | undefined,
  parallel: boolean | null | undefined,
): JsonObject => {
  const single = parallel === false && choice?.['type'] !== 'none';
  const toolChoice = single ? { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true } : choice;
  return { tools, ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }) };
};

/** Without tools the upstream takes no tool choice, and a choice that requires a tool cannot be met. */
const withoutTools = (choice: JsonObject | undefined): Members =>
  choice === undefined || choice['type'] === 'auto' || choice['type'] === 'none'
    ? E.right({})
    : E.left(choiceOfNoTool);

function customTool(tool: JsonObject, path: string, supportsStrict: boolean): Members {
  const offered = offeredFunction(tool, path);
  if (E.isLeft(offered)) return offered;
  const { name, members, parameters } = offered.right;
  const { description: given, strict } = members;
  const { schema, description } = asFlatTool({
    schema: inputSchema(parameters ?? {}),
    description: isString(given) ? given : '',
  });
  return E.right({
    type: 'custom',
    name,
    ...(isString(given) || description !== '' ? { description } : {}),
    input_schema: supportsStrict && strict === true ? enforcedSchema(schema) : schema,
    ...(supportsStrict && typeof strict === 'boolean' ? { strict } : {}),
    ...markOf(members),
    ...markOf(tool),
  });
}

/** The upstream requires the schema of an object with `properties`, also for a function without parameters. */
function inputSchema(parameters: JsonObject): JsonObject {
  const schema = isAbsent(parameters['type']) ? { ...parameters, type: 'object' } : parameters;
  return isAbsent(schema['properties']) ? { ...schema, properties: {} } : schema;
}

const choices = { auto: 'auto', none: 'none', required: 'any' } as const;

const choiceOf = (choice: Json | undefined): Either<GatewayError, JsonObject | undefined> =>
  pipe(
    chosenTool(choice),
    E.map((chosen) => {
      if (chosen === undefined) return undefined;
      return typeof chosen === 'string' ? { type: choices[chosen] } : { type: 'tool', name: chosen.name };
    }),
  );
