import { beforeAll } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { createAdmin, type Credentials } from '../../application/admin/create-admin.ts';
import { argon2Passwords } from '../../infrastructure/passwords.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { adminsStore } from '../../infrastructure/postgres/session-store.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** `data` of a successful answer. */
  readonly data: unknown;
  /** `error` of a failed answer. */
  readonly error:
    | { readonly code?: unknown; readonly param?: unknown; readonly message?: unknown }
    | undefined;
  readonly meta: unknown;
  /** The whole body as received. */
  readonly text: string;
}

/** A logged-in platform admin, who calls the admin API as a browser on the gateway's own pages does. */
export type AdminClient = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<AdminAnswer>;

export const account = { email: 'root@example.com', password: 'correct horse battery canary' };

/**
 * Creates the platform admin of a database once for all its gateways, or sets a user's password, as `admin
 * create` does.
 */
export async function makeAdmin(databaseUrl: string, credentials: Credentials = account): Promise<void> {
  const pool = await openPool(databaseUrl, 1);
  const made = await createAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() })(credentials);
  await pool.end();
  if (E.isLeft(made)) throw new Error(made.left);
}

/** Logs that admin in. A text body is sent unchanged. */
export async function adminClient(url: string): Promise<AdminClient> {
  const login = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(account),
  });
  if (login.status !== 200) throw new Error(await login.text());
  const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return async (method, path, body, headers = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        cookie,
        'sec-fetch-site': 'same-origin',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const json = JSON.parse(text) as Pick<AdminAnswer, 'data' | 'error' | 'meta'>;
    return {
      status: answer.status,
      headers: answer.headers,
      data: json.data,
      error: json.error,
      meta: json.meta,
      text,
    };
  };
}

/** Creates that admin before the tests of a suite, and logs in. */
export function withAdmin(databaseUrl: () => string, gateway: () => { readonly url: string }): AdminClient {
  let client: AdminClient;
  beforeAll(async () => {
    await makeAdmin(databaseUrl());
    client = await adminClient(gateway().url);
  });
  return (...asked) => client(...asked);
}
