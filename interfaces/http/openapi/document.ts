import type { JsonObject } from '../../../domain/shared/json.ts';
import type { OpenRoute } from '../admin/admin-endpoint.ts';
import type { AdminRoute } from '../admin/admin-route.ts';
import { adminOperation, type Operation, openOperation } from './admin-operations.ts';
import { errorExamples, errorResponsesIn, errorSchemas } from './error-answers.ts';
import { publicOperations } from './public-operations.ts';

export interface Described {
  readonly admin: readonly AdminRoute[];
  readonly open: readonly OpenRoute[];
}

/**
 * The OpenAPI 3.1 description of the public and the admin API. It is generated from the declarations by which routes
 * read their inputs, the codecs of their answers, and the tables of errors.
 */
export function openApiDocument({ admin, open }: Described): JsonObject {
  const paths = pathsOf([...publicOperations, ...open.map(openOperation), ...admin.map(adminOperation)]);
  const responses = errorResponsesIn(paths);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Model Gateway',
      version: '1',
      description: 'One API in front of several model providers, and the administration of it.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'Models', description: 'For callers with an API key.' },
      { name: 'Sign-in', description: 'Signing in and out.' },
      { name: 'Administration', description: 'For platform admins.' },
    ],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      schemas: errorSchemas,
      responses,
      examples: usedIn(responses, errorExamples),
      headers: {
        GatewayError: { description: "The gateway's own code of the error.", schema: { type: 'string' } },
        RequestId: { description: 'Names the request in logs and tables.', schema: { type: 'string' } },
      },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key, `gwk_…`.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key, `gwk_…`.' },
        adminToken: { type: 'http', scheme: 'bearer', description: 'A token of an admin, `gwa_…`.' },
        session: { type: 'apiKey', in: 'cookie', name: 'gateway_session', description: 'Set at login.' },
      },
    },
  };
}

/** The components that are referred to. */
function usedIn(responses: JsonObject, examples: JsonObject): JsonObject {
  const text = JSON.stringify(responses);
  return Object.fromEntries(
    Object.entries(examples).filter(([name]) => text.includes(`"#/components/examples/${name}"`)),
  );
}

const pathsOf = (operations: readonly Operation[]): JsonObject =>
  Object.fromEntries(
    [...Map.groupBy(operations, ({ path }) => path)].map(([path, at]) => [
      path,
      Object.fromEntries(at.map(({ method, operation }) => [method, operation])),
    ]),
  );
