import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { platformWatched } from '../compatibility/platform-watched.ts';
import { type GenerationRequest, generationRequest } from '../routing/generation-request.ts';
import {
  aBoolean,
  aCount,
  anArrayOfObjects,
  anObject,
  type FieldShapes,
  shapeError,
  modelOf,
  strings,
  type ValueShape,
} from '../shared/field-shapes.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import {
  isAbsent,
  isArray,
  isObject,
  isPositiveInteger,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
  membersOf,
} from '../shared/json.ts';
import type { JsonDocument } from '../shared/json-document.ts';
import type { Watched } from '../shared/json-scan.ts';
import { blocksOf, maxBlockLevels } from './blocks.ts';
import { fieldError } from '../shared/field-errors.ts';
import { below, type Place, placeIn } from '../shared/place.ts';
import { placeOfDefinition } from './tool-changes.ts';
import { shortenedNames } from './tool-names.ts';

const source: Watched = { content: { '*': { source: {} } } };
const innerBlock: Watched = { source, transformations: {} };
const block: Watched = {
  ...innerBlock,
  content: { '*': innerBlock, source, content: {} },
  extra_content: { google: {}, reasoning_details: { '*': {} } },
  tool: { definition: {} },
};

/** The levels of a messages body that the gateway reads or edits. */
export const messagesWatched: Watched = {
  system: { '*': {} },
  messages: { '*': { content: { '*': block }, output_config: {} } },
  tools: { '*': {} },
  tool_choice: {},
  thinking: {},
  output_config: { format: {} },
  output_format: {},
  ...platformWatched,
};

/**
 * Checks the fields that the gateway reads, for every route. Whether a route can take the blocks and other fields is
 * checked by the code that writes its upstream body.
 */
export const readMessagesRequest = (document: JsonDocument): Either<GatewayError, GenerationRequest> =>
  pipe(
    readConversation(document, limitError(document.value)),
    E.map((request) => ({
      ...request,
      calls: { ids: callIdsIn(document.value), toolNames: shortenedNames(document.value) },
    })),
  );

const callIdsIn = ({ messages }: JsonObject): readonly string[] =>
  objectsOf(messages).flatMap(({ content }) =>
    objectsOf(content).flatMap(({ type, id }) => (type === 'tool_use' && isString(id) ? [id] : [])),
  );

/** Reads a body that need not limit its answer's length; `problem` is an error in one of its other fields. */
export function readConversation(
  document: JsonDocument,
  problem?: GatewayError,
): Either<GatewayError, GenerationRequest> {
  const body = document.value;
  const model = modelOf(body);
  if (E.isLeft(model)) return model;
  const first =
    threadError(body) ?? problem ?? shapeError(body, messagesShapes) ?? messagesError(body['messages']);
  if (first !== undefined) return E.left(first);
  const asked = outputFormat(body);
  return E.right(
    generationRequest('chat_completions', document, model.right, {
      tools: objectsOf(body['tools']),
      laterTools: placeOfDefinition(body['messages']),
      visual: below(
        'messages',
        placeIn(body['messages'], ({ content }) => below('.content', placeOfVisual(content))),
      ),
      format: asked?.format,
      fields: asked === undefined ? {} : { json_schema: asked.path },
    }),
  );
}

const aNumber: ValueShape = ['a number', (value) => numberOf(value) !== undefined, { type: 'number' }];

/** Fields that the gateway reads. */
export const messagesShapes: FieldShapes = [
  ['stream', aBoolean],
  ['temperature', aNumber],
  ['top_p', aNumber],
  ['top_k', aCount],
  ['stop_sequences', strings],
  ['tools', anArrayOfObjects],
  ['tool_choice', anObject],
  ['thinking', anObject],
  ['output_config', anObject],
  ['output_format', anObject],
];

/**
 * The gateway keeps no conversation between requests, so whatever a caller leaves out for a `thread` would be lost.
 * This error code tells clients to send the whole conversation.
 */
const threadError = ({ thread }: JsonObject): GatewayError | undefined =>
  isAbsent(thread)
    ? undefined
    : {
        code: 'thread_unsupported_request',
        message: '`thread` is not available: send the whole conversation in `messages`.',
        param: 'thread',
      };

/** The messages API requires a limit for every answer. With 0 a request only fills the prompt cache. */
const limitError = ({ max_tokens }: JsonObject): GatewayError | undefined =>
  isPositiveInteger(max_tokens) || numberOf(max_tokens) === 0
    ? undefined
    : fieldError('max_tokens', 'must be a positive integer, or 0.');

/** The `role` of a message is one of these. */
export const messageRoles = ['user', 'assistant', 'system'] as const;
const roles: ReadonlySet<Json | undefined> = new Set(messageRoles);

function messagesError(messages: Json | undefined): GatewayError | undefined {
  if (!isArray(messages) || messages.length === 0)
    return fieldError('messages', 'must be a non-empty array.');
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    if (!isObject(message)) return fieldError(path, 'must be an object.');
    if (!roles.has(message['role']))
      return fieldError(`${path}.role`, 'must be `user`, `assistant` or `system`.');
    if (isString(message['content']) || isControlAlone(message)) continue;
    const blocks = blocksOf(message['content'], `${path}.content`);
    if (E.isLeft(blocks)) return blocks.left;
  }
  return undefined;
}

/** A system message may set an effort and have no content. */
const isControlAlone = ({ role, content, output_config: config }: JsonObject): boolean =>
  role === 'system' && isAbsent(content) && isObject(config);

const visualBlocks: ReadonlySet<Json | undefined> = new Set(['image', 'document']);

/**
 * Images and documents are among the blocks of a message, of a tool result, or of a document made of blocks. The result
 * of a hosted tool may be a single one that is not in a list.
 */
function placeOfVisual(content: Json | undefined, levels = maxBlockLevels): Place {
  if (levels === 0) return undefined;
  const placeOf = ({ type, content: inner, source }: JsonObject): Place =>
    visualBlocks.has(type)
      ? ''
      : (below('.content', placeOfVisual(inner, levels - 1)) ??
        below('.source.content', placeOfVisual(membersOf(source)['content'], levels - 1)));
  return isObject(content) ? placeOf(content) : placeIn(content, placeOf);
}

/** The format that the answer must have, and the field with it: `output_format` is the older one. */
export function outputFormat(
  body: JsonObject,
): { readonly format: JsonObject; readonly path: string } | undefined {
  const config = body['output_config'];
  if (isObject(config) && isObject(config['format']))
    return { format: config['format'], path: 'output_config.format' };
  const format = body['output_format'];
  return isObject(format) ? { format, path: 'output_format' } : undefined;
}
