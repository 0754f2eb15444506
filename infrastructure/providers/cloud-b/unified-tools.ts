import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import {
  chosenTool,
  type OfferedFunction,
  offeredFunctions,
  singleCallFault,
} from '../../../domain/chat/chat-functions.ts';
import { isAbsent, isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import { fieldError } from '../../../domain/shared/field-errors.ts';
import { markOf } from '../../../domain/messages/cache-marks.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { enforcedSchema } from '../messages-body/enforced-schema.ts';
import { asFlatTool, type ToolDescription } from '../messages-body/flat-tool.ts';
import type { ImpliedField } from './unified-fields.ts';
import { maxToolNameChars, toolNameShape } from './unified-limits.ts';
import { asNovaTool } from './unified-schema.ts';

/** The tools of a request, and the tool choice if `toolConfig` cannot express it. */
export interface Tools {
  readonly config: JsonObject;
  readonly choice: ImpliedField | undefined;
}

/** What a model supports of tools. */
export interface ToolTerms {
  readonly strict: boolean;
  /** Whether it is a model of the messages family, which takes a tool choice in the format of the messages body. */
  readonly messagesFamily: boolean;
  /** Whether it is a Nova model, which takes less of a schema than others. */
  readonly nova: boolean;
}

/**
 * Function tools and the tool choice as `toolConfig`; `undefined` if the model may call no tool. The platform has no
 * equivalent of `tool_choice: none`: the tools are left out instead. Nor can it limit an answer to one call: models of
 * the messages family get the whole choice in the format of the messages body, and for other models the request is
 * rejected, unless the choice leaves only one function.
 */
export function toolConfig(body: JsonObject, terms: ToolTerms): Either<GatewayError, Tools | undefined> {
  const offered = offeredFunctions(body, nameProblem);
  if (E.isLeft(offered)) return offered;
  const tools = offered.right.map((each) => toolSpec(each, terms));
  const choice = toolChoice(body['tool_choice'], offered.right);
  if (E.isLeft(choice)) return choice;
  const { parallel_tool_calls: parallel } = body;
  if (!isAbsent(parallel) && typeof parallel !== 'boolean')
    return E.left(fieldError('parallel_tool_calls', 'must be a boolean.'));
  if (tools.length === 0 || body['tool_choice'] === 'none') return E.right(undefined);
  const config = { tools: tools.map(({ spec, mark }) => ({ toolSpec: spec, ...mark })) };
  const { right: chosen } = choice;
  if (parallel === false && terms.messagesFamily) return E.right({ config, choice: singleCall(chosen) });
  const several = singleCallFault(body);
  if (several !== undefined) return E.left(several);
  return E.right({
    config: { ...config, ...(chosen === undefined ? {} : { toolChoice: chosen }) },
    choice: undefined,
  });
}

/** The tool choice in the format of the messages body, limited to one call. `toolConfig` must then have no choice. */
function singleCall(chosen: Chosen | undefined): ImpliedField {
  const [type, more] = Object.entries(chosen ?? {})[0] ?? ['auto', {}];
  return {
    name: 'tool_choice',
    value: { type, ...more, disable_parallel_tool_use: true },
    source: 'parallel_tool_calls',
  };
}

function nameProblem(name: string): string | undefined {
  if (name.length > maxToolNameChars)
    return `has ${name.length} characters, and at most ${maxToolNameChars} on this model's route.`;
  return toolNameShape.test(name) ? undefined : 'must be made of letters, digits, `_` and `-`.';
}

interface Tool {
  readonly spec: JsonObject;
  /** Its cache mark, as a member. */
  readonly mark: JsonObject;
}

/** `strict` is sent as the caller wrote it, and only to a model that supports it. */
function toolSpec({ name, members, parameters, tool }: OfferedFunction, terms: ToolTerms): Tool {
  const strict = terms.strict ? members['strict'] : undefined;
  const whole = objectSchema(parameters ?? {});
  const given: ToolDescription = {
    schema: strict === true ? enforcedSchema(whole) : whole,
    description: isString(members['description']) ? members['description'] : '',
  };
  const { schema, description } = describedFor(terms, given);
  return {
    mark: { ...markOf(members), ...markOf(tool) },
    spec: {
      name,
      ...(description === '' ? {} : { description }),
      inputSchema: { json: schema },
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  };
}

function describedFor({ nova, messagesFamily }: ToolTerms, tool: ToolDescription): ToolDescription {
  if (nova) return asNovaTool(tool);
  return messagesFamily ? asFlatTool(tool) : tool;
}

/** The platform requires the schema of an object, and rejects null as its `type` or `properties`. */
const objectSchema = (parameters: JsonObject): JsonObject => ({
  ...parameters,
  type: parameters['type'] ?? 'object',
  ...(parameters['properties'] === null ? { properties: {} } : {}),
});

/** `toolChoice`. The name of its one member, `auto`, `any` or `tool`, is also the choice's type in messages bodies. */
type Chosen = Readonly<Record<string, JsonObject>>;

type Choice = Either<GatewayError, Chosen | undefined>;

/** `undefined` if the caller leaves the choice open, or wants no calls. */
const toolChoice = (choice: Json | undefined, offered: readonly OfferedFunction[]): Choice =>
  pipe(
    chosenTool(choice, offered),
    E.map((chosen) => {
      if (chosen === undefined || chosen === 'none') return undefined;
      if (chosen === 'auto') return { auto: {} };
      return chosen === 'required' ? { any: {} } : { tool: { name: chosen.name } };
    }),
  );
