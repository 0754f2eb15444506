import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { Route } from '../../domain/routing/model.ts';
import type { ProviderConfig } from '../../infrastructure/config/provider-config.ts';
import { cloudB } from '../../infrastructure/providers/cloud-b/index.ts';
import { cloudRunCompat } from '../../infrastructure/providers/cloud-run-compat/index.ts';
import { ConnectionPool } from '../../infrastructure/providers/connection-pool.ts';
import { executor } from '../../infrastructure/providers/executor.ts';
import type { ConnectedProvider } from '../../infrastructure/providers/provider.ts';
import { aRoute } from '../support/arbitraries/routing.ts';
import { recordedContext } from '../support/credential-context.ts';
import { type GoogleFakes, startGoogleFakes } from '../support/google-fakes.ts';

const timeouts = { connectMs: 10_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 40_000 };
const sanitise = (words: string): string => words;
const before = { ...process.env };
const { context } = recordedContext();

let fakes: GoogleFakes;
let folder: string;
let server: Server;
let baseUrl: string;
/** What an upstream answers to credentials that it does not take. */
let refusal: { readonly status: number; readonly code: string };
/** The credentials that came, in order, and those of them that are taken. */
let came: string[] = [];
let taken: readonly string[] = [];

const credentialIn = ({ authorization = '' }: IncomingHttpHeaders): string =>
  /Credential=(\w+)/.exec(authorization)?.[1] ?? authorization.replace('Bearer ', '');

beforeAll(async () => {
  fakes = await startGoogleFakes();
  folder = await mkdtemp(path.join(tmpdir(), 'refused-credentials-'));
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, {
    GCE_METADATA_HOST: fakes.metadataHost,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: path.join(folder, 'credentials'),
  });
  server = createServer((request, response) => {
    request.resume();
    const credential = credentialIn(request.headers);
    came.push(credential);
    const isTaken = taken.includes(credential);
    response.writeHead(isTaken ? 500 : refusal.status, {
      'content-type': 'application/json',
      ...(!isTaken && { 'x-amzn-errortype': refusal.code }),
    });
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  for (const name of Object.keys(process.env))
    if (name.startsWith('AWS_') || name === 'GCE_METADATA_HOST') delete process.env[name];
  Object.assign(process.env, before);
  server.close();
  await fakes.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  came = [];
  taken = [];
});

const common = { id: 'p', pricingProviderId: 'p', defaultHeaders: {}, timeouts };

/** Calls a provider, one call after the other; what its answers are is of no interest. */
async function calls(provider: ConnectedProvider, times: number, route: Partial<Route> = {}) {
  const pools = new Map(provider.endpoints.map((each) => [each, new ConnectionPool(each.baseUrl, timeouts)]));
  const config: ProviderConfig = { ...common, kind: 'compat', baseUrl, auth: { mode: 'none' } };
  const upstream = executor(() => ({ config, provider, timeouts, sanitise, pools }));
  for (let call = 0; call < times; call += 1) {
    const prepared = upstream.prepare({
      route: aRoute(route),
      family: 'chat_completions',
      stream: false,
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }),
      answer: { id: 'chatcmpl-1', model: 'm', createdSecs: 7 },
      betas: [],
    });
    if (E.isLeft(prepared)) throw new Error(prepared.left.message);
    await prepared.right.begin({}, () => undefined).reply;
    await setImmediate();
  }
  await Promise.all([...pools.values()].map((pool) => pool.destroy()));
}

const rotate = (key: string): Promise<void> =>
  writeFile(
    path.join(folder, 'credentials'),
    `[default]\naws_access_key_id = ${key}\naws_secret_access_key = secret-of-${key}\n`,
  );

const signed = () =>
  cloudB.connect(
    {
      ...common,
      kind: 'cloud_b_platform',
      region: 'eu-west-1',
      auth: { mode: 'default_chain' },
      runtimeEndpointUrl: baseUrl,
      endpointbEndpointUrl: baseUrl,
    },
    { ...context, sanitise, digest: (text) => text },
  );
const converse = { compatibility: { cloud_b: { api_style: 'runtime_unified' } } };

it.each([
  ['ExpiredTokenException', 403, ['AKIAOLD', 'AKIANEW', 'AKIANEW']],
  ['InvalidClientTokenId', 403, ['AKIAOLD', 'AKIANEW', 'AKIANEW']],
  ['UnrecognizedClientException', 403, ['AKIAOLD', 'AKIANEW', 'AKIANEW']],
  ['', 401, ['AKIAOLD', 'AKIANEW', 'AKIANEW']],
  ['AccessDeniedException', 403, ['AKIAOLD', 'AKIAOLD', 'AKIAOLD']],
  ['ValidationException', 400, ['AKIAOLD', 'AKIAOLD', 'AKIAOLD']],
])('credentials that platform B refuses with `%s` (%i) are obtained anew: %j', async (code, status, sent) => {
  refusal = { status, code };
  taken = ['AKIANEW'];
  await rotate('AKIAOLD');
  const provider = signed();
  await calls(provider, 1, converse);
  await rotate('AKIANEW');
  await calls(provider, 2, converse);
  expect(came).toEqual(sent);
});

it('a token that a serverless service refuses is obtained anew by the next call, once in 30 seconds', async () => {
  refusal = { status: 401, code: '' };
  const provider = cloudRunCompat.connect(
    {
      ...common,
      kind: 'cloud_run_compat',
      baseUrl,
      auth: { mode: 'adc', audience: 'https://svc-x.a.run.app', header: 'authorization' },
    },
    { ...context, sanitise, digest: (text) => text },
  );
  await calls(provider, 4);
  expect(fakes.tokens).toHaveLength(2);
  const [first, second] = fakes.tokens;
  expect(came).toEqual([first, second, second, second]);
});
