import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

type Claims = Readonly<Record<string, unknown>>;

/** The behaviour of the fakes from now on; members that are set to undefined return to normal. */
export interface Mood {
  /** Milliseconds before an answer. */
  readonly delayMs?: number;
  /** Sent instead of a token. */
  readonly refusal?: { readonly status: number; readonly body: string };
  /** Connections are closed without an answer, or get none. */
  readonly silence?: 'breaks' | 'hangs';
  /** Lifetime of tokens in seconds; 3600 by default. */
  readonly lifetimeSecs?: number;
  /** Omits the header by which clients recognise the metadata server. */
  readonly noFlavor?: boolean;
}

/** A received token request. */
export interface TokenRequest {
  readonly from: 'metadata' | 'assertion';
  readonly kind: 'access' | 'identity';
  /** `scope`, or the audience of the ID token. */
  readonly for: string | null;
  /** The claims of the assertion. */
  readonly claims?: Claims;
}

export interface GoogleFakes {
  /** For `GCE_METADATA_HOST`. */
  readonly metadataHost: string;
  readonly tokenUri: string;
  readonly requests: TokenRequest[];
  /** Requests that a real service would reject. */
  readonly faults: string[];
  /** Tokens that were issued. */
  readonly tokens: string[];
  mood: Mood;
  /** Writes the file of the service account. */
  readonly writeAccount: (path: string, over?: object) => Promise<void>;
  /** Replaces the account's key; the earlier one becomes invalid. */
  readonly rotateKey: () => void;
  /** The account's key. */
  readonly privateKey: () => string;
  /** The claims of an unexpired ID token of these fakes; undefined for any other text. */
  readonly claimsOf: (idToken: string) => Claims | undefined;
  readonly close: () => Promise<void>;
}

const scope = 'https://www.googleapis.com/auth/cloud-platform';
const metadataPath = '/computeMetadata/v1/instance/service-accounts/default/';
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const nowSecs = (): number => Math.floor(Date.now() / 1000);

const accountEmail = 'caller@project.example.com';

const newKey = (): { readonly privateKey: string; readonly publicKey: string } =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });

