import { type OfferedTool, offeredMcpTools } from '../mcp/referenced-servers.ts';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Capability, CapabilityFields } from '../routing/capabilities.ts';
import {
  aBoolean,
  anArrayOfObjects,
  anObject,
  type FieldShapes,
  shapeError,
  modelOf,
} from '../shared/field-shapes.ts';
import { type GatewayError, invalidRequest } from '../shared/gateway-error.ts';
import { isArray, isObject, isString, type Json, type JsonObject, objectsOf } from '../shared/json.ts';
import type { JsonDocument } from '../shared/json-document.ts';
import type { Watched } from '../shared/json-scan.ts';
import { below, type Place, placeIn } from '../shared/place.ts';

/** A reading view over the caller's untouched chat-completions body. */
export interface ChatRequest {
  readonly document: JsonDocument;
  readonly model: string;
  readonly stream: boolean;
  readonly needs: readonly Capability[];
  readonly fields: CapabilityFields;
  /** Shallow count of request tools; 0 when there are none. */
  readonly exposedToolCount: number;
  readonly mcpTools: readonly OfferedTool[];
}

const part: Watched = { image_url: {}, video_url: {}, input_audio: {}, file: {} };
/** What platforms and the gateway say of a call or an image, and read again when it is sent back. */
const extras: Watched = {
  extra_content: { google: {} },
  provider_metadata: { cloud_a_platform: { reasoning: { '*': {} } } },
};
const call: Watched = { function: {}, ...extras };
/** Fields of platform A's own. */
const google: Watched = {
  thinking_config: {},
  thinkingConfig: {},
  image_config: {},
  imageConfig: {},
  labels: {},
  safety_settings: { '*': {} },
  safetySettings: { '*': {} },
};

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
  extra_body: { google },
  google,
  ...google,
};

/** Checks what the gateway reasons about; everything else in the body is the upstream's business. */
export function readChatRequest(document: JsonDocument): Either<GatewayError, ChatRequest> {
  const body = document.value;
  const { messages, stream } = body;
  const model = modelOf(body);
  if (E.isLeft(model)) return model;
  if (!isArray(messages) || messages.length === 0)
    return E.left(invalidRequest('`messages` must be a non-empty array.', 'messages'));
  const error = messageError(messages) ?? shapeError(body, chatShapes);
  if (error !== undefined) return E.left(error);
  const all = [...objectsOf(body['tools']), ...objectsOf(body['functions'])];
  const tools = all.length;
  return E.right({
    document,
    model: model.right,
    stream: stream === true,
    ...needsOf(body, stream === true, tools > 0),
    exposedToolCount: tools,
    mcpTools: offeredMcpTools(all),
  });
}

function messageError(messages: readonly Json[]): GatewayError | undefined {
  const index = messages.findIndex((message) => !isObject(message) || !isString(message['role']));
  if (index < 0) return undefined;
  return invalidRequest(
    `\`messages[${index}]\` must be an object with a string \`role\`.`,
    `messages[${index}]`,
  );
}

/** Fields that the gateway reads. */
export const chatShapes: FieldShapes = [
  ['stream', aBoolean],
  ['tools', anArrayOfObjects],
  ['functions', anArrayOfObjects],
  ['stream_options', anObject],
  ['response_format', anObject],
];

function needsOf(body: JsonObject, stream: boolean, tools: boolean): Pick<ChatRequest, 'needs' | 'fields'> {
  const format = body['response_format'];
  const visual = placeIn(body['messages'], placeOfVisual);
  const needs: Capability[] = ['chat_completions'];
  if (stream) needs.push('stream');
  if (tools) needs.push('tools');
  if (visual !== undefined) needs.push('vision');
  if (isObject(format) && format['type'] === 'json_schema') needs.push('json_schema');
  return {
    needs,
    fields: {
      tools: objectsOf(body['tools']).length > 0 ? 'tools' : 'functions',
      vision: `messages${visual ?? ''}`,
    },
  };
}

/** Images, videos and documents, in every spelling in use: models see the pages of a document. */
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

/** Images of the assistant's own stand beside its content. */
const placeOfVisual = ({ content, images }: JsonObject): Place =>
  below('.content', placeIn(content, placeOfPart)) ?? below('.images', placeIn(images, placeOfPart));

const placeOfPart = ({ type }: JsonObject): Place => (visualParts.has(type) ? '' : undefined);
