import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { platformWatched } from '../compatibility/platform-watched.ts';
import { type GenerationRequest, generationRequest } from '../routing/generation-request.ts';
import { otherModels, otherModelsWatched } from '../routing/other-models.ts';
import {
  aBoolean,
  anArrayOfObjects,
  anObject,
  type FieldShapes,
  shapeError,
  modelOf,
} from '../shared/field-shapes.ts';
import { fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isArray, isObject, isString, type Json, type JsonObject, objectsOf } from '../shared/json.ts';
import type { JsonDocument } from '../shared/json-document.ts';
import type { Watched } from '../shared/json-scan.ts';
import { below, type Place, placeIn } from '../shared/place.ts';

const part: Watched = { image_url: {}, video_url: {}, input_audio: {}, file: {} };
/** What platforms and the gateway add to a call or an image, and read again when a caller sends it back. */
const extras: Watched = {
  extra_content: { google: {} },
  provider_metadata: { cloud_a_platform: { reasoning: { '*': {} } } },
};
const call: Watched = { function: {}, ...extras };
/** The levels of a chat body that the gateway reads or edits. */
export const chatWatched: Watched = {
  messages: {
    '*': {
      content: { '*': part },
      images: { '*': { ...part, ...extras } },
      tool_calls: { '*': call },
      function_call: {},
      ...extras,
    },
  },
  tools: { '*': { function: {} } },
  functions: { '*': {} },
  tool_choice: { function: {} },
  response_format: { json_schema: {} },
  stream_options: {},
  reasoning: {},
  thinking: {},
  output_config: { format: {} },
  ...otherModelsWatched,
  ...platformWatched,
};

/** Checks what the gateway reasons about. Everything else in the body is left to the upstream. */
export function readChatRequest(document: JsonDocument): Either<GatewayError, GenerationRequest> {
  const body = document.value;
  const { messages } = body;
  const model = modelOf(body);
  if (E.isLeft(model)) return model;
  if (!isArray(messages) || messages.length === 0)
    return E.left(fieldError('messages', 'must be a non-empty array.'));
  const error = messageError(messages) ?? shapeError(body, chatShapes);
  if (error !== undefined) return E.left(error);
  const tools = objectsOf(body['tools']);
  return E.right(
    generationRequest('chat_completions', document, model.right, {
      tools: [...tools, ...objectsOf(body['functions'])],
      visual: below('messages', placeIn(messages, placeOfVisual)),
      format: body['response_format'],
      fields: { tools: tools.length > 0 ? 'tools' : 'functions' },
    }),
  );
}

function messageError(messages: readonly Json[]): GatewayError | undefined {
  const index = messages.findIndex((message) => !isObject(message) || !isString(message['role']));
  return index < 0 ? undefined : fieldError(`messages[${index}]`, 'must be an object with a string `role`.');
}

/** Fields that the gateway reads. */
export const chatShapes: FieldShapes = [
  ['stream', aBoolean],
  ['tools', anArrayOfObjects],
  ['functions', anArrayOfObjects],
  ['stream_options', anObject],
  ['response_format', anObject],
  ...otherModels,
];

/** Images, videos and documents, in every spelling in use. Documents count because models see their pages. */
const visualParts: ReadonlySet<Json | undefined> = new Set([
  'image_url',
  'input_image',
  'image',
  'video_url',
  'input_video',
  'video',
  'file',
  'input_file',
  'document',
]);

/** The assistant's own images stand beside its content. */
const placeOfVisual = ({ content, images }: JsonObject): Place =>
  below('.content', placeIn(content, placeOfPart)) ?? below('.images', placeIn(images, placeOfPart));

const placeOfPart = ({ type }: JsonObject): Place => (visualParts.has(type) ? '' : undefined);
