import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { chatReasoningFields } from '../../../domain/reasoning/reasoning-request.ts';
import type { Digest } from '../../../domain/shared/digest.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { isAbsent, type JsonObject, parseExactObject } from '../../../domain/shared/json.ts';
import { controlFault, limitMember, outputConfigMember, samplingFault, stopMember } from './controls.ts';
import { type BodyCall, type OutboundBody, outboundBody } from './outbound-body.ts';
import type { BodyRules } from './rules.ts';
import { boundedIds } from './tool-ids.ts';
import { toolMembers } from './tools.ts';
import { conversationOf } from './turns.ts';

/** Translates a chat-completions body to the messages body that asks for the same answer. */
export function fromChatBody(
  call: BodyCall,
  rules: BodyRules,
  digest: Digest,
): Either<GatewayError, OutboundBody> {
  const body = parseExactObject(call.body);
  const foreign = controlFault(body, rules);
  if (foreign !== undefined) return E.left(foreign);
  const translated = translate(body, call.route, rules, digest);
  if (E.isLeft(translated)) return translated;
  const written = outboundBody(translated.right, call, rules);
  // Last, because a model may take no sampling fields at all, and the error then has to say that.
  const outside = samplingFault(body);
  return E.isLeft(written) || outside === undefined ? written : E.left(outside);
}

/** Members that mean the same in both bodies, or that the model-family policy replaces. */
const common = [
  'temperature',
  'top_p',
  'top_k',
  'thinking',
  ...chatReasoningFields,
  'anthropic_beta',
] as const;

function translate(
  body: JsonObject,
  route: BodyCall['route'],
  rules: BodyRules,
  digest: Digest,
): Either<GatewayError, JsonObject> {
  const limit = limitMember(body, route, rules);
  if (E.isLeft(limit)) return limit;
  const turns = conversationOf(body, { media: rules.media, ids: boundedIds(digest) });
  if (E.isLeft(turns)) return turns;
  const tools = toolMembers(body, rules.supportsStrict(route));
  if (E.isLeft(tools)) return tools;
  const stop = stopMember(body);
  if (E.isLeft(stop)) return stop;
  const outputConfig = outputConfigMember(body, rules);
  if (E.isLeft(outputConfig)) return outputConfig;
  const { system, messages } = turns.right;
  return E.right({
    ...limit.right,
    ...(system.length === 0 ? {} : { system }),
    messages,
    ...tools.right,
    ...stop.right,
    ...membersNamed(body, common),
    ...membersNamed(body, rules.copied),
    ...outputConfig.right,
  });
}

/** The named members that the body has. Null counts as absent. */
const membersNamed = (body: JsonObject, fields: readonly string[]): JsonObject =>
  Object.fromEntries(fields.flatMap((field) => (isAbsent(body[field]) ? [] : [[field, body[field]]])));
