import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { functionOf, offeredFunction, singleCallFault } from '../../../domain/chat/chat-functions.ts';
import {
  isAbsent,
  isObject,
  isString,
  type Json,
  type JsonObject,
  objectsOf,
} from '../../../domain/shared/json.ts';
import { choiceOfNoTool, fieldError, foreignType } from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { jsonSchema } from './generate-content-schema.ts';

type Members = Either<GatewayError, JsonObject>;

/** Function tools and the choice among them, as `tools` and `toolConfig`. */
export function toolMembers(body: JsonObject): Members {
  const declarations: JsonObject[] = [];
  for (const [index, tool] of objectsOf(body['tools']).entries()) {
    const declared = declaration(tool, `tools[${index}]`);
    if (E.isLeft(declared)) return declared;
    declarations.push(declared.right);
  }
  const config = callingConfig(body['tool_choice']);
  if (E.isLeft(config)) return config;
  const mode = config.right?.['mode'];
  if (declarations.length === 0) return mode === 'ANY' ? E.left(choiceOfNoTool) : E.right({});
  const several = singleCallFault(body);
  if (several !== undefined) return E.left(several);
  return E.right({
    tools: [{ functionDeclarations: declarations }],
    ...(config.right === undefined ? {} : { toolConfig: { functionCallingConfig: config.right } }),
  });
}

function declaration(tool: JsonObject, path: string): Members {
  const offered = offeredFunction(tool, path);
  if (E.isLeft(offered)) return offered;
  const { name, members, parameters } = offered.right;
  const { description } = members;
  const schema = parameters === undefined ? {} : objectSchema(jsonSchema(parameters));
  return E.right({
    name,
    ...(isString(description) ? { description } : {}),
    // Without properties of its own a function takes none: the upstream wants a schema to be that of an object.
    ...(Object.keys(schema).length === 0 ? {} : { parametersJsonSchema: schema }),
  });
}

/** What has properties is an object, also where the caller leaves out its type: the upstream wants it said. */
const objectSchema = (schema: JsonObject): JsonObject =>
  isAbsent(schema['type']) && isObject(schema['properties']) ? { ...schema, type: 'object' } : schema;

const modes: ReadonlyMap<string, string> = new Map([
  ['auto', 'AUTO'],
  ['none', 'NONE'],
  ['required', 'ANY'],
]);

function callingConfig(choice: Json | undefined): Either<GatewayError, JsonObject | undefined> {
  if (isAbsent(choice)) return E.right(undefined);
  if (isObject(choice)) return namedFunction(choice);
  const mode = isString(choice) ? modes.get(choice) : undefined;
  return mode === undefined
    ? E.left(fieldError('tool_choice', 'must be `auto`, `none`, `required` or a function.'))
    : E.right({ mode });
}

function namedFunction(choice: JsonObject): Members {
  if (choice['type'] !== 'function') return foreignType(choice, 'tool_choice');
  return pipe(
    functionOf(choice, 'tool_choice'),
    E.map(({ name }) => ({ mode: 'ANY', allowedFunctionNames: [name] })),
  );
}
