import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  isObject,
  isArray,
  isString,
  type Json,
  type JsonObject,
  mapObjects,
  membersOf,
  objectsOf,
  parseExactObject,
  without,
} from '../../../domain/shared/json.ts';
import { unavailableField } from '../../../domain/shared/field-errors.ts';
import { withoutAttribution } from '../../../domain/messages/attribution.ts';
import { restrictedGeo } from '../../../domain/messages/inference-geo.ts';
import { outputFormat } from '../../../domain/messages/messages-request.ts';
import {
  isSystem,
  withPlainSystemTurns,
  withSystemReminders,
} from '../../../domain/messages/system-turns.ts';
import { withToolsByReference } from '../../../domain/messages/tool-changes.ts';
import { takesSystemTurns } from '../../../domain/reasoning/model-tier.ts';
import type { Digest } from '../../../domain/shared/digest.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { mediaFault } from './content.ts';
import { type BodyCall, type OutboundBody, outboundBody } from './outbound-body.ts';
import { withPlatformMarks } from './platform-marks.ts';
import type { BodyRules } from './rules.ts';
import { type BoundId, boundedToolId } from './tool-ids.ts';

/**
 * The caller's own messages body for an upstream that speaks it. Signed thinking blocks and unknown fields stay as they
 * are. Tool ids are bounded, the model-family policy is applied, and the caller's betas are sent if the upstream takes
 * them.
 */
export function fromMessagesBody(
  call: BodyCall,
  rules: BodyRules,
  digest: Digest,
): Either<GatewayError, OutboundBody> {
  const body = parseExactObject(call.body);
  const region = rules.knowsRegions ? undefined : restrictedGeo(body);
  if (region !== undefined) return E.left(unavailableField(region));
  const messages = nativeMessages(body['messages'], rules, boundedToolId(digest));
  if (E.isLeft(messages)) return messages;
  const known = without(body, ...rules.dropped, ...(rules.knowsRegions ? [] : ['inference_geo']));
  const bounded = withFormatInPlace(withShownSystem({ ...known, messages: messages.right }));
  const placed = takesSystemTurns(call.route.upstreamModel)
    ? E.right(withToolsByReference(bounded))
    : withoutSystemTurns(withPlainSystemTurns(bounded));
  if (E.isLeft(placed)) return placed;
  return outboundBody(withKnownTools(withPlatformMarks(placed.right), rules), call, rules);
}

/** The system prompt without what only Anthropic's own servers take. */
function withShownSystem(body: JsonObject): JsonObject {
  const { system } = body;
  if (isString(system)) return { ...body, system: withoutAttribution(system) };
  return isArray(system) ? { ...body, system: system.flatMap(shownBlock) } : body;
}

function shownBlock(block: Json): readonly Json[] {
  if (!isObject(block) || !isString(block['text'])) return [block];
  const text = withoutAttribution(block['text']);
  if (text === block['text']) return [block];
  return text === '' ? [] : [{ ...block, text }];
}

/** Removes members of tools that the upstream rejects and that do not change the answer. */
function withKnownTools(body: JsonObject, { droppedOfTools }: BodyRules): JsonObject {
  const { tools } = body;
  if (droppedOfTools.length === 0 || !isArray(tools)) return body;
  return { ...body, tools: mapObjects(tools, (tool) => without(tool, ...droppedOfTools)) };
}

/**
 * Moves `output_format`, the format's older place, to `output_config.format`: the older one needs a value of
 * `anthropic-beta` that the platforms reject.
 */
function withFormatInPlace(body: JsonObject): JsonObject {
  if (body['output_format'] === undefined) return body;
  const asked = outputFormat(body);
  const config = asked && { output_config: { ...membersOf(body['output_config']), format: asked.format } };
  return { ...without(body, 'output_format'), ...config };
}

function nativeMessages(
  messages: Json | undefined,
  rules: BodyRules,
  boundId: BoundId,
): Either<GatewayError, readonly Json[]> {
  const kept: Json[] = [];
  for (const [index, message] of (isArray(messages) ? messages : []).entries()) {
    const native = isObject(message)
      ? nativeMessage(message, `messages[${index}]`, rules, boundId)
      : E.right(message);
    if (E.isLeft(native)) return native;
    if (native.right !== undefined) kept.push(native.right);
  }
  return E.right(kept);
}

/** Returns `undefined` if a turn of the assistant says nothing after removing what cannot be replayed. */
function nativeMessage(
  message: JsonObject,
  path: string,
  rules: BodyRules,
  boundId: BoundId,
): Either<GatewayError, JsonObject | undefined> {
  const { role, content } = message;
  if (!isArray(content)) return E.right(role === 'assistant' && isBlank(content) ? undefined : message);
  const blocks: Json[] = [];
  for (const [index, block] of content.entries()) {
    if (!isObject(block)) blocks.push(block);
    else if (!isUnsignedThinking(block) && !(role === 'assistant' && isBlankText(block))) {
      const problem = mediaFault(block, `${path}.content[${index}]`, rules.media);
      if (problem !== undefined) return E.left(problem);
      blocks.push(withBoundId(withoutSignature(block), boundId));
    }
  }
  if (blocks.length === 0 && role === 'assistant') return E.right(undefined);
  return E.right({ ...message, content: blocks });
}

/** Thinking from an answer that the gateway translated: it has an empty signature, and cannot be replayed. */
const isUnsignedThinking = ({ type, signature }: JsonObject): boolean =>
  type === 'thinking' && (!isString(signature) || signature === '');

/**
 * Models of other upstreams write blank texts, mostly before a call, and models of this family end some turns without
 * a word. The messages API rejects both when they are sent back (rules 17.54, 17.64).
 */
const isBlankText = ({ type, text }: JsonObject): boolean => type === 'text' && isBlank(text);

const isBlank = (text: Json | undefined): boolean => isString(text) && text.trim() === '';

/** The gateway's translation added `extra_content`, for a route of another platform. The messages API rejects it. */
const withoutSignature = (block: JsonObject): JsonObject =>
  block['type'] === 'tool_use' ? without(block, 'extra_content') : block;

/** The field of a block that names a call of the caller's own tools. */
const idFields: ReadonlyMap<Json | undefined, string> = new Map([
  ['tool_use', 'id'],
  ['tool_result', 'tool_use_id'],
]);

function withBoundId(block: JsonObject, boundId: BoundId): JsonObject {
  const field = idFields.get(block['type']);
  const id = field === undefined ? undefined : block[field];
  return field === undefined || !isString(id) ? block : { ...block, [field]: boundId(id) };
}

/** For models that take a system prompt at the front only. */
function withoutSystemTurns(body: JsonObject): Either<GatewayError, JsonObject> {
  const foreign = foreignSystemBlock(isArray(body['messages']) ? body['messages'] : []);
  return foreign === undefined
    ? E.right(withSystemReminders(body))
    : E.left(unavailableField(foreign, 'its system has texts alone'));
}

/** The path of the first block in a system turn that is not text, such as a change of tools between turns. */
function foreignSystemBlock(messages: readonly Json[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    if (!isSystem(message)) continue;
    const foreign = objectsOf(message['content']).findIndex(({ type }) => type !== 'text');
    if (foreign >= 0) return `messages[${index}].content[${foreign}].type`;
  }
  return undefined;
}
