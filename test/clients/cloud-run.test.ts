import { expect, it } from '@jest/globals';
import { type APIError, InternalServerError } from 'openai';
import { type GoogleFakes, startGoogleFakes } from '../support/google-fakes.ts';
import { startServerless } from '../support/platform-a.ts';
import { describeMessages } from './platform-anthropic.ts';
import { describeChat, openAiClient } from './platform-openai.ts';
import { describeResponses } from './platform-openai-responses.ts';
import { chatStyleCodes, type PlatformRoute, platformScenario } from './platform-scenario.ts';
import { hello, reasonOf } from './scenario.ts';

const audience = 'https://svc-x.a.run.app';
const staleToken = 'an-id-token-of-another-service-0123456789';

const service: PlatformRoute = {
  id: 'service',
  provider: 'run',
  upstreamModel: 'served-model',
  // The deployed service supports no schemas, and reports usage in streams only on request. Messages callers
  // cannot request it, so the route does.
  route: {
    capabilities: { json_schema: false },
    compatibility: { compat: { supports_stream_usage: true } },
  },
  streams: true,
  schemas: false,
  native: false,
  hears: 'last',
  cachedPrompt: 100,
  codes: chatStyleCodes,
};

let fakes: GoogleFakes;

const scenario = platformScenario({
  routes: [service],
  models: [{ id: 'by-stale', routes: [{ provider: 'stale', upstream_model: 'served-model' }] }],
  start: async () => {
    fakes = await startGoogleFakes();
    process.env['GCE_METADATA_HOST'] = fakes.metadataHost;
    const server = await startServerless(fakes, audience);
    const provider = (id: string, auth: object) => ({
      id,
      type: 'cloud_run_compat',
      base_url: `${server.url}/v1`,
      auth,
    });
    return {
      servers: [server],
      providers: [
        provider('run', { mode: 'adc', audience }),
        provider('stale', { mode: 'bearer', token: staleToken }),
      ],
      secrets: () => [...fakes.tokens, staleToken],
      close: async () => {
        delete process.env['GCE_METADATA_HOST'];
        await server.close();
        await fakes.close();
      },
    };
  },
});

describeChat(scenario, service, undefined);
describeResponses(scenario, service);
describeMessages(scenario, service);

it('embeddings are returned in order if the deployed service exposes them', async () => {
  const { embeddings } = openAiClient(scenario);
  const answer = await embeddings.create({ model: 'service-plain', input: [hello, 'Good-bye'] });
  expect(answer.data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
    [0, 8],
    [1, 8],
  ]);
  expect(scenario.sent()).toMatchObject({ encoding_format: 'base64', model: 'served-model' });
});

it('a token that the service does not accept causes a 502 after one attempt', async () => {
  const body = { model: 'by-stale', messages: [{ role: 'user' as const, content: hello }] };
  const error = await reasonOf(openAiClient(scenario).chat.completions.create(body));
  const detail = 'The upstream answered with status 401.';
  expect(error).toBeInstanceOf(InternalServerError);
  expect(error).toMatchObject({ status: 502, code: 'upstream_error', error: { message: detail } });
  await scenario.expectFailed((error as APIError).requestID, 502, {
    status: 'provider_error',
    error_detail: detail,
  });
});

it('no token is stored in any table or log line', () => scenario.expectNoSecretKept());
