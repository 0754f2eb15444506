import { chatShapes } from '../../../domain/chat/chat-request.ts';
import { embeddingsShapes } from '../../../domain/embeddings/embeddings-request.ts';
import { messageRoles, messagesShapes } from '../../../domain/messages/messages-request.ts';
import { responsesShapes } from '../../../domain/responses/responses-request.ts';
import type { FieldShapes } from '../../../domain/shared/field-shapes.ts';
import type { ErrorCode } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { answerSchema } from '../answers.ts';
import type { Envelope } from '../error-presenter.ts';
import { modelBody, modelListBody } from '../public/models.ts';
import type { Operation } from './admin-operations.ts';
import { errorAnswers } from './error-answers.ts';
import { exampleOf } from './examples.ts';

/** Errors that any call with a key may get. */
const ofCallers: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'overloaded',
  'store_unavailable',
  'internal_error',
];

/** Errors that reading models may get. */
const ofReaders: readonly ErrorCode[] = [...ofCallers, 'too_many_requests'];

/** Errors that a model request may get. */
const ofRequests: readonly ErrorCode[] = [
  ...ofReaders,
  'invalid_request',
  'request_too_large',
  'model_not_granted',
  'model_not_found',
  'not_supported',
  'duplicate_request_id',
  'budget_exceeded',
  'rate_limited',
  'no_routes_available',
  'shutting_down',
  'upstream_error',
];

/** A field that may be omitted may also be null. */
const orNullSchema = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] });

interface ModelPath {
  readonly path: string;
  readonly summary: string;
  readonly envelope: Envelope;
  /** Required fields besides `model`. */
  readonly required: JsonObject;
  /** Optional fields of its example: upstreams need one of several, so none is required here. */
  readonly exampled?: JsonObject;
  /** Fields that are checked when present. All others go to the upstream, or are named in docs/fields.md. */
  readonly shapes: FieldShapes;
  /** The parts of a whole answer that the gateway itself relies on; the rest is the upstream's. */
  readonly answer: JsonObject;
  readonly streams: boolean;
  /** In addition to those of every model request. */
  readonly errors: readonly ErrorCode[];
}

const objectList: JsonObject = { type: 'array', items: { type: 'object', additionalProperties: true } };
const messagesWith = (role: JsonObject): JsonObject => ({
  type: 'array',
  minItems: 1,
  items: { type: 'object', properties: { role }, required: ['role'], additionalProperties: true },
});
const aCount: JsonObject = { type: 'integer', minimum: 0 };
const members = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: true,
});

const messagesPath = {
  envelope: 'messages',
  shapes: messagesShapes,
  errors: ['thread_unsupported_request'],
} as const;

const conversation = messagesWith({ enum: messageRoles });

const message = {
  ...messagesPath,
  required: { messages: conversation, max_tokens: aCount },
  answer: members({ content: objectList }),
  streams: true,
};

const count = {
  ...messagesPath,
  required: { messages: conversation },
  answer: members({ input_tokens: aCount }),
  streams: false,
};

const modelPaths: readonly ModelPath[] = [
  {
    path: '/v1/chat/completions',
    summary: 'A chat completion, whole or streamed.',
    envelope: 'openai',
    required: { messages: messagesWith({ type: 'string' }) },
    shapes: chatShapes,
    errors: [],
    answer: members({ choices: objectList }),
    streams: true,
  },
  {
    path: '/v1/responses',
    summary: 'A response, whole or streamed.',
    envelope: 'openai',
    required: {},
    exampled: { input: { type: 'string' } },
    shapes: responsesShapes,
    errors: [],
    answer: members({ output: objectList }),
    streams: true,
  },
  { path: '/v1/messages', summary: 'A message, whole or streamed.', ...message },
  { path: '/messages', summary: 'The same as `/v1/messages`.', ...message },
  { path: '/v1/messages/count_tokens', summary: 'Counts the tokens of a message.', ...count },
  { path: '/messages/count_tokens', summary: 'The same as `/v1/messages/count_tokens`.', ...count },
  {
    path: '/v1/embeddings',
    summary: 'Embeddings of one or many texts.',
    envelope: 'openai',
    required: {
      input: {
        anyOf: [{ type: 'string' }, { type: 'array', minItems: 1, items: {} }],
      },
    },
    shapes: embeddingsShapes,
    errors: [],
    answer: members({ data: objectList }),
    streams: false,
  },
];

const modelOperation = (path: ModelPath): Operation => ({
  path: path.path,
  method: 'post',
  operation: {
    operationId: operationId('post', path.path),
    summary: path.summary,
    tags: ['Models'],
    parameters: [requestIdHeader],
    requestBody: { required: true, content: { 'application/json': requestContent(path) } },
    responses: { '200': modelAnswer(path), ...errorAnswers([...ofRequests, ...path.errors], path.envelope) },
  },
});

const operationId = (method: string, path: string): string => `${method}${path.replaceAll(/\W+/g, '_')}`;

const requestIdHeader = {
  name: 'x-request-id',
  in: 'header',
  required: false,
  description: 'Returned on the answer; generated when absent.',
  schema: { type: 'string' },
};

function requestContent({ required, exampled, shapes }: ModelPath): JsonObject {
  const properties = { model: { type: 'string', minLength: 1 }, ...required };
  return {
    schema: {
      type: 'object',
      properties: {
        ...properties,
        ...Object.fromEntries(shapes.map(([field, [, , schema]]) => [field, orNullSchema(schema)])),
      },
      required: Object.keys(properties),
      additionalProperties: true,
    },
    example: exampleOf({ type: 'object', properties: { ...properties, ...exampled } }),
  };
}

const modelAnswer = ({ answer, streams }: ModelPath): JsonObject => ({
  description: streams ? 'The answer, or its events where `stream` is true.' : 'The answer.',
  headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' } },
  content: {
    'application/json': { schema: answer, example: exampleOf(answer) },
    ...(streams && { 'text/event-stream': { schema: { type: 'string' } } }),
  },
});

const readOperation = (path: string, summary: string, schema: JsonObject, codes: readonly ErrorCode[]) => ({
  path,
  method: 'get',
  operation: {
    operationId: operationId('get', path),
    summary,
    tags: ['Models'],
    parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
      example: exampleOf({ type: 'string' }, name),
    })),
    responses: {
      '200': {
        description: 'The result.',
        headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' } },
        content: { 'application/json': { schema, example: exampleOf(schema) } },
      },
      ...errorAnswers(codes, 'openai', 'messages'),
    },
  },
});

/** The operations that API keys give access to. Every list in them says what is in it (rule 50.11). */
export const publicOperations: readonly Operation[] = [
  ...modelPaths.map(modelOperation),
  readOperation('/v1/models', 'The models that the key may use.', answerSchema(modelListBody), ofReaders),
  readOperation('/v1/models/{model}', 'One of them.', answerSchema(modelBody), [
    ...ofReaders,
    'model_not_found',
  ]),
];
