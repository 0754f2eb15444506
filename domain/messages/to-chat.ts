import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { identity } from 'fp-ts/lib/function.js';
import { type ForeignFields, foreignIn } from '../compatibility/foreign-fields.ts';
import { readReasoningRequest } from '../reasoning/reasoning-request.ts';
import { anObject, shapeError } from '../shared/field-shapes.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import {
  isAbsent,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  membersOf,
  numberOf,
  objectsOf,
  present,
} from '../shared/json.ts';
import { systemBlocks } from './blocks.ts';
import { emptyConversation, fieldError, unavailableField } from '../shared/field-errors.ts';
import { chatMessages, type Kept, nothingKept, systemMessages, withCallsTogether } from './chat-messages.ts';
import { linkedDocument } from './content-parts.ts';
import { below, placeIn } from '../shared/place.ts';
import { chatToolMembers, type SchemaWriting, withProperties } from './chat-tools.ts';
import { requestedReasoning, reasoningEffort } from './effort.ts';
import { restrictedGeo } from './inference-geo.ts';
import { withPlainSystemTurns } from './system-turns.ts';
import { outputFormat } from './messages-request.ts';
import { fitsStrict } from './strict-schema.ts';
import { platformFields } from './platform-fields.ts';
import type { GenerationRequest } from '../routing/generation-request.ts';

/** The parts of a messages request that are read to write it as chat. */
export interface ReadMessages extends Pick<GenerationRequest, 'model' | 'stream'> {
  readonly document: Pick<GenerationRequest['document'], 'value'>;
}

/**
 * The reader of the chat body: an upstream that speaks chat, or a provider that makes its upstream's own body from it.
 */
type ChatReader = 'upstream' | 'provider';

/** What differs by reader. */
const writings: Readonly<Record<ChatReader, Writing>> = {
  upstream: {
    turns: withCallsTogether,
    schema: withProperties,
    strict: fitsStrict,
    reasoning: (body) => ({ reasoning_effort: reasoningEffort(body) }),
  },
  // A provider merges turns and writes schemas itself, and refers to each as the caller did.
  provider: { turns: identity, schema: identity, strict: () => true, reasoning: requestedReasoning },
};

interface Writing extends SchemaWriting {
  readonly turns: (messages: readonly JsonObject[]) => readonly JsonObject[];
  readonly reasoning: (body: JsonObject) => JsonObject;
}

/**
 * The chat-completions body that asks for the same answer, with the caller's model name. A field that chat completions
 * do not have is dropped when the answer means the same without it (`unsentFields`, and every unknown field), and
 * otherwise rejected by name. `top_k` keeps the name under which chat-style upstreams know it. Cache marks and
 * thinking stay where they are kept for a reader that knows them.
 */
export function toChatBody(
  { document, model, stream }: ReadMessages,
  reader: ChatReader = 'upstream',
  kept: Kept = nothingKept,
): Either<GatewayError, JsonObject> {
  const { marks } = kept;
  const writing = writings[reader];
  const body = withPlainSystemTurns(document.value);
  const foreign = foreignField(body, reader);
  if (foreign !== undefined) return E.left(unavailableField(foreign));
  if (numberOf(body['max_tokens']) === 0) return E.left(noAnswer);
  const thinking = thinkingFault(document.value);
  if (thinking !== undefined) return E.left(thinking);
  const messages = conversation(body, kept);
  if (E.isLeft(messages)) return messages;
  const tools = chatToolMembers(body, kept, writing);
  if (E.isLeft(tools)) return tools;
  const format = responseFormat(body, writing);
  if (E.isLeft(format)) return format;
  const stop = body['stop_sequences'];
  return E.right(
    present({
      model,
      messages: writing.turns(messages.right),
      ...tools.right,
      max_completion_tokens: body['max_tokens'],
      temperature: body['temperature'],
      top_p: body['top_p'],
      top_k: body['top_k'],
      stop: isArray(stop) && stop.length > 0 ? stop : undefined,
      response_format: format.right,
      ...writing.reasoning(body),
      ...marks(body),
      ...platformFields(body),
      stream: stream ? true : undefined,
    }),
  );
}

/**
 * Fields that change the answer, or who pays for it, and that chat does not have, each with the test for a value that
 * has no effect.
 */
const foreignFields: ForeignFields = [
  ['mcp_servers', isEmptyList],
  ['container', isEmptyList],
  ['compaction', () => false],
  // Without other models to fall back on, `default` lets the model answer alone.
  ['fallbacks', (value) => value === 'default' || isEmptyList(value)],
  [
    'billing_policy',
    (value) => isObject(value) && (isAbsent(value['bill_to']) || value['bill_to'] === 'self'),
  ],
];

/** Only the messages body can ask for the prompt to be cached and nothing else (rule 33.40). */
const noAnswer = fieldError(
  'max_tokens',
  "cannot be 0 on this model's route, whose API cannot fill a prompt cache without an answer.",
);

const foreignField = (body: JsonObject, reader: ChatReader): string | undefined =>
  (reader === 'upstream' ? foreignToChat(body) : undefined) ??
  foreignIn(body, foreignFields) ??
  restrictedGeo(body);

/** Providers can write a task budget and a document by URL in their bodies; chat upstreams have neither. */
function foreignToChat({ output_config: config, messages }: JsonObject): string | undefined {
  if (!isAbsent(membersOf(config)['task_budget'])) return 'output_config.task_budget';
  return below(
    'messages',
    placeIn(messages, ({ content }) => below('.content', linkedDocument(content))),
  );
}

/**
 * The error for an effort or thinking that the messages API does not have: dropping it would change the answer. An amount
 * may be missing, as clients of compatible APIs leave it out (rule 26.13).
 */
function thinkingFault({ thinking, output_config }: JsonObject): GatewayError | undefined {
  const asked = readReasoningRequest({ thinking, output_config });
  return E.isLeft(asked) ? asked.left : undefined;
}

function isEmptyList(value: Json): boolean {
  return isArray(value) && value.length === 0;
}

function conversation(body: JsonObject, kept: Kept): Either<GatewayError, readonly JsonObject[]> {
  const system = systemBlocks(body['system'] ?? '', 'system');
  if (E.isLeft(system)) return system;
  const messages: (readonly JsonObject[])[] = [];
  for (const [index, message] of objectsOf(body['messages']).entries()) {
    const translated = chatMessages(message, `messages[${index}]`, kept);
    if (E.isLeft(translated)) return translated;
    messages.push(translated.right);
  }
  const all = messages.flat();
  if (all.length === 0) return E.left(emptyConversation);
  return E.right([...systemMessages(kept.marks)(system.right), ...all]);
}

/**
 * The messages API promises an answer that follows the schema, which chat completions call `strict`. With a schema for
 * which they reject it, they are asked for their best effort. They require the name, which is shown to nobody.
 */
function responseFormat(
  body: JsonObject,
  { strict }: SchemaWriting,
): Either<GatewayError, JsonObject | undefined> {
  const config = membersOf(body['output_config']);
  const fault = shapeError(config, [['format', anObject]], 'output_config.');
  if (fault !== undefined) return E.left(fault);
  const asked = outputFormat(body);
  if (asked === undefined) return E.right(undefined);
  const { format, path } = asked;
  if (format['type'] !== 'json_schema') return E.left(fieldError(`${path}.type`, 'must be `json_schema`.'));
  const { schema } = format;
  if (!isObject(schema)) return E.left(fieldError(`${path}.schema`, 'must be an object.'));
  return E.right({ type: 'json_schema', json_schema: { name: 'answer', strict: strict(schema), schema } });
}
