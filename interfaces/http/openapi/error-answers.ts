import { type ErrorCode, type GatewayError, statusOf } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { keptStatuses } from '../../../domain/upstream/upstream-fault.ts';
import { type Envelope, errorTypes, messagesError, openAiError } from '../error-presenter.ts';

/** `{error: {message, type, param, code}}`. `data` shows the current state when a change came too late. */
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
    data: { description: 'The current state, if somebody else changed it in the meantime.' },
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

/** The answers for errors with these codes, by status, in these envelopes. */
export function errorAnswers(
  codes: readonly ErrorCode[],
  ...envelopes: readonly [Envelope, ...Envelope[]]
): JsonObject {
  const answers = [...new Set(codes)].flatMap((code) => statusesOf(code).map((status) => ({ status, code })));
  const byStatus = [...Map.groupBy(answers, ({ status }) => status)].toSorted(
    ([left], [right]) => left - right,
  );
  return Object.fromEntries(
    byStatus.map(([status, of]) => [
      String(status),
      {
        $ref: `${responsesRoot}${envelopes.join('-')}.${of
          .map(({ code }) => code)
          .toSorted()
          .join('.')}`,
      },
    ]),
  );
}

const responsesRoot = '#/components/responses/';

/** The answers that are referred to. The name of each lists its envelopes and codes. */
export function errorResponsesIn(paths: JsonObject): JsonObject {
  const names = JSON.stringify(paths).matchAll(/"#\/components\/responses\/([^"]+)"/g);
  return Object.fromEntries(
    [...new Set([...names].map(([, name = '']) => name))].map((name) => [name, responseOf(name)]),
  );
}

function responseOf(name: string): JsonObject {
  const [envelopes = '', ...codes] = name.split('.');
  return errorAnswer(codes as ErrorCode[], envelopes.split('-') as Envelope[]);
}

/**
 * An upstream status that callers can act on is kept; the others become 502, 503 and 504 (rules 35.1, 35.2, 35.3, 35.4,
 * 35.5, 35.6, 35.7).
 */
const upstreamStatuses = [...keptStatuses, 502, 503, 504];

const statusesOf = (code: ErrorCode): readonly number[] =>
  code === 'upstream_error' ? upstreamStatuses : [statusOf[code]];

const errorAnswer = (codes: readonly ErrorCode[], envelopes: readonly Envelope[]): JsonObject => ({
  description: `${codes.map((code) => `\`${code}\``).join(', ')}.`,
  headers: {
    'x-request-id': { $ref: '#/components/headers/RequestId' },
    'x-gateway-error': { $ref: '#/components/headers/GatewayError' },
  },
  content: {
    'application/json': {
      schema: anyOneOf(envelopes.map((each) => ({ $ref: `#/components/schemas/${schemaName[each]}` }))),
      examples: Object.fromEntries(
        envelopes.flatMap((each) =>
          codes.map((code) => {
            const name = `${schemaName[each]}_${code}`;
            return [name, { $ref: `#/components/examples/${name}` }];
          }),
        ),
      ),
    },
  },
});

const anyOneOf = (schemas: readonly JsonObject[]): JsonObject =>
  (schemas.length === 1 ? schemas[0] : undefined) ?? { anyOf: schemas };

/** One for each code and envelope. */
export const errorExamples: JsonObject = Object.fromEntries(
  (['openai', 'messages'] as const).flatMap((envelope) =>
    (Object.keys(statusOf) as ErrorCode[]).map((code) => [
      `${schemaName[envelope]}_${code}`,
      { value: errorExample(code, envelope) },
    ]),
  ),
);

function errorExample(code: ErrorCode, envelope: Envelope): JsonObject {
  const error: GatewayError = { code, message: 'What is wrong, in a sentence.' };
  return envelope === 'openai' ? openAiError(error) : messagesError(error, 'the-request-id');
}
