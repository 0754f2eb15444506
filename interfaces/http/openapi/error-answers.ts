import { type ErrorCode, type GatewayError, statusOf } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { type Envelope, errorTypes, messagesError, openAiError } from '../error-presenter.ts';

/** `{error: {message, type, param, code}}`; `data` shows the present state where a change came too late. */
const openAiErrorSchema: JsonObject = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        message: { type: 'string' },
        type: { enum: errorTypes.openai },
        param: { type: ['string', 'null'] },
        code: { type: 'string', description: "The gateway's code, or the upstream's own short identifier." },
      },
      required: ['message', 'type', 'param', 'code'],
    },
    data: { description: 'The present state, where somebody else changed it in the meantime.' },
  },
  required: ['error'],
  additionalProperties: false,
};

const messagesErrorSchema: JsonObject = {
  type: 'object',
  properties: {
    type: { const: 'error' },
    error: {
      type: 'object',
      properties: {
        type: { type: 'string' },
        message: { type: 'string' },
        details: {
          type: 'object',
          properties: { error_code: { type: 'string' } },
          required: ['error_code'],
        },
      },
      required: ['type', 'message', 'details'],
    },
    request_id: { type: 'string' },
  },
  required: ['type', 'error', 'request_id'],
  additionalProperties: false,
};

export const errorSchemas = { Error: openAiErrorSchema, MessagesError: messagesErrorSchema } as const;

const schemaName = { openai: 'Error', messages: 'MessagesError' } as const satisfies Record<
  Envelope,
  keyof typeof errorSchemas
>;

/** The answers that errors of these codes give, by their status. */
export function errorAnswers(codes: readonly ErrorCode[], envelope: Envelope = 'openai'): JsonObject {
  const byStatus = Map.groupBy(new Set(codes), (code) => statusOf[code]);
  const sorted = [...byStatus].toSorted(([left], [right]) => left - right);
  return Object.fromEntries(sorted.map(([status, of]) => [String(status), errorAnswer(of, envelope)]));
}

const errorAnswer = (codes: readonly ErrorCode[], envelope: Envelope): JsonObject => ({
  description: `${codes.map((code) => `\`${code}\``).join(', ')}.`,
  headers: {
    'x-request-id': { $ref: '#/components/headers/RequestId' },
    'x-gateway-error': {
      description: "The gateway's own code.",
      schema: { type: 'string' },
    },
  },
  content: {
    'application/json': {
      schema: { $ref: `#/components/schemas/${schemaName[envelope]}` },
      examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code, envelope) }])),
    },
  },
});

function errorExample(code: ErrorCode, envelope: Envelope): JsonObject {
  const error: GatewayError = { code, message: 'What is wrong, in a sentence.' };
  return envelope === 'openai' ? openAiError(error) : messagesError(error, 'the-request-id');
}
