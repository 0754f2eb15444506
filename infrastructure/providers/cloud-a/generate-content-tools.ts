import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { chosenTool, offeredFunction, singleCallFault } from '../../../domain/chat/chat-functions.ts';
import {
  isAbsent,
  isObject,
  isString,
  type Json,
  type JsonObject,
  objectsOf,
} from '../../../domain/shared/json.ts';
import { choiceOfNoTool } from '../../../domain/shared/field-errors.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { jsonSchema } from './generate-content-schema.ts';

type Members = Either<GatewayError, JsonObject>;

/** Function tools and the tool choice, as `tools` and `toolConfig`. */
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
    // An empty schema is left out, because the upstream requires the schema of an object.
    ...(Object.keys(schema).length === 0 ? {} : { parametersJsonSchema: schema }),
  });
}

/** Adds the type to a schema that has properties, if the caller left it out: the upstream requires it. */
const objectSchema = (schema: JsonObject): JsonObject =>
  isAbsent(schema['type']) && isObject(schema['properties']) ? { ...schema, type: 'object' } : schema;

const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const;

const callingConfig = (choice: Json | undefined): Either<GatewayError, JsonObject | undefined> =>
  pipe(
    chosenTool(choice),
    E.map((chosen) => {
      if (chosen === undefined) return undefined;
      return typeof chosen === 'string'
        ? { mode: modes[chosen] }
        : { mode: 'ANY', allowedFunctionNames: [chosen.name] };
    }),
  );
