import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { stringify } from 'yaml';
import { lintConfig } from '../../infrastructure/config/lint.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';

const oidc = { issuer: 'https://id.example.com', client_id: 'gateway', client_secret: '${SECRET}' };
const server = { public_base_url: 'https://gateway.example.com' };
const parse = (adminAuth: object, over: object = { server }) =>
  parseConfig(stringify({ ...over, admin_auth: adminAuth }), { SECRET: 'oidc-secret-0123456789' });

const problemsOf = (adminAuth: object, over?: object) => {
  const read = parse(adminAuth, over);
  return E.isLeft(read) ? read.left.map(({ path, message }) => `${path} ${message}`) : [];
};

const lintsOf = (adminAuth: object) => {
  const read = parse(adminAuth);
  if (E.isLeft(read)) throw new Error(JSON.stringify(read.left));
  const knowledge = { hasPrice: () => true, canServe: () => true, plainHosts: () => E.right([]) };
  return lintConfig(read.right, knowledge).map(({ path, message }) => `${path} ${message}`);
};

describe('admin_auth', () => {
  it('is sign-in by password alone by default', () => {
    const read = parse({}, {});
    expect(E.isRight(read) && read.right.config.adminAuth).toEqual({
      oidc: undefined,
      passwordLogin: true,
      requireSecondFactor: false,
    });
  });

  it('has these defaults for an OIDC provider', () => {
    const read = parse({ oidc });
    expect(E.isRight(read) && read.right.config.adminAuth.oidc).toEqual({
      issuer: 'https://id.example.com',
      clientId: 'gateway',
      clientSecret: 'oidc-secret-0123456789',
      displayName: 'Single sign-on',
      scopes: ['openid', 'email', 'profile'],
      groupsClaim: 'groups',
      adminGroups: [],
      allowedEmailDomains: [],
      createUsers: false,
    });
    expect(E.isRight(read) && read.right.credentials).toContain('oidc-secret-0123456789');
  });

  it.each<readonly [string, object, object | undefined, string]>([
    [
      'neither passwords nor a provider',
      { password_login: false },
      undefined,
      'admin_auth.password_login is false',
    ],
    ['a provider but no public_base_url', { oidc }, {}, 'admin_auth.oidc needs server.public_base_url'],
    [
      'an issuer with plain http on a public host',
      { oidc: { ...oidc, issuer: 'http://id.example.com' } },
      undefined,
      'admin_auth.oidc.issuer must be https',
    ],
    [
      'scopes without openid',
      { oidc: { ...oidc, scopes: ['email'] } },
      undefined,
      'admin_auth.oidc.scopes must have `openid`',
    ],
    [
      'a domain in capitals',
      { oidc: { ...oidc, allowed_email_domains: ['Example.com'] } },
      undefined,
      'admin_auth.oidc.allowed_email_domains[0] must be a domain',
    ],
    [
      'no client secret',
      { oidc: { issuer: oidc.issuer, client_id: 'x' } },
      undefined,
      'admin_auth.oidc.client_secret is required',
    ],
    [
      'a client id that ends with a line break',
      { oidc: { ...oidc, client_id: 'gateway\n' } },
      undefined,
      'admin_auth.oidc.client_id must not hold control characters',
    ],
    [
      'a client secret that ends with a line break, as `echo` writes one',
      { oidc: { ...oidc, client_secret: '${SECRET}\n' } },
      undefined,
      'admin_auth.oidc.client_secret must not hold control characters',
    ],
  ])('is rejected with %s', (_, adminAuth, over, problem) => {
    expect(problemsOf(adminAuth, over)).toEqual([expect.stringContaining(problem)]);
  });

  it('may be a provider without passwords, and an issuer on loopback may have plain http', () => {
    expect(problemsOf({ oidc, password_login: false })).toEqual([]);
    expect(problemsOf({ oidc: { ...oidc, issuer: 'http://127.0.0.1:9000' } })).toEqual([]);
  });

  it('warns of a client secret in the file, and of create_users without allowed_email_domains', () => {
    expect(lintsOf({ oidc })).toEqual([]);
    expect(lintsOf({ oidc: { ...oidc, client_secret: 'plain' } })).toEqual([
      expect.stringContaining('admin_auth.oidc.client_secret is a secret written into the file'),
    ]);
    expect(lintsOf({ oidc: { ...oidc, create_users: true } })).toEqual([
      expect.stringContaining('admin_auth.oidc.create_users is true without allowed_email_domains'),
    ]);
  });
});