/** A metadata server and a token endpoint, which reject what the real ones would reject. */
export async function startGoogleFakes(): Promise<GoogleFakes> {
  const issuer = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let account = newKey();
  let made = 0;

  const idToken = (audience: string): string => {
    const lifetime = fakes.mood.lifetimeSecs ?? 3600;
    made += 1;
    const claims = { iss: 'https://accounts.google.com', aud: audience, iat: nowSecs(), n: made };
    const unsigned = `${base64url({ alg: 'RS256', typ: 'JWT' })}.${base64url({ ...claims, exp: Date.now() / 1000 + lifetime })}`;
    return `${unsigned}.${sign('sha256', Buffer.from(unsigned), issuer.privateKey).toString('base64url')}`;
  };
  const accessToken = (): object => {
    made += 1;
    return {
      access_token: `ya29.fake-${made}-${'x'.repeat(32)}`,
      expires_in: fakes.mood.lifetimeSecs ?? 3600,
      token_type: 'Bearer',
    };
  };
  const handOut = (response: ServerResponse, body: string, token: string): void => {
    fakes.tokens.push(token);
    if (fakes.mood.noFlavor !== true) response.setHeader('Metadata-Flavor', 'Google');
    response.end(body);
  };
  const turnAway = (response: ServerResponse, status: number, fault: string): void => {
    fakes.faults.push(fault);
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
  };

  const metadata = (url: URL, request: IncomingMessage, response: ServerResponse): void => {
    if (request.headers['metadata-flavor'] !== 'Google' || request.headers['x-forwarded-for'] !== undefined)
      return turnAway(response, 403, 'no Metadata-Flavor');
    switch (url.pathname.slice(metadataPath.length)) {
      case 'token': {
        const token = accessToken();
        return handOut(response, JSON.stringify(token), (token as { access_token: string }).access_token);
      }
      case 'identity': {
        const token = idToken(url.searchParams.get('audience') ?? '');
        return handOut(response, token, token);
      }
      default:
        return turnAway(response, 404, `no ${url.pathname}`);
    }
  };

  const exchange = (form: URLSearchParams, response: ServerResponse): void => {
    const claims = assertionClaims(form, account.publicKey, fakes.tokenUri);
    if (typeof claims === 'string') return turnAway(response, 400, claims);
    response.setHeader('content-type', 'application/json');
    const audience = claims['target_audience'];
    if (typeof audience === 'string') {
      const token = idToken(audience);
      return handOut(response, JSON.stringify({ id_token: token }), token);
    }
    const token = accessToken();
    handOut(response, JSON.stringify(token), (token as { access_token: string }).access_token);
  };

  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const url = new URL(request.url ?? '', 'http://fakes');
      const form = new URLSearchParams(await text(request));
      fakes.requests.push(seen(url, form));
      const { delayMs, refusal, silence } = fakes.mood;
      if (delayMs !== undefined) await sleep(delayMs);
      if (silence === 'breaks') return void request.socket.destroy();
      if (silence === 'hangs') return;
      if (refusal !== undefined) {
        const headers = { 'content-type': 'application/json', 'Metadata-Flavor': 'Google' };
        return void response.writeHead(refusal.status, headers).end(refusal.body);
      }
      if (url.pathname.startsWith(metadataPath)) return metadata(url, request, response);
      if (request.method === 'POST' && url.pathname === '/token') return exchange(form, response);
      turnAway(response, 404, `no ${url.pathname}`);
    };
    void answer();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  const fakes: GoogleFakes = {
    metadataHost: host,
    tokenUri: `http://${host}/token`,
    requests: [],
    faults: [],
    tokens: [],
    mood: {},
    writeAccount: async (path, over = {}) => {
      const file = {
        type: 'service_account',
        project_id: 'project',
        private_key_id: 'k1',
        private_key: account.privateKey,
        client_email: accountEmail,
        token_uri: `http://${host}/token`,
        ...over,
      };
      await writeFile(path, JSON.stringify(file));
    },
    rotateKey: () => {
      account = newKey();
    },
    privateKey: () => account.privateKey,
    claimsOf: (token) => {
      const [head = '', body = '', signature = ''] = token.split('.');
      const good = verify(
        'sha256',
        Buffer.from(`${head}.${body}`),
        issuer.publicKey,
        Buffer.from(signature, 'base64url'),
      );
      const claims = good ? claimsIn(token) : {};
      return Number(claims['exp']) * 1000 > Date.now() ? claims : undefined;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fakes;
}

const claimsIn = (token: string): Claims =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;

function seen(url: URL, form: URLSearchParams): TokenRequest {
  const assertion = form.get('assertion');
  if (assertion === null) {
    const kind = url.pathname.endsWith('identity') ? 'identity' : 'access';
    const asked = url.searchParams.get(kind === 'identity' ? 'audience' : 'scopes');
    return { from: 'metadata', kind, for: asked };
  }
  const claims = claimsIn(assertion);
  const { scope: scopes, target_audience: audience } = claims as Record<string, string | undefined>;
  return {
    from: 'assertion',
    kind: audience === undefined ? 'access' : 'identity',
    for: audience ?? scopes ?? null,
    claims,
  };
}

/** The claims of a valid assertion, or its fault. */
function assertionClaims(form: URLSearchParams, publicKey: string, tokenUri: string): Claims | string {
  const assertion = form.get('assertion') ?? '';
  const [head = '', body = '', signature = ''] = assertion.split('.');
  const signed = (): boolean =>
    verify('sha256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url'));
  const claims = claimsIn(assertion);
  const { iss, aud, iat, exp, scope: scopes, target_audience: audience } = claims;
  const lives = Number(exp) - Number(iat);
  const rules: readonly (readonly [what: string, holds: () => boolean])[] = [
    ['grant_type', () => form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    ['iss', () => iss === accountEmail],
    ['signature', signed],
    ['aud', () => aud === tokenUri],
    ['iat', () => Math.abs(Number(iat) - nowSecs()) < 60],
    ['exp', () => lives > 0 && lives <= 3600],
    ['scope', () => scopes === (audience === undefined ? scope : undefined)],
    ['target_audience', () => audience === undefined || typeof audience === 'string'],
  ];
  return rules.find(([, holds]) => !holds())?.[0] ?? claims;
}
