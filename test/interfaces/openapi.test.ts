import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { statusOf } from '../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import {
  described,
  description,
  descriptionFile,
  type MediaType,
  operations,
  schemaFaults,
  typesFile,
  typesMark,
} from '../support/openapi/description.ts';

/** The bodies that an operation describes, each with its position. */
const bodies = operations.flatMap(({ method, path, operation }) => [
  ...Object.entries(operation.requestBody?.content ?? {}).map(
    ([, media]) => [`${method} ${path}, request`, media] as const,
  ),
  ...Object.entries(operation.responses).flatMap(([status, { content }]) =>
    Object.entries(content ?? {}).map(([, media]) => [`${method} ${path}, ${status}`, media] as const),
  ),
]);

const components = description['components'] as Record<string, Record<string, { value?: unknown }>>;

const examplesOf = ({ example, examples = {} }: MediaType): readonly unknown[] => [
  ...(example === undefined ? [] : [example]),
  ...Object.values(examples).map(({ $ref }) => components['examples']?.[$ref.split('/').at(-1) ?? '']?.value),
];

describe('the OpenAPI description', () => {
  it('equals the file in the documentation and the client types (npm run openapi)', () => {
    expect(readFileSync(descriptionFile, 'utf8')).toBe(described);
    expect(readFileSync(typesFile, 'utf8').endsWith(typesMark)).toBe(true);
  });

  it('passes a strict linter', async () => {
    // This rule does not accept redirects; the next test checks them instead.
    const rules = { 'operation-2xx-response': 'off' } as const;
    const config = await createConfig({ extends: ['recommended-strict'], rules });
    const problems = await lintFromString({ source: JSON.stringify(description), config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
      [],
    );
  });

  it('has a success answer or a redirect for each operation', () => {
    const others = operations.filter(
      ({ operation }) => !Object.keys(operation.responses).some((status) => status.startsWith('2')),
    );
    expect(others.map(({ path, operation }) => [path, '302' in operation.responses])).toEqual([
      ['/api/v1/auth/oidc/start', true],
      ['/api/v1/auth/oidc/callback', true],
    ]);
  });

  it('says of each operation that it is 503 while the gateway is full or without its database', () => {
    const others = operations.filter(({ operation }) => !('503' in operation.responses));
    expect(others.map(({ path }) => path)).toEqual([]);
  });

  it.each(bodies)('has examples that its schemas allow: %s', (_where, media) => {
    const found = examplesOf(media);
    for (const example of found) expect(schemaFaults(media.schema, example)).toEqual([]);
    if (media.schema['type'] !== 'string') expect(found).not.toEqual([]);
  });

  it('has a unique id for each operation', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has an example of every error code, except those for other methods', () => {
    const shown = Object.keys(components['examples'] ?? {});
    const missing = Object.keys(statusOf).filter(
      (code) => !shown.some((name) => name.endsWith(`Error_${code}`)),
    );
    expect(missing).toEqual(['method_not_allowed', 'websocket_unsupported']);
  });

  it('says what a version in `If-Match` looks like', () => {
    const found = operations.flatMap(({ operation }) =>
      operation.parameters.filter(({ name }) => name === 'If-Match'),
    );
    expect(found.length).toBeGreaterThan(0);
    for (const { schema, example } of found) {
      expect(schemaFaults(schema, example)).toEqual([]);
      expect(schemaFaults(schema, '"x"')).not.toEqual([]);
    }
  });

  it('says of each list what is in it', () => {
    const untold: string[] = [];
    const walk = (schema: unknown, at: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      const { type, items } = schema as JsonObject;
      if (type === 'array' && items === undefined) untold.push(at);
      for (const [key, inner] of Object.entries(schema)) walk(inner, `${at}/${key}`);
    };
    walk(description, '');
    expect(untold).toEqual([]);
  });

  it('has no open objects in answers that the gateway itself writes', () => {
    const open: string[] = [];
    const walk = (schema: unknown, at: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      const { type, properties, additionalProperties } = schema as JsonObject;
      if (type === 'object' && properties !== undefined && additionalProperties !== false) open.push(at);
      for (const [key, inner] of Object.entries(schema)) walk(inner, `${at}/${key}`);
    };
    for (const { method, path, operation } of operations)
      if (!operation.tags.includes('Models')) walk(operation.responses['200'], `${method} ${path}`);
    expect(open).toEqual([]);
  });
});
