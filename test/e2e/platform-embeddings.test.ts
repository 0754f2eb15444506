import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as jsonOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { type Aftermath, aftermaths } from '../recordings/aftermath.ts';
import { withDatabase } from '../support/database.ts';
import { toUsd } from '../../domain/money/money.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { type GoogleFakes, startGoogleFakes } from '../support/google-fakes.ts';

const models = [
  'gemini-embedding-2',
  'gemini-embedding-001',
  'text-embedding-005',
  'text-multilingual-embedding-002',
];

interface PlatformBody {
  readonly instances?: readonly { readonly content: string }[];
  readonly content?: { readonly parts: readonly { readonly text: string }[] };
}

/** The platform: a text `n` has the vector `[n, 0.10]`; calls take random times, so their order changes. */
const calls: { readonly path: string; readonly texts: readonly string[] }[] = [];
let under = 0;
let most = 0;
let failing: string | undefined;
let withoutUsage = false;
let fakes: GoogleFakes;
const platform = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    const body = (await jsonOf(request)) as PlatformBody;
    const path = request.url ?? '';
    const texts = body.instances?.map(({ content }) => content) ?? [body.content?.parts[0]?.text ?? ''];
    calls.push({ path, texts });
    under += 1;
    most = Math.max(most, under);
    await sleep(texts.includes(failing ?? ' ') ? 200 : Math.random() * 20);
    under -= 1;
    const known = fakes.tokens.includes(String(request.headers.authorization).replace('Bearer ', ''));
    const [status, text] = known ? said(path, texts) : [401, '{"error":{"message":"No access."}}'];
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' }).end(text);
  };
  void answer();
});

function said(path: string, texts: readonly string[]): readonly [status: number, text: string] {
  if (texts.includes(failing ?? ' '))
    return [429, '[{"error":{"code":429,"message":"Quota exceeded.","status":"RESOURCE_EXHAUSTED"}}]'];
  const count = withoutUsage ? '' : '"token_count":2,';
  const prediction = (text: string) =>
    `{"embeddings":{"statistics":{${count}"truncated":false},"values":[\n ${text},\n 0.10]}}`;
  const most = path.includes('/text-') ? 5 : 1;
  if (path.endsWith(':predict') && texts.length <= most)
    return [200, `{"predictions":[${texts.map(prediction).join(',')}]}`];
  const usage = withoutUsage ? '' : ',"usageMetadata":{"promptTokenCount":2}';
  if (path.endsWith('/gemini-embedding-2:embedContent'))
    return [200, `{"embedding":{"values":[${texts[0]},0.10]}${usage}}`];
  return [400, '{"error":{"message":"Too many instances."}}'];
}

const database = withDatabase();
const query = queries(database.url);
const key = aKey();
let gateway: TestGateway;

beforeAll(async () => {
  fakes = await startGoogleFakes();
  process.env['GCE_METADATA_HOST'] = fakes.metadataHost;
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
  const apiHost = `http://127.0.0.1:${(platform.address() as AddressInfo).port}`;
  const capabilities = {
    chat_completions: false,
    responses: false,
    stream: false,
    tools: false,
    vision: false,
    json_schema: false,
    embeddings: true,
  };
  gateway = await startGateway(
    {
      ...basicConfig('http://127.0.0.1:1', key),
      providers: [
        { id: 'a', type: 'cloud_a_platform', project_id: 'p', location: 'us-central1', api_host: apiHost },
      ],
      models: models.map((id) => ({
        id,
        routes: [{ provider: 'a', upstream_model: `google/${id}`, capabilities }],
      })),
      pricing: {
        overrides: models.map((id) => ({
          provider: 'a',
          model: `google/${id}`,
          input_usd_per_million: '0.15',
          output_usd_per_million: '0',
        })),
      },
    },
    database.url(),
  );
});
afterAll(async () => {
  await gateway?.stop();
  delete process.env['GCE_METADATA_HOST'];
  await fakes?.close();
  platform.closeAllConnections();
  await new Promise((resolve) => platform.close(resolve));
});
beforeEach(() => {
  calls.length = 0;
  most = 0;
  failing = undefined;
  withoutUsage = false;
});

