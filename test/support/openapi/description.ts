import { createHash } from 'node:crypto';
import path from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { AdminRoute } from '../../../interfaces/http/admin/admin-route.ts';
import { type AdminRoutePorts, adminRoutes } from '../../../interfaces/http/admin/routes.ts';
import { type OpenRoutesPorts, openRoutes } from '../../../interfaces/http/admin/open-routes.ts';
import { openApiDocument } from '../../../interfaces/http/openapi/document.ts';

/** Ports that no route uses before it is called. */
const none = {} as AdminRoutePorts & OpenRoutesPorts;

/** The routes of the admin API as declared. */
export const declaredRoutes: readonly AdminRoute[] = adminRoutes(none);

/** The description that a gateway serves. */
export const description: JsonObject = openApiDocument({
  admin: declaredRoutes,
  open: openRoutes(none),
});

/** The same as stored beside the documentation. */
export const descriptionFile = path.join(import.meta.dirname, '..', '..', '..', 'docs', 'openapi.json');
export const typesFile = path.join(import.meta.dirname, '../../../interfaces/admin-page/src/api/api.d.ts');
export const described = `${JSON.stringify(description, undefined, 1)}\n`;

/** The last line of the types: the digest of the description from which they are generated. */
export const typesMark = `// Of the description with SHA-256 ${createHash('sha256').update(described).digest('hex')}.\n`;

export interface MediaType {
  readonly schema: JsonObject;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly $ref: string }>>;
}
export interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security?: readonly JsonObject[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly example?: unknown;
    readonly schema: JsonObject;
  }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': MediaType } };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, MediaType>> }>>;
}

/** Each operation with its method and path. */
export const operations: readonly {
  readonly method: string;
  readonly path: string;
  readonly operation: Described;
}[] = Object.entries(description['paths'] as Record<string, Record<string, unknown>>).flatMap(([where, at]) =>
  Object.entries(at).map(([method, operation]) => ({
    method,
    path: where,
    operation: resolved(operation as Described),
  })),
);

/** The operation with references to its error answers resolved. */
function resolved(operation: Described): Described {
  const { responses: shared } = description['components'] as unknown as {
    readonly responses: Readonly<Record<string, Described['responses'][string]>>;
  };
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    const name = '$ref' in response ? String(response.$ref).split('/').at(-1) : undefined;
    return [status, (name === undefined ? undefined : shared[name]) ?? response] as const;
  });
  return { ...operation, responses: Object.fromEntries(responses) };
}

const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
ajv.addSchema({ ...description, $id: 'gateway' });

const compiled = new WeakMap<object, ValidateFunction>();

/** The faults of a value according to a schema of the description. */
export function schemaFaults(schema: JsonObject, value: unknown): readonly string[] {
  const known = compiled.get(schema);
  const validate = known ?? ajv.compile(absolute(schema));
  if (known === undefined) compiled.set(schema, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    `${instancePath} ${message} ${JSON.stringify(params)}`.slice(0, 300),
  );
}

/** References point into the description, wherever the schema is compiled. */
const absolute = (schema: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"gateway#/components')) as JsonObject;

export interface SeenAnswer {
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const patterns = operations
  .map((each) => ({
    ...each,
    pattern: new RegExp(`^${each.path.replaceAll(/[.]/g, '\\$&').replaceAll(/\{\w+\}/g, '([^/]+)')}$`),
  }))
  // A path without parameters takes precedence over one with parameters.
  .toSorted((left, right) => left.path.split('{').length - right.path.split('{').length);

/** The faults of an answer according to the description; none for unknown paths and methods. */
export function answerFaults(seen: SeenAnswer): readonly string[] {
  const { method, status, contentType, body } = seen;
  const known = patterns.find((each) => each.method === method.toLowerCase() && each.pattern.test(seen.path));
  if (known === undefined) return [];
  const at = `${method} ${known.path} ${status}`;
  const response = known.operation.responses[String(status)];
  if (response === undefined) return [`${at}: no such status: ${body.slice(0, 300)}`];
  const type = contentType.split(';')[0] ?? '';
  const media = response.content?.[type];
  if (response.content === undefined && type === '') return [];
  if (media === undefined) return [`${at}: no such content type: ${type}`];
  if (type !== 'application/json') return [];
  return schemaFaults(media.schema, JSON.parse(body)).map(
    (fault) => `${at}: ${fault}: ${body.slice(0, 300)}`,
  );
}
