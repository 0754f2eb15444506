import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { Pool } from 'undici';
import type { CloudBAuth } from '../../infrastructure/config/provider-auth.ts';
import { requestSigning, type Signing } from '../../infrastructure/providers/auth/sigv4.ts';
import type { OutboundRequest, WrittenRequest } from '../../infrastructure/providers/provider.ts';
import { pathSegment } from '../../infrastructure/providers/wire/path-segment.ts';
import { eventually } from '../e2e/traces.ts';
import {
  signatureFault,
  signatureOf,
  type SignedRequest,
  type Verifier,
} from '../support/signature-verifier.ts';
import { recordedContext } from '../support/credential-context.ts';

const published = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };

describe('the signature verifier', () => {
  const empty = createHash('sha256').update('').digest('hex');
  const base = {
    method: 'GET',
    path: '/',
    query: '',
    payloadHash: empty,
    date: '20150830T123600Z',
    scope: '20150830/us-east-1/service/aws4_request',
    headers: [
      ['host', 'example.amazonaws.com'],
      ['x-amz-date', '20150830T123600Z'],
    ] as const,
  };

  it.each([
    ['get-vanilla', {}, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['post-vanilla', { method: 'POST' }, '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
    [
      'get-vanilla-query-order-key-case',
      { query: 'Param2=value2&Param1=value1' },
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    [
      'the documented ListUsers request',
      {
        query: 'Action=ListUsers&Version=2010-05-08',
        scope: '20150830/us-east-1/iam/aws4_request',
        headers: [
          ['content-type', 'application/x-www-form-urlencoded; charset=utf-8'],
          ['host', 'iam.amazonaws.com'],
          ['x-amz-date', '20150830T123600Z'],
        ] as const,
      },
      '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    ],
  ])('computes the published signature of %s', (_, over, signature) => {
    expect(signatureOf(published.secret, { ...base, ...over })).toBe(signature);
  });
});

/** A service that answers with what is wrong with a request's signature; it checks what arrived on the socket. */
let url: URL;
let pool: Pool;
let received: SignedRequest | undefined;
let verifier: Verifier;
const server = createServer((request, response) => {
  void buffer(request).then((body) => {
    received = {
      method: request.method ?? '',
      target: request.url ?? '',
      rawHeaders: request.rawHeaders,
      body,
    };
    response.end(signatureFault(received, verifier) ?? 'good');
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  pool = new Pool(url.origin);
});

afterAll(async () => {
  await pool.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const { context, warnings, concealed, forget } = recordedContext();
beforeEach(forget);

const staticAuth = (sessionToken?: string): CloudBAuth => ({
  mode: 'static_credentials',
  accessKeyId: published.id,
  secretAccessKey: published.secret,
  sessionToken,
});

const region = 'us-east-1';
const signingOf = (over: Partial<Signing> = {}): Signing => ({
  region,
  service: 'bedrock',
  auth: staticAuth(),
  baseUrl: url,
  ...over,
});

const verifierOf = (over: Partial<Verifier> = {}): Verifier => ({
  region,
  service: 'bedrock',
  secretOf: (id) => (id === published.id ? { secret: published.secret } : undefined),
  ...over,
});

const request = (over: Partial<OutboundRequest> = {}): OutboundRequest => ({
  path: '/model/m/converse',
  headers: { 'content-type': 'application/json', accept: 'application/json', 'user-agent': 'model-gateway' },
  body: '{"a":"ä"}',
  ...over,
});

async function sign(signing: Signing, outbound: OutboundRequest): Promise<WrittenRequest> {
  const signed = await requestSigning(signing, context)(outbound);
  if ('_tag' in signed) {
    if (E.isLeft(signed)) throw new Error(JSON.stringify(signed.left));
    return signed.right;
  }
  return signed;
}

/** Sends a request as the gateway does, and returns the service's verdict. */
async function verdict(signing: Signing, outbound: OutboundRequest): Promise<string> {
  const { path, headers, body } = await sign(signing, outbound);
  const prefix = signing.baseUrl.pathname.replace(/\/$/, '');
  const answer = await pool.request({ method: 'POST', path: prefix + path, headers: { ...headers }, body });
  return answer.body.text();
}

const header = ({ rawHeaders }: SignedRequest, wanted: string): string | undefined =>
  rawHeaders.find((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === wanted);

const anyModelId = fc.oneof(
  fc.stringMatching(/^[\x21-\x7e]{1,60}$/),
  fc.constantFrom(
    'anthropic.claude-opus-4-6-v1:0',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-pro-v1:0',
    'arn:aws:bedrock:us-east-1::imported-model/a%2Fb',
    '../../x',
    '.',
    '..',
    'a/../b',
    'a//b',
    'a?b=c#d',
    "!'()*~_-.",
    '%',
    '%25',
  ),
);

/** The timers that stay real: only the clock is fake. */
const timersThatRun = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

const services = [
  ['runtime', 'bedrock', '/model/', '/converse'],
  ['endpointb', 'bedrock-mantle', '/openai/v1/', '/responses'],
] as const;

/** The signatures that versions of the signer before 5 made, which services have accepted for years. */
describe('request signing', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it.each([
    [
      'bedrock',
      '/model/m/converse',
      '{"a":"ä"}',
      undefined,
      '0c814dd4ebfd0b191cd821bf2f1a119e21bd420ae76fb0840f93af15c6efba00',
    ],
    [
      'bedrock',
      '/model/anthropic.claude-opus-4-6-v1%3A0/converse-stream',
      '',
      'session/token+=',
      '24629d247f3e8fda1421e64851f1f5ddbda48e6775af0b9153a9760713f38969',
    ],
    [
      'bedrock',
      '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Aimported-model%2Fa%252Fb/invoke',
      '{"text":"😀"}',
      undefined,
      '25c2658589471697c2c78dfc4766e4a36c124a91578c41fb793ec9eed703a7da',
    ],
    [
      'bedrock-mantle',
      '/openai/v1/responses',
      '{"a":1}',
      undefined,
      '51c8cf49fdd168d39cb098f0c9f5d31eeecfc429023f9b9e401bfdc9437a3196',
    ],
    [
      'bedrock-mantle',
      '/anthropic/v1/messages',
      String.raw`{"a":"\\u00e4 '()*!"}`,
      'session/token+=',
      'cd614a143d0cb84278e6d4677b808f6415e602569af7d5f175343c5571b35d7e',
    ],
  ] as const)('makes the known signature of %s %s', async (service, path, body, token, signature) => {
    jest.useFakeTimers({ now: Date.parse('2026-01-02T03:04:05Z'), doNotFake: [...timersThatRun] });
    const baseUrl = new URL('https://h.example.com');
    const auth = staticAuth(token);
    const { headers } = await sign(signingOf({ service, auth, baseUrl }), request({ path, body }));
    expect(headers['x-amz-date']).toBe('20260102T030405Z');
    expect(headers['authorization']?.split('Signature=')[1]).toBe(signature);
  });

  it('uses version 5 of the signer, which is maintained', () => {
    const named = createRequire(import.meta.url).resolve('@aws-sdk/signature-v4');
    const manifest = createRequire(named).resolve('@smithy/signature-v4/package.json');
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
    expect(version).toMatch(/^5\./);
  });
});

describe.each(services)('%s requests are signed as %s', (_, service, before, after) => {
  it('an independent verifier accepts the signature for any model id and body', async () => {
    verifier = verifierOf({
      service,
      secretOf: () => ({ secret: published.secret, token: 'session/token+=' }),
    });
    const auth = staticAuth('session/token+=');
    await fc.assert(
      fc.asyncProperty(anyModelId, fc.string({ unit: 'grapheme' }), async (modelId, text) => {
        const path = `${before}${pathSegment(modelId)}${after}`;
        const outbound = request({ path, body: JSON.stringify({ text }) });
        expect(await verdict(signingOf({ service, auth }), outbound)).toBe('good');
        expect(received?.target).toBe(path);
      }),
      { numRuns: 150 },
    );
  });

  it('the path of the endpoint before the routes of the service is signed too', async () => {
    verifier = verifierOf({ service });
    const baseUrl = new URL('/private/endpoint/', url);
    expect(await verdict(signingOf({ service, baseUrl }), request())).toBe('good');
    expect(received?.target).toBe('/private/endpoint/model/m/converse');
  });

  it('content type, host, date, body hash and session token are signed, and nothing else', async () => {
    verifier = verifierOf({ service });
    const names = async (auth: CloudBAuth): Promise<string | undefined> =>
      /SignedHeaders=([^,]+)/.exec(
        (await sign(signingOf({ service, auth }), request())).headers['authorization']!,
      )?.[1];
    expect(await names(staticAuth())).toBe('content-type;host;x-amz-content-sha256;x-amz-date');
    expect(await names(staticAuth('t'))).toBe(
      'content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token',
    );
  });

  it('extra headers never replace authentication', async () => {
    verifier = verifierOf({ service });
    const headers = {
      ...request().headers,
      authorization: 'Bearer x',
      host: 'elsewhere.example.com',
      'x-amz-date': '20150830T123600Z',
      'x-amz-security-token': 'other',
      'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
      'x-amzn-bedrock-guardrailidentifier': 'g',
    };
    expect(await verdict(signingOf({ service }), request({ headers }))).toBe('good');
    expect(header(received!, 'x-amzn-bedrock-guardrailidentifier')).toBe('g');
  });

  it('the service rejects a request that was changed, or signed for another time, service or secret', async () => {
    verifier = verifierOf({ service });
    const { path, headers, body } = await sign(signingOf({ service }), request());
    const ask = async (over: Partial<OutboundRequest>): Promise<string> => {
      const sent = { path, body, ...over, headers: { ...headers, ...over.headers } };
      return (await pool.request({ method: 'POST', ...sent })).body.text();
    };
    expect(await ask({})).toBe('good');
    expect(await ask({ path: '/model/n/converse' })).toBe('signature');
    expect(await ask({ body: '{}' })).toBe('body');
    expect(await ask({ headers: { 'content-type': 'text/plain' } })).toBe('signature');
    expect(await ask({ headers: { 'x-amz-target': 'x' } })).toBe('x-amz-target is not signed');
    verifier = verifierOf({ service, now: Date.now() + 600_000 });
    expect(await ask({})).toMatch(/^date/);
    verifier = verifierOf({ service: 'other' });
    expect(await ask({})).toMatch(/^scope/);
    verifier = verifierOf({ service, secretOf: () => ({ secret: 'other' }) });
    expect(await ask({})).toBe('signature');
  });
});

describe('headers with an underscore', () => {
  const headers = { 'content-type': 'application/json', x_snake_case: '1', 'x-kebab': '2' };

  it('are neither signed nor sent to endpointb, which drops them', async () => {
    verifier = verifierOf({ service: 'bedrock-mantle', drops: (name) => name.includes('_') });
    expect(await verdict(signingOf({ service: 'bedrock-mantle' }), request({ headers }))).toBe('good');
    expect(header(received!, 'x_snake_case')).toBeUndefined();
    expect(header(received!, 'x-kebab')).toBe('2');
  });

  it('are signed and sent to the runtime', async () => {
    verifier = verifierOf();
    expect(await verdict(signingOf(), request({ headers }))).toBe('good');
    expect(header(received!, 'x_snake_case')).toBe('1');
  });
});

describe('default_chain', () => {
  const variables = [
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    'AWS_EC2_METADATA_DISABLED',
    'AWS_CONFIG_FILE',
    'AWS_SHARED_CREDENTIALS_FILE',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
  ];
  let before: Record<string, string | undefined>;
  let asked: number;
  let mood: { delayMs?: number; status?: number; lifeMs: number; hangs?: () => void };
  const chainServer = createServer((_, response) => {
    asked += 1;
    const n = asked;
    if (mood.hangs !== undefined) return mood.hangs();
    setTimeout(() => {
      response.writeHead(mood.status ?? 200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          AccessKeyId: `ASIA${n}`,
          SecretAccessKey: `secret-${n}`,
          Token: `token-${n}`,
          Expiration: new Date(Date.now() + mood.lifeMs).toISOString(),
        }),
      );
    }, mood.delayMs ?? 0);
  });

  const connections = promisify(chainServer.getConnections.bind(chainServer));

  beforeAll(async () => {
    await new Promise<void>((resolve) => chainServer.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    chainServer.closeAllConnections();
    return new Promise((resolve) => chainServer.close(resolve));
  });

  beforeEach(() => {
    before = Object.fromEntries(variables.map((name) => [name, process.env[name]]));
    for (const name of variables) delete process.env[name];
    const { port } = chainServer.address() as AddressInfo;
    Object.assign(process.env, {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${port}/creds`,
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_CONFIG_FILE: '/nowhere',
      AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    });
    asked = 0;
    mood = { lifeMs: 3_600_000 };
    verifier = verifierOf({
      secretOf: (id) => {
        const n = id.replace('ASIA', '');
        return { secret: `secret-${n}`, token: `token-${n}` };
      },
    });
  });
  afterEach(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  const chained = { mode: 'default_chain' } as const;

  it('signs with the credentials that the chain finds, obtained once for all requests that wait', async () => {
    mood = { ...mood, delayMs: 50 };
    const authenticate = requestSigning(signingOf({ auth: chained }), context);
    const signed = await Promise.all(Array.from({ length: 200 }, async () => authenticate(request())));
    expect(asked).toBe(1);
    expect(signed.every((each) => '_tag' in each && E.isRight(each))).toBe(true);
    expect(concealed).toEqual(['secret-1', 'token-1']);
    expect(await verdict(signingOf({ auth: chained }), request())).toBe('good');
  });

  it('renews credentials that are about to expire, although the chain would still return them', async () => {
    mood = { lifeMs: 2000 };
    const authenticate = requestSigning(signingOf({ auth: chained }), context);
    const idNow = async (): Promise<string | undefined> => {
      const signed = (await authenticate(request())) as E.Right<OutboundRequest>;
      return /Credential=(\w+)/.exec(signed.right.headers['authorization']!)?.[1];
    };
    expect(await idNow()).toBe('ASIA1');
    mood = { lifeMs: 3_600_000 };
    await sleep(1600);
    await idNow();
    await eventually(async () => (await idNow()) === 'ASIA2' || undefined);
    await sleep(150);
    expect([await idNow(), asked]).toEqual(['ASIA2', 2]);
  });

  it('obtains credentials again after an attempt without an answer, which it neither waits for nor leaves open', async () => {
    const timeout = new AbortController();
    const limits = jest.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(timeout.signal);
    // The library itself warns of it.
    const warn = jest.spyOn(console, 'warn').mockReturnValue();
    // The time is over as soon as the service is asked, however slow the machine is.
    mood = { ...mood, hangs: () => timeout.abort() };
    const authenticate = requestSigning(signingOf({ auth: chained }), context);
    const answer = async () => (await authenticate(request())) as E.Either<unknown, OutboundRequest>;
    expect(E.isRight(await answer())).toBe(false);
    expect(asked).toBe(1);
    await eventually(async () => (await connections()) === 0 || undefined);
    mood = { lifeMs: mood.lifeMs };
    await eventually(async () => E.isRight(await answer()) || undefined);
    limits.mockRestore();
    warn.mockRestore();
  });

  it('fails with a clear message, without names or paths, where it finds no credentials', async () => {
    delete process.env['AWS_CONTAINER_CREDENTIALS_FULL_URI'];
    const answer = await requestSigning(signingOf({ auth: chained }), context)(request());
    expect(answer).toEqual(
      E.left({
        kind: 'protocol',
        message:
          'The gateway could not obtain credentials for the upstream: the default chain found no credentials (CredentialsProviderError).',
      }),
    );
    expect(warnings).toHaveLength(1);
  });

  it('uses the credentials of the environment variables', async () => {
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: 'ASIA7',
      AWS_SECRET_ACCESS_KEY: 'secret-7',
      AWS_SESSION_TOKEN: 'token-7',
    });
    expect(await verdict(signingOf({ auth: chained }), request())).toBe('good');
  });
});

it.each([
  ['a/b', 'a%2Fb'],
  ['v1:0', 'v1%3A0'],
  ['a%2Fb', 'a%252Fb'],
  ["!'()*", '%21%27%28%29%2A'],
  ['.', '%2E'],
  ['..', '%2E%2E'],
  ['...', '...'],
  ['a?b#c', 'a%3Fb%23c'],
])('the path segment %s is encoded as %s', (text, segment) => {
  expect(pathSegment(text)).toBe(segment);
});
