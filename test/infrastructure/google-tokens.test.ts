import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { googleAccessTokens, googleIdTokens } from '../../infrastructure/providers/auth/google-tokens.ts';
import { readServiceAccount } from '../../infrastructure/providers/auth/service-account-file.ts';
import { maxTokenBytes } from '../../infrastructure/providers/auth/token-service.ts';
import type {
  Authenticator,
  OutboundRequest,
  WrittenRequest,
} from '../../infrastructure/providers/provider.ts';
import { recordedContext } from '../support/credential-context.ts';
import { type GoogleFakes, startGoogleFakes } from '../support/google-fakes.ts';
import { undisturbed } from '../support/undisturbed.ts';

let fakes: GoogleFakes;
let folder: string;
let file: string;

const { context, warnings, concealed, forget } = recordedContext();

beforeAll(async () => {
  fakes = await startGoogleFakes();
  folder = await mkdtemp(path.join(tmpdir(), 'google-tokens-'));
  file = path.join(folder, 'account.json');
  process.env['GCE_METADATA_HOST'] = fakes.metadataHost;
});

beforeEach(anew);

afterEach(() => {
  jest.restoreAllMocks();
});

async function anew(): Promise<void> {
  await fakes.writeAccount(file);
  fakes.mood = {};
  for (const list of [fakes.requests, fakes.faults, fakes.tokens]) list.length = 0;
  forget();
}

/** Runs what must happen in the few seconds that a token is valid, and again if the machine paused. */
const inTime = (pipeline: () => Promise<void>): Promise<void> =>
  undisturbed(150, async () => {
    await anew();
    await pipeline();
  });

afterAll(async () => {
  delete process.env['GCE_METADATA_HOST'];
  await fakes.close();
  await rm(folder, { recursive: true });
});

const request: OutboundRequest = {
  path: '/v1/x',
  headers: { 'content-type': 'application/json', authorization: 'Bearer of-the-application' },
  body: '{}',
};

const send = async (authenticate: Authenticator): Promise<WrittenRequest | string> => {
  const answer = authenticate(request);
  if (!(answer instanceof Promise)) return answer;
  const settled = await answer;
  if (E.isRight(settled)) return settled.right;
  return settled.left.kind === 'protocol' ? settled.left.message : settled.left.kind;
};

const sentHeaders = async (authenticate: Authenticator): Promise<OutboundRequest['headers']> => {
  const sent = await send(authenticate);
  if (typeof sent === 'string') throw new Error(sent);
  return sent.headers;
};

const bearerOf = async (authenticate: Authenticator, header = 'authorization'): Promise<string> =>
  (await sentHeaders(authenticate))[header]!.replace('Bearer ', '');

