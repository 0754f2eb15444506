import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import {
  chosenTool,
  type OfferedFunction,
  offeredFunctions,
  singleCallFault,
} from '../../../domain/chat/chat-functions.ts';
import { isAbsent, isObject, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { jsonSchema } from './generate-content-schema.ts';

type Members = Either<GatewayError, JsonObject>;

/** Function tools and the tool choice, as `tools` and `toolConfig`. */
export function toolMembers(body: JsonObject): Members {
  const offered = offeredFunctions(body, nameProblem);
  if (E.isLeft(offered)) return offered;
  const config = callingConfig(body['tool_choice'], offered.right);
  if (E.isLeft(config)) return config;
  if (offered.right.length === 0) return E.right({});
  const several = singleCallFault(body);
  if (several !== undefined) return E.left(several);
  return E.right({
    tools: [{ functionDeclarations: offered.right.map(declaration) }],
    ...(config.right === undefined ? {} : { toolConfig: { functionCallingConfig: config.right } }),
  });
}

/** https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/FunctionDeclaration */
const nameProblem = (name: string): string | undefined =>
  /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/.test(name)
    ? undefined
    : "must begin with a letter or `_`, and have at most 128 letters, digits and `_.:-` on this model's route.";

function declaration({ name, members, parameters }: OfferedFunction): JsonObject {
  const { description } = members;
  const schema = parameters === undefined ? {} : objectSchema(jsonSchema(parameters));
  return {
    name,
    ...(isString(description) ? { description } : {}),
    // An empty schema is left out, because the upstream requires the schema of an object.
    ...(Object.keys(schema).length === 0 ? {} : { parametersJsonSchema: schema }),
  };
}

/** Adds the type to a schema that has properties, if the caller left it out: the upstream requires it. */
const objectSchema = (schema: JsonObject): JsonObject =>
  isAbsent(schema['type']) && isObject(schema['properties']) ? { ...schema, type: 'object' } : schema;

const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const;

const callingConfig = (
  choice: Json | undefined,
  offered: readonly OfferedFunction[],
): Either<GatewayError, JsonObject | undefined> =>
  pipe(
    chosenTool(choice, offered),
    E.map((chosen) => {
      if (chosen === undefined) return undefined;
      return typeof chosen === 'string'
        ? { mode: modes[chosen] }
        : { mode: 'ANY', allowedFunctionNames: [chosen.name] };
    }),
  );