async function embed(
  body: object,
): Promise<{ status: number; headers: Headers; text: string; after: Aftermath }> {
  const requestId = randomUUID();
  const response = await fetch(`${gateway.url}/v1/embeddings`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-request-id': requestId,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const after = await aftermaths(query, () => gateway.log.lines)(requestId);
  return { status: response.status, headers: response.headers, text, after };
}

const numbers = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => String(index));

describe.each(models)('%s', (model) => {
  it('returns N embeddings for N inputs in request order, every digit kept, with one attempt and one priced row', async () => {
    const { status, text, after } = await embed({ model, input: numbers(23) });
    const data = numbers(23).map(
      (each) => `{"object":"embedding","index":${each},"embedding":[${each},0.10]}`,
    );
    const usage = '{"prompt_tokens":46,"total_tokens":46}';
    expect([status, text]).toEqual([
      200,
      `{"object":"list","data":[${data.join(',')}],"model":"${model}","usage":${usage}}`,
    ]);
    expect(after.attempts).toHaveLength(1);
    expect(after.ledger).toMatchObject([
      {
        pricing_status: 'priced',
        prompt_tokens: '46',
        completion_tokens: '0',
        cost_picousd: String(46n * 150_000n),
      },
    ]);
    expect(calls.flatMap(({ texts }) => texts).toSorted()).toEqual(numbers(23).toSorted());
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(8);
  });

  it('returns one embedding for a string', async () => {
    const { text } = await embed({ model, input: '7', encoding_format: 'float' });
    expect(JSON.parse(text)).toMatchObject({
      data: [{ index: 0, embedding: [7, 0.1] }],
      usage: { prompt_tokens: 2 },
    });
    expect(calls).toHaveLength(1);
  });

  it('infers no usage if the platform reports none: the ledger row is `usage_missing`', async () => {
    withoutUsage = true;
    const { text, after } = await embed({ model, input: numbers(3) });
    expect(JSON.parse(text)).not.toHaveProperty('usage');
    expect(after.ledger).toMatchObject([{ pricing_status: 'usage_missing', prompt_tokens: null }]);
  });

  it('fails the request with the platform’s status and message if one call fails, and logs the cost as unbilled', async () => {
    failing = '22';
    const { status, headers, text, after } = await embed({ model, input: numbers(23) });
    expect([status, headers.get('retry-after')]).toEqual([429, '7']);
    expect(JSON.parse(text)).toMatchObject({
      error: { code: 'RESOURCE_EXHAUSTED', message: 'Quota exceeded.' },
    });
    expect([after.attempts.length, after.ledger]).toEqual([1, []]);
    // All other calls have ended by then, with two tokens for each text.
    const used = 2 * (23 - (model.startsWith('text-') ? 3 : 1));
    expect(after.logs).toMatchObject([
      {
        prompt_tokens: String(used),
        metadata_json: { accounting: { unbilled_cost_usd: toUsd(BigInt(used) * 150_000n) } },
      },
    ]);
  });

  it.each([
    ['tokens', { input: [1, 2] }, 'input[0]'],
    ['base64', { input: 'x', encoding_format: 'base64' }, 'encoding_format'],
    ['too many dimensions', { input: 'x', dimensions: 4096 }, 'dimensions'],
    ['conflicting aliases', { input: 'x', dimensions: 8, outputDimensionality: 9 }, 'outputDimensionality'],
  ])('rejects a request locally, with zero attempts: %s', async (_, body, param) => {
    const { status, text, after } = await embed({ model, ...body });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'invalid_request', param } });
    expect([calls, after.attempts, after.ledger]).toEqual([[], [], []]);
  });
});

describe('the official SDK', () => {
  const client = (): OpenAI => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 });

  it('receives floats if it requests `float`', async () => {
    const { data, usage } = await client().embeddings.create({
      model: 'text-embedding-005',
      input: ['3', '4'],
      encoding_format: 'float',
    });
    expect(data.map(({ embedding }) => embedding)).toEqual([
      [3, 0.1],
      [4, 0.1],
    ]);
    expect(usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
  });

  it('requests base64 by default, which is refused with an error that names the fix', async () => {
    const asked = client().embeddings.create({ model: 'text-embedding-005', input: 'Hi' });
    await expect(asked).rejects.toMatchObject({
      status: 400,
      param: 'encoding_format',
      message: expect.stringContaining('encoding_format: "float"'),
    });
  });
});