/** A service that answers no request. The timeout is over as soon as it has one, however slow the machine is. */
async function silentService() {
  const timeout = new AbortController();
  jest.spyOn(AbortSignal, 'timeout').mockReturnValue(timeout.signal);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const server = createServer(({ socket }) => {
    socket.once('close', () => server.close(() => resolve()));
    timeout.abort();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, closed };
}

const audience = 'https://svc-x.a.run.app';
const headers = ['authorization', 'x-serverless-authorization'] as const;
const scope = 'https://www.googleapis.com/auth/cloud-platform';

describe('access tokens', () => {
  it('adc: come from the metadata server, for the scope of the platform', async () => {
    const tokens = googleAccessTokens({ mode: 'adc' }, context);
    expect(await bearerOf(tokens)).toBe(fakes.tokens[0]);
    expect(fakes.requests).toEqual([{ from: 'metadata', kind: 'access', for: scope }]);
  });

  it.each(['adc', 'service_account'] as const)(
    '%s with a file: a signed assertion is exchanged',
    async (mode) => {
      const tokens = googleAccessTokens({ mode, credentialsPath: file }, context);
      expect(await bearerOf(tokens)).toBe(fakes.tokens[0]);
      expect(fakes.requests).toMatchObject([{ from: 'assertion', kind: 'access', for: scope }]);
      expect(fakes.faults).toEqual([]);
    },
  );

  it('bearer: the static token is used synchronously, without a request', async () => {
    const sent = googleAccessTokens({ mode: 'bearer', token: 'static' }, context)(request);
    expect(sent).toMatchObject({
      ...request,
      headers: { ...request.headers, authorization: 'Bearer static' },
    });
    expect(fakes.requests).toEqual([]);
  });
});

describe.each(['HTTPS_PROXY', 'HTTP_PROXY'])('where %s names a proxy', (name) => {
  beforeEach(() => {
    process.env[name] = 'http://127.0.0.1:9';
  });

  afterEach(() => {
    delete process.env[name];
  });

  it('tokens are requested without it, from the metadata server and with a file', async () => {
    for (const source of [{}, { credentialsPath: file }]) {
      const access = googleAccessTokens({ mode: 'adc', ...source }, context);
      const id = googleIdTokens({ mode: 'adc', ...source, audience, header: 'authorization' }, context);
      const sent = [await bearerOf(access), await bearerOf(id)];
      expect(fakes.tokens.slice(-2)).toEqual(sent);
    }
  });
});

describe('ID tokens', () => {
  it.each(headers)('adc: come from the metadata server, for the audience, in %s', async (header) => {
    const tokens = googleIdTokens({ mode: 'adc', audience, header }, context);
    expect(fakes.claimsOf(await bearerOf(tokens, header))).toMatchObject({ aud: audience });
    expect(fakes.requests).toEqual([{ from: 'metadata', kind: 'identity', for: audience }]);
  });

  it.each(headers)('service-account file: a signed assertion with target_audience, in %s', async (header) => {
    for (const mode of ['adc', 'service_account'] as const) {
      const tokens = googleIdTokens({ mode, credentialsPath: file, audience, header }, context);
      expect(fakes.claimsOf(await bearerOf(tokens, header))).toMatchObject({ aud: audience });
      expect(fakes.requests.at(-1)).toMatchObject({
        from: 'assertion',
        claims: { target_audience: audience, aud: fakes.tokenUri, iss: 'caller@project.example.com' },
      });
    }
    expect(fakes.faults).toEqual([]);
  });

  it.each(headers)('bearer: the static token, no refresh, in %s', async (header) => {
    expect(await bearerOf(googleIdTokens({ mode: 'bearer', token: 'static', header }, context), header)).toBe(
      'static',
    );
    expect(fakes.requests).toEqual([]);
  });

  it('x_serverless_authorization leaves application-level Authorization intact', async () => {
    const tokens = googleIdTokens({ mode: 'adc', audience, header: 'x-serverless-authorization' }, context);
    expect((await sentHeaders(tokens))['authorization']).toBe('Bearer of-the-application');
  });

  it.each(['https://svc.example.com/a?b=c&d=e', 'https://svc.example.com/ä #1', '32555940559.apps/+'])(
    'the audience is sent exactly as configured: %s',
    async (odd) => {
      const header = 'authorization';
      for (const credentialsPath of [undefined, file]) {
        const auth = {
          mode: 'adc' as const,
          audience: odd,
          header,
          ...(credentialsPath && { credentialsPath }),
        };
        const tokens = googleIdTokens(auth as Parameters<typeof googleIdTokens>[0], context);
        expect(fakes.claimsOf(await bearerOf(tokens))).toMatchObject({ aud: odd });
      }
    },
  );
});

describe.each([
  ['the metadata server', undefined],
  ['a file', 'file'],
])('tokens from %s', (_, source) => {
  const access = (): Authenticator =>
    googleAccessTokens(
      source === undefined ? { mode: 'adc' } : { mode: 'adc', credentialsPath: file },
      context,
    );
  const identity = (): Authenticator => {
    const base = { mode: 'adc', audience, header: 'authorization' } as const;
    return googleIdTokens(source === undefined ? base : { ...base, credentialsPath: file }, context);
  };

  it.each([
    ['access tokens', access],
    ['ID tokens', identity],
  ])('are refreshed once for 200 waiting requests: %s', async (_kind, tokensOf) => {
    fakes.mood = { delayMs: 50 };
    const tokens = tokensOf();
    const sent = await Promise.all(Array.from({ length: 200 }, () => bearerOf(tokens)));
    expect(new Set(sent)).toEqual(new Set(fakes.tokens));
    expect(fakes.requests).toHaveLength(1);
    expect(tokens(request)).not.toBeInstanceOf(Promise);
  });

  it('are used until expiry if the token service fails, then requests fail until it recovers, without a call for each', async () => {
    await inTime(async () => {
      fakes.mood = { lifetimeSecs: 1 };
      const tokens = access();
      const old = await bearerOf(tokens);
      const began = Date.now();
      fakes.mood = { refusal: { status: 404, body: '{"error":"not_found"}' } };
      const faults = new Set<string>();
      let good = 0;
      while (Date.now() < began + 1500) {
        const sent = await send(tokens);
        if (typeof sent === 'string') faults.add(sent);
        else {
          expect([sent.headers['authorization'], faults.size]).toEqual([`Bearer ${old}`, 0]);
          good += 1;
        }
        await sleep(2);
      }
      expect(good).toBeGreaterThan(10);
      expect([...faults]).toEqual([
        'The gateway could not obtain credentials for the upstream: the token service answered with status 404 (not_found).',
      ]);
      expect(fakes.requests).toHaveLength(2);
      expect(warnings).toEqual([
        expect.stringMatching(/^the access token could not be renewed: .* status 404 \(not_found\)/),
      ]);
      fakes.mood = {};
      await sleep(800);
      expect(await bearerOf(tokens)).toBe(fakes.tokens.at(-1));
    });
  });

  it('are in no error and no warning, whatever the service responds, and neither are keys and assertions', async () => {
    const leaky = {
      error: 'invalid_grant',
      error_description: `${fakes.privateKey()} ${fakes.tokens.join()}`,
    };
    for (const mood of [
      { refusal: { status: 400, body: JSON.stringify(leaky) } },
      {
        refusal: {
          status: 200,
          body: JSON.stringify({ access_token: '', id_token: 'eyJ.e30.x', expires_in: 1 }),
        },
      },
      { refusal: { status: 200, body: 'ya29.not json\r\n' } },
      { refusal: { status: 403, body: 'ya29.secret' } },
      { refusal: { status: 400, body: '{"error":"ya29.secret"}' } },
      { refusal: { status: 400, body: '{"error":["ya29.secret"]}' } },
    ]) {
      fakes.mood = mood;
      for (const tokens of [access(), identity()]) {
        const told = await send(tokens);
        expect(told).toMatch(/^The gateway could not obtain credentials for the upstream: [ -~]{10,90}\.$/);
        for (const words of [JSON.stringify(told), ...warnings])
          expect(words).not.toMatch(/ya29|eyJ|PRIVATE|assertion|127\.0\.0\.1|secret/);
      }
    }
  });

  it.each(['% a', '%\r\nx: y', '%ä'])('are rejected if a header cannot contain them: %j', async (odd) => {
    const lasting = `ya29.${Buffer.from('{"exp":9999999999}').toString('base64url')}.x`;
    const token = odd.replace('%', lasting);
    const body = JSON.stringify({ access_token: token, id_token: token, expires_in: 3600 });
    fakes.mood = { refusal: { status: 200, body } };
    for (const tokens of [access(), identity()])
      expect(await send(tokens)).toMatch(/the token service answered without a token/);
    expect(concealed).toEqual([]);
  });

  it('are passed to `conceal`, so that they are redacted if an upstream repeats them', async () => {
    const tokens = [await bearerOf(access()), await bearerOf(identity())];
    expect(concealed).toEqual(tokens);
  });
});

describe('a faulty metadata server', () => {
  it.each<[string, GoogleFakes['mood'], RegExp]>([
    ['closes the connection', { silence: 'breaks' }, /could not be asked \(ECONNRESET\)|in time/],
    ['omits its header', { noFlavor: true }, /could not be asked/],
  ])('that %s provides no token', async (_, mood, words) => {
    fakes.mood = mood;
    expect(await send(googleAccessTokens({ mode: 'adc' }, context))).toMatch(words);
  });

  it('closes the connection to a silent metadata server after the timeout, on machines of the platform too', async () => {
    const silent = await silentService();
    // There the library waits for ever.
    process.env['K_SERVICE'] = 'gateway';
    process.env['GCE_METADATA_HOST'] = silent.host;
    expect(await send(googleAccessTokens({ mode: 'adc' }, context))).toMatch(/no answer came in time/);
    await silent.closed;
  });
});

type FileAuth = { readonly mode: 'service_account'; readonly credentialsPath: string };

describe('a service-account file', () => {
  it('is read again when a token is renewed, so that a rotated key is used', async () => {
    await inTime(async () => {
      fakes.mood = { lifetimeSecs: 1 };
      const tokens = googleAccessTokens({ mode: 'service_account', credentialsPath: file }, context);
      await bearerOf(tokens);
      fakes.rotateKey();
      await fakes.writeAccount(file);
      await sleep(1050);
      expect(await bearerOf(tokens)).toBe(fakes.tokens[1]);
      expect([fakes.faults, warnings]).toEqual([[], []]);
    });
  });

  it.each<[string, object | string, RegExp]>([
    ['is not JSON', '{', /not a JSON object/],
    ['has another type', { type: 'authorized_user' }, /not that of a service account/],
    ['has no e-mail', { client_email: '' }, /`client_email`/],
    ['has no key', { private_key: undefined }, /`private_key`/],
    [
      'has a broken key',
      { private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n' },
      /`private_key`/,
    ],
    ['has a `file:` URL as token_uri', { token_uri: 'file:///etc/passwd' }, /`token_uri`/],
  ])('that %s is rejected with this reason', async (_, over, words) => {
    if (typeof over === 'string') await writeFile(file, over);
    else await fakes.writeAccount(file, over);
    const told = await send(googleAccessTokens({ mode: 'service_account', credentialsPath: file }, context));
    expect(told).toMatch(words);
    expect(fakes.requests).toEqual([]);
  });

  it('that names no token service means the one of the platform', async () => {
    await fakes.writeAccount(file, { token_uri: undefined });
    expect(await readServiceAccount(file)).toMatchObject({
      right: { tokenUri: 'https://oauth2.googleapis.com/token' },
    });
  });

  it('has its token renewed before expiry: no request waits, the old token is used until the new one arrives', async () => {
    await inTime(async () => {
      fakes.mood = { lifetimeSecs: 3 };
      const auth = { mode: 'adc', audience, header: 'authorization', credentialsPath: file } as const;
      const tokens = googleIdTokens(auth, context);
      const old = await bearerOf(tokens);
      await sleep(2350);
      fakes.mood = { delayMs: 50 };
      const during = Array.from({ length: 50 }, () => tokens(request));
      expect(during.every((each) => !(each instanceof Promise))).toBe(true);
      expect(await bearerOf(tokens)).toBe(old);
      while (fakes.tokens.length === 1) await sleep(10);
      await sleep(50);
      expect(await bearerOf(tokens)).toBe(fakes.tokens[1]);
      expect(fakes.requests).toHaveLength(2);
    });
  });

  it('that is missing is reported without its path', async () => {
    const missing = path.join(folder, 'missing.json');
    const told = await send(
      googleAccessTokens({ mode: 'service_account', credentialsPath: missing }, context),
    );
    expect(told).toBe(
      'The gateway could not obtain credentials for the upstream: the credentials file cannot be read (ENOENT).',
    );
  });

  it('has its assertion sent only to its token service: a redirect is not followed', async () => {
    const redirecting = createServer((_, response) => {
      response.writeHead(307, { location: fakes.tokenUri }).end();
    });
    redirecting.listen(0, '127.0.0.1');
    await once(redirecting, 'listening');
    const { port } = redirecting.address() as AddressInfo;
    await fakes.writeAccount(file, { token_uri: `http://127.0.0.1:${port}/token` });
    const tokens = googleAccessTokens({ mode: 'service_account', credentialsPath: file }, context);
    expect(await send(tokens)).toMatch(/the token service could not be asked/);
    expect(fakes.requests).toEqual([]);
    redirecting.close();
  });

  it('a token service that responds with deeply nested JSON provides no token', async () => {
    const deep = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('[1,'.repeat(2000));
    });
    deep.listen(0, '127.0.0.1');
    await once(deep, 'listening');
    const { port } = deep.address() as AddressInfo;
    await fakes.writeAccount(file, { token_uri: `http://127.0.0.1:${port}/token` });
    const tokens = googleAccessTokens({ mode: 'service_account', credentialsPath: file }, context);
    expect(await send(tokens)).toMatch(/the token service could not be asked/);
    deep.close();
  });

  it.each([
    ['access token', (auth: FileAuth) => googleAccessTokens(auth, context)],
    ['ID token', (auth: FileAuth) => googleIdTokens({ ...auth, audience, header: 'authorization' }, context)],
  ])(
    'no more of a response of a token service is read than the limit for a token: %s',
    async (_, tokensOf) => {
      const token = `ya29.${Buffer.from('{"exp":9999999999}').toString('base64url')}.x`;
      const body = JSON.stringify({ access_token: token, id_token: token, expires_in: 3600 });
      const sentFor = (bytes: number) => {
        fakes.mood = { refusal: { status: 200, body: body.padEnd(bytes) } };
        return send(tokensOf({ mode: 'service_account', credentialsPath: file }));
      };
      expect(await sentFor(maxTokenBytes)).toMatchObject({ headers: { authorization: `Bearer ${token}` } });
      expect(await sentFor(maxTokenBytes + 1)).toMatch(/the token service could not be asked/);
    },
  );

  it('an endless response of a token service is aborted before 64 MiB are sent', async () => {
    let sent = 0;
    function* blanks() {
      for (; sent < 2 ** 28; sent += 2 ** 16) yield ' '.repeat(2 ** 16);
    }
    const endless = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      Readable.from(blanks()).pipe(response);
    });
    endless.listen(0, '127.0.0.1');
    await once(endless, 'listening');
    const { port } = endless.address() as AddressInfo;
    await fakes.writeAccount(file, { token_uri: `http://127.0.0.1:${port}/token` });
    const tokens = googleAccessTokens({ mode: 'service_account', credentialsPath: file }, context);
    expect(await send(tokens)).toMatch(/the token service could not be asked/);
    expect(sent).toBeLessThan(2 ** 26);
    endless.close();
  });

  it.each([
    ['access tokens', (auth: FileAuth) => googleAccessTokens(auth, context)],
    [
      'ID tokens',
      (auth: FileAuth) => googleIdTokens({ ...auth, audience, header: 'authorization' }, context),
    ],
  ])('closes the connection to a silent token service after the timeout: %s', async (_, tokensOf) => {
    const silent = await silentService();
    await fakes.writeAccount(file, { token_uri: `http://${silent.host}/token` });
    expect(await send(tokensOf({ mode: 'service_account', credentialsPath: file }))).toMatch(
      /no answer came in time|could not be asked/,
    );
    await silent.closed;
  });
});
