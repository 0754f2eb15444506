import { changesState } from '../../../domain/identity/cross-origin.ts';
import type { ErrorCode } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { type AdminRoute, type BodyInputs, type RouteTerms, versionPattern } from '../admin/admin-route.ts';
import type { OpenRoute } from '../admin/admin-endpoint.ts';
import { redirectValue } from '../admin/redirect.ts';
import { answerSchema } from '../answers.ts';
import type { Inputs } from '../admin/inputs.ts';
import { errorAnswers } from './error-answers.ts';
import { exampleOf } from './examples.ts';

/** Errors that any call of the admin API may get. */
const always: readonly ErrorCode[] = [
  'invalid_request',
  'overloaded',
  'store_unavailable',
  'shutting_down',
  'internal_error',
];
const ofAdmins: readonly ErrorCode[] = [
  'session_required',
  'invalid_credentials',
  'admin_required',
  'enrolment_required',
];
const ofChanges: readonly ErrorCode[] = ['cross_origin', 'request_too_large'];

/** An operation and its place in the description. */
export interface Operation {
  /** In OpenAPI notation: `/api/v1/admin/models/{model_id}`. */
  readonly path: string;
  /** In lower case. */
  readonly method: string;
  readonly operation: JsonObject;
}

export const adminOperation = (route: AdminRoute): Operation =>
  operationOf(
    route,
    'Administration',
    route.sessionOnly === true ? [{ session: [] }] : [{ session: [] }, { adminToken: [] }],
    [...always, ...ofAdmins],
  );

export const openOperation = (route: OpenRoute): Operation => operationOf(route, 'Sign-in', [], always);

function operationOf(
  route: RouteTerms,
  tag: string,
  security: readonly JsonObject[],
  common: readonly ErrorCode[],
): Operation {
  const { body, isVersioned = false } = route;
  const codes = [
    ...common,
    ...(changesState(route.method) ? ofChanges : []),
    ...(isVersioned ? (['conflict'] as const) : []),
    ...route.errors,
  ];
  return {
    path: route.path.replace(/:(\w+)/g, '{$1}'),
    method: route.method.toLowerCase(),
    operation: {
      operationId: operationId(route),
      summary: route.summary,
      tags: [tag],
      security,
      parameters: [
        ...pathParameters(route.path),
        ...queryParameters(route.query),
        ...(isVersioned ? [versionHeader] : []),
      ],
      ...(body === undefined ? {} : { requestBody: requestBody(body) }),
      responses: { ...success(route), ...errorAnswers(codes, 'openai') },
    },
  };
}

/** `GET /api/v1/admin/models/:model_id` is `get_admin_models_by_model_id`. */
const operationId = ({ method, path }: RouteTerms): string =>
  [method.toLowerCase(), ...path.replace('/api/v1/', '').split('/')]
    .map((part) => part.replace(/^:/, 'by_').replaceAll(/[^A-Za-z0-9_]/g, '_'))
    .join('_');

const pathParameters = (path: string): readonly JsonObject[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    example: exampleOf(
      { type: 'string', ...(/(?:team|mcp_server)_id$/.test(name) ? {} : { format: 'uuid' }) },
      name,
    ),
  }));

const queryParameters = (query: Inputs): readonly JsonObject[] =>
  Object.entries(query).map(([name, { schema, isRequired }]) => ({
    name,
    in: 'query',
    required: isRequired,
    schema,
  }));

const versionHeader: JsonObject = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'The version to change; any other current version is a `conflict`.',
  schema: { type: 'string', pattern: versionPattern },
  example: '"1"',
};

function requestBody({ members }: BodyInputs): JsonObject {
  const schema = {
    type: 'object',
    properties: Object.fromEntries(Object.entries(members).map(([name, member]) => [name, member.schema])),
    required: Object.entries(members).flatMap(([name, { isRequired }]) => (isRequired ? [name] : [])),
    additionalProperties: false,
  };
  return { required: true, content: { 'application/json': { schema, example: exampleOf(schema) } } };
}

const metaOf = ({ fromReplica }: Pick<RouteTerms, 'fromReplica'>): JsonObject => ({
  type: 'object',
  properties: {
    generated_at: { type: 'string', format: 'date-time' },
    ...(fromReplica === true ? { as_of: asOf } : {}),
  },
  required: ['generated_at'],
  additionalProperties: false,
});

const asOf = {
  description:
    'Where a read replica was asked: everything that was committed until then is in the answer; null: not known.',
  anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }],
};

/** A redirect has no data. */
const success = (route: RouteTerms): JsonObject =>
  route.answer === redirectValue ? { '302': redirect } : { '200': answer(route) };

const redirect: JsonObject = {
  description: 'Redirects the browser.',
  headers: {
    'x-request-id': { $ref: '#/components/headers/RequestId' },
    location: { description: 'The redirect target.', required: true, schema: { type: 'string' } },
  },
};

function answer(route: RouteTerms): JsonObject {
  const schema = {
    type: 'object',
    properties: { data: answerSchema(route.answer), meta: metaOf(route) },
    required: ['data', 'meta'],
    additionalProperties: false,
  };
  return {
    description: 'The result, as `data`.',
    headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' } },
    content: { 'application/json': { schema, example: exampleOf(schema) } },
  };
}
