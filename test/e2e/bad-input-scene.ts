import { randomUUID } from 'node:crypto';
import { beforeAll, expect } from '@jest/globals';
import { aKey, basicConfig } from '../support/gateway.ts';
import { rawExchange, type RawAnswer, type RawRequest } from './raw-http.ts';
import { simulatedScene } from './simulated-scene.ts';
import { outcomesOf } from './traces.ts';

export const key = aKey();
export const revokedKey = aKey();
export const bodyMaxBytes = 1_000_000;

export const chat = '/v1/chat/completions';
export const json = ['content-type', 'application/json'] as const;
export const bearer = (value = key) => ['authorization', `Bearer ${value}`] as const;
export const goodBody = '{"model":"fast","messages":[{"role":"user","content":"Hi"}]}';

/** A valid request, except for what the test changes. */
export const aRequest = (over: Partial<RawRequest> = {}): RawRequest => ({
  path: chat,
  headers: [bearer(), json],
  body: goodBody,
  ...over,
});

export const envelopeOf = ({ body }: RawAnswer): Record<string, unknown> =>
  (JSON.parse(body) as { error: Record<string, unknown> }).error;

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly type?: string;
  readonly param?: string | null;
  /** Text that the message must contain. */
  readonly says?: string;
  readonly outcome?: string;
  /** Authenticated requests have a log row, with zero attempts. */
  readonly logged: boolean;
}

export const invalid = (param: string | null, says: string): Refusal => ({
  status: 400,
  code: 'invalid_request',
  param,
  says,
  logged: true,
});

/** A gateway with two keys, one of which is revoked. */
export function badInputScene() {
  const scene = simulatedScene((url) =>
    basicConfig(url, key, {
      more: {
        server: { bind: '127.0.0.1:0', body_max_bytes: bodyMaxBytes },
        api_keys: [
          { name: 'dev', owner: 'user:a@example.com', value: key },
          { name: 'gone', owner: 'user:a@example.com', value: revokedKey },
        ],
      },
    }),
  );
  beforeAll(async () => {
    await scene.query(
      "update api_keys set revoked_at = now(), revoked_by = 'admin' where name = 'gone'; select gateway_touch()",
    );
  });

  /** Sends the request with a new id; checks answer, telemetry and rows of a refusal before the provider. */
  async function refused(request: RawRequest, expected: Refusal): Promise<RawAnswer> {
    const requestId = `bad-${randomUUID()}`;
    const before = scene.upstream().requests();
    const answer = await rawExchange(scene.gateway().url, {
      ...request,
      headers: [['x-request-id', requestId], ...(request.headers ?? [])],
    });
    const error = envelopeOf(answer);
    expect({ status: answer.status, code: error['code'] }).toEqual({
      status: expected.status,
      code: expected.code,
    });
    expect(Object.keys(error).toSorted()).toEqual(['code', 'message', 'param', 'type']);
    expect(error['type']).toBe(expected.type ?? 'invalid_request_error');
    if (expected.param !== undefined) expect(error['param']).toBe(expected.param);
    expect(error['message']).toContain(expected.says ?? '');
    expect(answer.headers).toMatchObject({
      'x-request-id': requestId,
      'request-id': requestId,
      'content-type': expect.stringContaining('application/json'),
    });
    expect(scene.upstream().requests()).toBe(before);
    expect(outcomesOf(scene.gateway(), requestId)).toEqual([
      expect.objectContaining({
        outcome: expected.outcome ?? 'invalid_request',
        status: expected.status,
        error_code: expected.code,
      }),
    ]);
    const { logs, attempts, ledger } = await scene.traceOf(requestId);
    expect(logs).toHaveLength(expected.logged ? 1 : 0);
    if (expected.logged)
      expect(logs[0]).toMatchObject({
        status_code: expected.status,
        error_code: expected.code,
        provider_key: null,
        prompt_tokens: null,
      });
    expect([...attempts, ...ledger]).toEqual([]);
    return answer;
  }
  return { ...scene, refused };
}
