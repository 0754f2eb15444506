import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { chosenTool, type OfferedFunction, offeredFunctions } from '../../../domain/chat/chat-functions.ts';
import { isAbsent, isArray, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import { fieldError, unavailableField } from '../../../domain/shared/field-errors.ts';
import { markOf } from '../../../domain/messages/cache-marks.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { enforcedSchema } from './enforced-schema.ts';
import { asFlatTool } from './flat-tool.ts';

/** Members of the messages body. */
type Members = Either<GatewayError, JsonObject>;

/**
 * Function tools as custom tools with their cache marks, and the tool choice, which includes `parallel_tool_calls`:
 * without tools the upstream takes none. `strict` is sent if the model supports it.
 */
export function toolMembers(body: JsonObject, supportsStrict: boolean): Members {
  if (isArray(body['functions']) && body['functions'].length > 0)
    return E.left(unavailableField('functions', 'use `tools`'));
  const offered = offeredFunctions(body, nameProblem);
  if (E.isLeft(offered)) return offered;
  const choice = choiceOf(body['tool_choice'], offered.right);
  if (E.isLeft(choice)) return choice;
  const parallel = body['parallel_tool_calls'];
  if (!isAbsent(parallel) && typeof parallel !== 'boolean')
    return E.left(fieldError('parallel_tool_calls', 'must be a boolean.'));
  if (offered.right.length === 0) return E.right({});
  const tools = offered.right.map((each) => customTool(each, supportsStrict));
  return E.right(withTools(tools, choice.right, parallel));
}

/** https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use */
const nameProblem = (name: string): string | undefined =>
  /^[A-Za-z0-9_-]{1,128}$/.test(name)
    ? undefined
    : "must have at most 128 letters, digits, `_` and `-` on this model's route.";

const withTools = (
  tools: readonly JsonObject[],
  choice: JsonObject | undefined,
  parallel: boolean | null | undefined,
): JsonObject => {
  const single = parallel === false && choice?.['type'] !== 'none';
  const toolChoice = single ? { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true } : choice;
  return { tools, ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }) };
};

function customTool(offered: OfferedFunction, supportsStrict: boolean): JsonObject {
  const { name, members, parameters, tool } = offered;
  const { description: given, strict } = members;
  const { schema, description } = asFlatTool({
    schema: inputSchema(parameters ?? {}),
    description: isString(given) ? given : '',
  });
  return {
    type: 'custom',
    name,
    ...(isString(given) || description !== '' ? { description } : {}),
    input_schema: supportsStrict && strict === true ? enforcedSchema(schema) : schema,
    ...(supportsStrict && typeof strict === 'boolean' ? { strict } : {}),
    ...markOf(members),
    ...markOf(tool),
  };
}

/** The upstream requires the schema of an object with `properties`, also for a function without parameters. */
function inputSchema(parameters: JsonObject): JsonObject {
  const schema = isAbsent(parameters['type']) ? { ...parameters, type: 'object' } : parameters;
  return isAbsent(schema['properties']) ? { ...schema, properties: {} } : schema;
}

const choices = { auto: 'auto', none: 'none', required: 'any' } as const;

const choiceOf = (
  choice: Json | undefined,
  offered: readonly OfferedFunction[],
): Either<GatewayError, JsonObject | undefined> =>
  pipe(
    chosenTool(choice, offered),
    E.map((chosen) => {
      if (chosen === undefined) return undefined;
      return typeof chosen === 'string' ? { type: choices[chosen] } : { type: 'tool', name: chosen.name };
    }),
  );
