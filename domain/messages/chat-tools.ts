import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { GatewayError } from '../shared/gateway-error.ts';
import {
  isAbsent,
  isArray,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  objectsOf,
  isObject,
} from '../shared/json.ts';
import { describedShapes, inputSchemaFault } from '../chat/chat-functions.ts';
import {
  choiceOfNoTool,
  choiceOfOther,
  fieldError,
  unsupportedType,
  nameOf,
} from '../shared/field-errors.ts';
import { aBoolean, type FieldShapes, shapeError } from '../shared/field-shapes.ts';
import type { Kept } from './chat-messages.ts';
import { chatToolName } from './tool-names.ts';

/** Members of the chat body. */
type Members = Either<GatewayError, JsonObject>;

/** How the reader of a chat body takes schemas. */
export interface SchemaWriting {
  /** The schema of a tool's input as it is written. */
  readonly schema: (schema: JsonObject) => JsonObject;
  /** Whether the reader accepts `strict` with the schema. */
  readonly strict: (schema: JsonObject) => boolean;
}

/**
 * The chat API refuses a function whose schema has no `properties`, even when there are none. The messages API does not
 * require them, and few MCP servers write them.
 */
export const withProperties: SchemaWriting['schema'] = (schema) =>
  schema['type'] === 'object' && isAbsent(schema['properties']) ? { ...schema, properties: {} } : schema;

/**
 * Tools and the choice among them. Without tools neither is written, because chat upstreams refuse both, unless an empty
 * list is to be kept (rule 3.12).
 */
export function chatToolMembers(
  body: JsonObject,
  { marks, emptyTools }: Pick<Kept, 'marks' | 'emptyTools'>,
  writing: SchemaWriting,
): Members {
  const tools: JsonObject[] = [];
  for (const [index, tool] of objectsOf(body['tools']).entries()) {
    const chatTool = functionTool(tool, `tools[${index}]`, writing);
    if (E.isLeft(chatTool)) return chatTool;
    tools.push({ ...chatTool.right, ...marks(tool) });
  }
  const written = tools.length > 0 || (emptyTools && isArray(body['tools']));
  const names = objectsOf(body['tools']).map(({ name }) => name);
  const choice = choiceMembers(body['tool_choice'], written ? names : undefined);
  if (E.isLeft(choice) || !written) return choice;
  return E.right({ tools, ...choice.right });
}

/**
 * Tools without a `type`, or of type `custom`, are functions of the caller. Any other type is a tool that the messages
 * API's own servers or models provide, and is rejected by name. Hints about loading are dropped, and a tool is not
 * `strict` where the reader would reject its schema.
 */
function functionTool(
  tool: JsonObject,
  path: string,
  writing: SchemaWriting,
): Either<GatewayError, JsonObject> {
  const { type, description, input_schema, strict } = tool;
  if (!isAbsent(type) && type !== 'custom') return unsupportedType(tool, path);
  const name = nameOf(tool, 'name', path);
  if (E.isLeft(name)) return name;
  const fault =
    shapeError(tool, describedShapes, `${path}.`) ?? inputSchemaFault(input_schema, `${path}.input_schema`);
  if (fault !== undefined) return E.left(fault);
  const schema = membersOf(input_schema);
  return E.right({
    type: 'function',
    function: {
      name: chatToolName(name.right),
      ...(isString(description) ? { description } : {}),
      parameters: writing.schema(schema),
      ...(typeof strict === 'boolean' ? { strict: strict && writing.strict(schema) } : {}),
    },
  });
}

/** `names` are those of the tools; `undefined` if none are written. */
function choiceMembers(choice: Json | undefined, names: readonly (Json | undefined)[] | undefined): Members {
  if (!isObject(choice)) return E.right({});
  const fault = shapeError(choice, choiceShapes, 'tool_choice.');
  if (fault !== undefined) return E.left(fault);
  const named = choiceOf(choice);
  if (E.isLeft(named)) return named;
  const { type, name, disable_parallel_tool_use: single } = choice;
  if (names === undefined) return type === 'auto' || type === 'none' ? E.right({}) : E.left(choiceOfNoTool);
  if (type === 'tool' && !names.includes(name)) return E.left(choiceOfOther('tool_choice.name'));
  return E.right({
    tool_choice: named.right,
    ...(single === true ? { parallel_tool_calls: false } : {}),
  });
}

const choiceShapes: FieldShapes = [['disable_parallel_tool_use', aBoolean]];

const choices: ReadonlyMap<Json | undefined, string> = new Map([
  ['auto', 'auto'],
  ['any', 'required'],
  ['none', 'none'],
]);

function choiceOf(choice: JsonObject): Either<GatewayError, Json> {
  const { type } = choice;
  if (type === 'tool')
    return pipe(
      nameOf(choice, 'name', 'tool_choice'),
      E.map((name) => ({ type: 'function', function: { name: chatToolName(name) } })),
    );
  return E.fromNullable(fieldError('tool_choice.type', 'must be `auto`, `any`, `tool` or `none`.'))(
    choices.get(type),
  );
}
