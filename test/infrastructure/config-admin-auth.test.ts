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
  it('is passwords alone unless the file says otherwise', () => {
    const read = parse({}, {});
    expect(E.isRight(read) && read.right.config.adminAuth).toEqual({
      oidc: undefined,
      passwordLogin: true,
      requireSecondFactor: false,
    });
  });

  it('has a provider with these defaults', () => {
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
    ['nobody could sign in', { password_login: false }, undefined, 'admin_auth.password_login is false'],
    ['no address to come back to', { oidc }, {}, 'admin_auth.oidc needs server.public_base_url'],
    [
      'plain http over networks of others',
      { oidc: { ...oidc, issuer: 'http://id.example.com' } },
      undefined,
      'admin_auth.oidc.issuer must be https',
    ],
    [
      'no ID token',
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
      'no secret',
      { oidc: { issuer: oidc.issuer, client_id: 'x' } },
      undefined,
      'admin_auth.oidc.client_secret is required',
    ],
  ])('is refused with %s', (_, adminAuth, over, problem) => {
    expect(problemsOf(adminAuth, over)).toEqual([expect.stringContaining(problem)]);
  });

  it('by a provider alone is fine, and on this machine by plain http', () => {
    expect(problemsOf({ oidc, password_login: false })).toEqual([]);
    expect(problemsOf({ oidc: { ...oidc, issuer: 'http://127.0.0.1:9000' } })).toEqual([]);
  });

  it('warns of a secret in the file, and of people made of anybody', () => {
    expect(lintsOf({ oidc })).toEqual([]);
    expect(lintsOf({ oidc: { ...oidc, client_secret: 'plain' } })).toEqual([
      expect.stringContaining('admin_auth.oidc.client_secret is a secret written into the file'),
    ]);
    expect(lintsOf({ oidc: { ...oidc, create_users: true } })).toEqual([
      expect.stringContaining('admin_auth.oidc.create_users is true without allowed_email_domains'),
    ]);
  });
});
