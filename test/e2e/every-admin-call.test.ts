import { beforeAll, describe, expect, it } from '@jest/globals';
import { type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { aKey, basicConfig } from '../support/gateway.ts';
import { answerFaults, description, operations } from '../support/openapi/description.ts';
import { simulatedScene } from './simulated-scene.ts';

const key = aKey();
const scene = simulatedScene((upstream) => basicConfig(upstream, key));
let admin: AdminClient;

beforeAll(async () => {
  await makeAdmin(scene.databaseUrl());
  admin = await adminClient(scene.gateway().url);
});

type Operation = (typeof operations)[number];

/** The path of an operation with the examples of its parameters. */
const exampled = ({ path, operation }: Operation): string =>
  path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(String(operation.parameters.find((each) => each.name === name)?.example)),
  );

const administration = operations.filter(({ operation }) => operation.tags.includes('Administration'));
const named = (list: readonly Operation[]) =>
  list.map((each) => [each.method.toUpperCase(), each.path, each] as const);

describe('the OpenAPI description', () => {
  it('is served unchanged without a session', async () => {
    const answer = await fetch(`${scene.gateway().url}/api/v1/openapi.json`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(description)));
  });
});

describe('an example of a call with an expires_at', () => {
  const ending = operations.flatMap(({ method, path, operation }) => {
    const example = operation.requestBody?.content['application/json'].example;
    const at = (example as { readonly expires_at?: string } | undefined)?.expires_at;
    return at === undefined ? [] : [[method.toUpperCase(), path, at] as const];
  });
  it.each(ending)('has an expires_at in the future: %s %s', (_method, _path, expiresAt) => {
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());
  });
});

describe('every documented call', () => {
  it.each(named(operations.filter(({ path }) => path !== '/api/v1/auth/logout')))(
    'returns an answer that matches its description when its example is sent: %s %s',
    async (method, path, operation) => {
      const body = operation.operation.requestBody?.content['application/json'].example;
      const isPublic = operation.operation.tags.includes('Models');
      const headers = isPublic ? { authorization: `Bearer ${key}` } : {};
      const answer = await admin(method, exampled(operation), body, headers);
      expect(answer.status).toBeLessThan(500);
      expect([401, 405]).not.toContain(answer.status === 401 && !isPublic ? 200 : answer.status);
      // The simulated upstream serves every example, but counts no tokens.
      if (isPublic) expect(answer.status).toBe(path.endsWith('/count_tokens') ? 404 : 200);
      const seen = { method, path: exampled(operation), status: answer.status, body: answer.text };
      expect(answerFaults({ ...seen, contentType: 'application/json' })).toEqual([]);
    },
  );
});

describe('every route of the admin API', () => {
  it.each(named(administration))(
    'refuses an unknown query parameter with 400 and names it: %s %s',
    async (method, _path, operation) => {
      const body = operation.operation.requestBody === undefined ? undefined : {};
      const answer = await admin(method, `${exampled(operation)}?no_such_thing=1`, body);
      expect([answer.status, answer.error?.code, answer.error?.param]).toEqual([
        400,
        'invalid_request',
        'no_such_thing',
      ]);
    },
  );
});
