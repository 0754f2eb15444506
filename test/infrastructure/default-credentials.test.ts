import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { stringify } from 'yaml';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { resolver } from '../../infrastructure/config/resolver.ts';

const variables = {
  DATABASE_URL: 'postgresql://127.0.0.1/x',
  GOOGLE_APPLICATION_CREDENTIALS: '/run/account.json',
};

/** The provider's `auth` as this process resolves it, from its own file or from another replica's row. */
function resolved(auth: object, environment: Record<string, string>, own: boolean): unknown {
  const base_url = 'https://svc-x.a.run.app/v1';
  const file = stringify({ providers: [{ id: 'run', type: 'cloud_run_compat', base_url, auth }] });
  const loaded = parseConfig(file, environment);
  if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
  const stored = loaded.right.persistable.providers[0]!.value;
  const mine = parseConfig(own ? file : 'providers: []', environment);
  if (E.isLeft(mine)) throw new Error(JSON.stringify(mine.left));
  const config = resolver(mine.right, environment).provider('run', stored);
  if (E.isLeft(config)) throw new Error(config.left);
  return config.right.auth;
}

const rest = { audience: 'https://svc-x.a.run.app', header: 'authorization' };

describe.each([
  ['its own file', true],
  ['the database', false],
])('`adc` of a provider from %s', (_, own) => {
  it('is the file that GOOGLE_APPLICATION_CREDENTIALS of this process names', () => {
    expect(resolved({ mode: 'adc' }, variables, own)).toEqual({
      ...rest,
      mode: 'adc',
      credentialsPath: '/run/account.json',
    });
  });

  it.each([undefined, ''])('is the metadata server where that variable is not set or empty: %p', (path) => {
    const { GOOGLE_APPLICATION_CREDENTIALS: _path, ...others } = variables;
    const environment = path === undefined ? others : { ...others, GOOGLE_APPLICATION_CREDENTIALS: path };
    expect(resolved({ mode: 'adc' }, environment, own)).toEqual({ ...rest, mode: 'adc' });
  });

  it('is not applied to other modes', () => {
    expect(resolved({ mode: 'service_account', credentials_path: '/own.json' }, variables, own)).toEqual({
      ...rest,
      mode: 'service_account',
      credentialsPath: '/own.json',
    });
  });
});
