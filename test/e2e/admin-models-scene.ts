import { afterAll, beforeAll } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';

export const root = '/api/v1/admin/models';
export const key = aKey();

const noText = { chat_completions: false, responses: false };

/** 1000 prompt tokens at 0.10 USD per million cost one unit of `amount_10000`. */
const usage = { 'x-simulate': 'prompt-tokens=1000&completion-tokens=0&total-tokens=1000' };

const config = (upstreamUrl: string): ConfigFile =>
  basicConfig(upstreamUrl, key, {
    more: {
      providers: [
        {
          id: 'up',
          type: 'compat',
          base_url: upstreamUrl,
          auth: { mode: 'bearer', token: 'upstream-token-0123456789' },
        },
        {
          id: 'cloud-a',
          type: 'cloud_a_platform',
          project_id: 'my-project',
          location: 'europe-west4',
          auth: { mode: 'bearer', token: 'platform-a-token-0123456789' },
        },
        {
          id: 'cloud-b',
          type: 'cloud_b_platform',
          region: 'us-east-1',
          pricing_provider_id: 'platform-b',
          auth: {
            mode: 'static_credentials',
            access_key_id: 'AKIDCANARY',
            secret_access_key: 'platform-b-secret-0123456789',
          },
        },
      ],
      models: [
        {
          id: 'fast',
          routes: [
            { provider: 'up', upstream_model: 'simulated-fast', priority: 200, extra_headers: usage },
            { provider: 'up', upstream_model: 'simulated-slow', priority: 100, extra_headers: usage },
            { provider: 'up', upstream_model: 'simulated-fast', enabled: false },
            {
              provider: 'up',
              upstream_model: 'simulated-fast?status=429&message=slow%20down',
              priority: 300,
            },
          ],
        },
        {
          id: 'org/vision:1',
          routes: [
            {
              provider: 'cloud-b',
              upstream_model: 'us.anthropic.claude-sonnet-4-6',
              capabilities: { responses: false, embeddings: false, json_schema: false, tools: false },
              compatibility: { cloud_b: { api_style: 'runtime_unified' } },
            },
            {
              provider: 'cloud-a',
              upstream_model: 'google/gemini-embedding-001',
              capabilities: { ...noText, stream: false, tools: false, json_schema: false },
            },
          ],
        },
        {
          id: 'vectors',
          routes: [
            { provider: 'up', upstream_model: 'simulated-fast', capabilities: noText, extra_headers: usage },
          ],
        },
        {
          id: 'answers',
          routes: [
            {
              provider: 'up',
              upstream_model: 'simulated-fast',
              capabilities: { chat_completions: false },
              extra_headers: usage,
            },
          ],
        },
      ],
      pricing: {
        overrides: [
          {
            provider: 'up',
            model: 'simulated-fast',
            input_usd_per_million: '0.10',
            output_usd_per_million: '2',
          },
        ],
      },
      users: [
        { email: 'a@example.com', name: 'A' },
        { email: 'quiet@example.com', name: 'Q', request_logging_enabled: false },
      ],
    },
  });

/** One gateway in front of the simulated upstream, and a logged-in admin. */
export function adminModelsScene() {
  const database = withDatabase();
  const query = queries(database.url);
  let upstream: SimulatedUpstream;
  let gateway: TestGateway;
  let client: AdminClient;
  beforeAll(async () => {
    upstream = await startSimulatedUpstream({ port: 0 });
    gateway = await startGateway(config(upstream.url), database.url());
    await makeAdmin(database.url());
    client = await adminClient(gateway.url);
  });
  afterAll(async () => {
    await gateway?.stop();
    await upstream?.close();
  });
  const admin: AdminClient = (...asked) => client(...asked);
  const userIdOf = async (email: string): Promise<string> =>
    (await query<{ user_id: string }>('select user_id from users where email = $1', [email]))[0]?.user_id ??
    '';
  return { query, admin, userIdOf, upstreamUrl: () => upstream.url, gateway: () => gateway };
}
