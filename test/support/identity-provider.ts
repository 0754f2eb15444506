import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { interactionPolicy, Provider } from 'oidc-provider';
import { oidcClient } from './oidc-client.ts';

/** The provider's claims about a person. */
export interface Account {
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly groups?: readonly string[] | string;
}

/** A real OpenID provider on a socket. Nothing has to be typed: each visitor signs in as `signsIn`. */
export interface TestProvider {
  readonly issuer: string;
  readonly accounts: Map<string, Account>;
  /** The next account that signs in; undefined: the person declines. */
  signsIn: string | undefined;
  /** Seconds by which its clock is ahead of the gateway's, in the times of ID tokens, which last 60 s. */
  clockAheadSecs: number;
  /** Lifetime of a code in seconds. */
  codeSecs: number;
  /** Answers instead of the provider: returns true if it did. */
  insteadOf: (req: IncomingMessage, res: ServerResponse) => boolean;
  /** Paths that were requested. */
  readonly asked: string[];
  readonly stop: () => Promise<void>;
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' };

/** It can be asked for an account, and then it does not go by its own session. */
const policy = interactionPolicy.base();
policy.add(new interactionPolicy.Prompt({ name: 'select_account', requestable: true }), 0);

export async function startProvider(
  redirectUri: string,
  {
    claimsInIdToken = true,
    onlyInUserInfo = [],
    method = 'client_secret_basic',
  }: {
    readonly claimsInIdToken?: boolean;
    readonly onlyInUserInfo?: readonly (keyof Account)[];
    readonly method?: 'client_secret_basic' | 'client_secret_post';
  } = {},
): Promise<TestProvider> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: oidcClient.id,
        client_secret: oidcClient.secret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: method,
      },
    ],
    clientAuthMethods: [method],
    jwks: { keys: [key] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups'],
    },
    conformIdTokenClaims: !claimsInIdToken,
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    interactions: { policy, url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: async (use) => {
        const { groups, ...account } = test.accounts.get(id) ?? {};
        const claims = { sub: id, ...account, ...(groups === undefined ? {} : { groups }) };
        const kept = use === 'id_token' ? onlyInUserInfo : [];
        return { ...claims, ...Object.fromEntries(kept.map((each) => [each, undefined])) };
      },
    }),
    loadExistingGrant: async (ctx) => {
      const { accountId } = ctx.oidc.session ?? {};
      const grant = new ctx.oidc.provider.Grant({
        clientId: oidcClient.id,
        ...(accountId === undefined ? {} : { accountId }),
      });
      grant.addOIDCScope('openid email profile groups');
      await grant.save();
      return grant;
    },
    ttl: {
      IdToken: 60,
      AuthorizationCode: () => test.codeSecs,
      AccessToken: 60,
      Interaction: 60,
      Grant: 60,
      Session: 60,
    },
  });
  const answer = provider.callback();
  const test: TestProvider = {
    issuer,
    accounts: new Map(),
    signsIn: undefined,
    clockAheadSecs: 0,
    codeSecs: 60,
    insteadOf: () => false,
    asked: [],
    stop: () => stop(server),
  };
  server.on('request', (req, res) => {
    test.asked.push((req.url ?? '').split('?')[0] ?? '');
    if (test.insteadOf(req, res)) return;
    if (req.url === '/token' && test.clockAheadSecs !== 0) moveTimes(res, test.clockAheadSecs);
    if (req.url?.startsWith('/interaction/') !== true) return void answer(req, res);
    const result =
      test.signsIn === undefined
        ? { error: 'access_denied', error_description: 'said no' }
        : { login: { accountId: test.signsIn }, select_account: {} };
    void provider.interactionFinished(req, res, result);
  });
  return test;
}

/** Signs the ID token of an answer again, with other times. */
function moveTimes(res: ServerResponse, bySecs: number): void {
  const end = res.end.bind(res);
  res.end = (body?: unknown) => {
    const { id_token: idToken = '', ...rest } = JSON.parse(String(body)) as { id_token?: string };
    const [head = '', payload = ''] = idToken.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { iat: number; exp: number };
    const moved = { ...claims, iat: claims.iat + bySecs, exp: claims.exp + bySecs };
    const content = `${head}.${Buffer.from(JSON.stringify(moved)).toString('base64url')}`;
    const signature = sign('sha256', Buffer.from(content), privateKey).toString('base64url');
    const text = JSON.stringify({ ...rest, id_token: `${content}.${signature}` });
    res.setHeader('content-length', Buffer.byteLength(text));
    return end(text);
  };
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
