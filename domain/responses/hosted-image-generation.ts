import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isArray, isObject, isString, type Json, type JsonObject, without } from '../shared/json.ts';

const hosted = 'image_generation';

/** A quick check whether a body may declare the hosted tool. The word may be spelled with escapes. */
export const mayDeclareImageGeneration = (body: string): boolean =>
  body.includes(hosted) || body.includes('\\u');

/**
 * Hosted-tool rule: an opportunistic hosted image-generation tool declaration is stripped; a request that explicitly
 * requires image generation is rejected. Returns the same value when the body declares none.
 */
export function withoutImageGeneration(body: JsonObject): Either<GatewayError, JsonObject> {
  const { tools, tool_choice: choice } = body;
  if (isRequired(tools, choice))
    return E.left(
      fieldError('tool_choice', "requires image generation, which this model's route cannot serve."),
    );
  if (!isArray(tools) || !tools.some(isHosted)) return E.right(body);
  const others = tools.filter((tool) => !isHosted(tool));
  const left = isAllowList(choice) ? withoutHosted(choice) : choice;
  const changed = left === choice ? body : { ...body, tool_choice: left };
  if (others.length > 0) return E.right({ ...changed, tools: others });
  const bare = without(changed, 'tools');
  return E.right(isString(left) || left === null ? without(bare, 'tool_choice') : bare);
}

const isHosted = (tool: Json): boolean => isObject(tool) && tool['type'] === hosted;

const isAllowList = (choice: Json | undefined): choice is JsonObject =>
  isObject(choice) && choice['type'] === 'allowed_tools';

/** An allow-list that allows nothing is rejected upstream, so it becomes `none`, which means the same. */
function withoutHosted(choice: JsonObject): Json {
  const { tools } = choice;
  if (!isArray(tools) || !tools.some(isHosted)) return choice;
  const others = tools.filter((tool) => !isHosted(tool));
  return others.length === 0 ? 'none' : { ...choice, tools: others };
}

/** Whether the choice leaves the model no option but to generate an image. */
function isRequired(tools: Json | undefined, choice: Json | undefined): boolean {
  if (isObject(choice) && isHosted(choice)) return true;
  const must = choice === 'required' || (isAllowList(choice) && choice['mode'] === 'required');
  const among = isAllowList(choice) ? choice['tools'] : tools;
  return must && isArray(among) && among.length > 0 && among.every(isHosted);
}
