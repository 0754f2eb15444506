import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import {
  startSimulatedUpstream,
  type SimulatedUpstream,
} from '../../interfaces/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';

const database = withDatabase();
const query = queries(database.url);
const key = aKey();
let upstream: SimulatedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  gateway = await startGateway(
    basicConfig(upstream.url, key, { route: { compatibility: { compat: { supports_stream_usage: true } } } }),
    database.url(),
  );
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});

const client = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 });

describe('the openai client, unmodified', () => {
  it('gets a whole completion, and its rows hold the exact cost', async () => {
    const completion = await client().chat.completions.create(
      { model: 'fast', messages: [{ role: 'user', content: 'Hello' }] },
      { headers: { 'x-request-id': 'whole-1' } },
    );
    expect(completion.choices[0]?.message.content).toContain('Hello');
    const [row] = await query('select * from usage_cost_events where request_id = $1', ['whole-1']);
    expect(row).toMatchObject({ pricing_status: 'priced', prompt_tokens: '5', completion_tokens: '17' });
    expect(row?.['cost_picousd']).toBe(String(5n * 150_000n + 17n * 600_000n));
    const [log] = await query('select * from request_logs where request_id = $1', ['whole-1']);
    expect(log).toMatchObject({
      status_code: 200,
      model_key: 'fast',
      exposed_tool_count: 0,
      invoked_tool_count: 0,
    });
  });
});
