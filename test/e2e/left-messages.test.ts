import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { heldScene } from './held-scene.ts';
import { beginExchange } from './raw-http.ts';
import { chat, messages, type Talk } from './talk.ts';
import { eventually } from './traces.ts';

const key = aKey();

function config(upstreamUrl: string): ConfigFile {
  const { origin } = new URL(upstreamUrl);
  return basicConfig(upstreamUrl, key, {
    more: {
      providers: [
        {
          id: 'b',
          type: 'cloud_b_platform',
          region: 'us-east-1',
          runtime_endpoint_url: origin,
          endpointb_endpoint_url: origin,
          auth: {
            mode: 'static_credentials',
            access_key_id: 'AKIA0123456789ABCDEF',
            secret_access_key: 'a-secret-access-key-0123456789',
          },
        },
      ],
      pricing: {
        overrides: [
          { provider: 'b', model: 'm', input_usd_per_million: '0.15', output_usd_per_million: '0.60' },
        ],
      },
      models: [
        {
          id: 'fast',
          routes: [
            {
              provider: 'b',
              upstream_model: 'm',
              capabilities: { responses: false, json_schema: false, embeddings: false },
              compatibility: { cloud_b: { api_style: 'endpointb_messages' } },
            },
          ],
        },
      ],
    },
  });
}

const { gateway, upstream, finalTraceOf } = heldScene(config);

const event = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const usage = { input_tokens: 10, output_tokens: 1 };
const begun =
  event('message_start', {
    message: {
      id: 'm1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage,
    },
  }) +
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'piece' } });
const told =
  event('content_block_stop', { index: 0 }) +
  event('message_delta', {
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 500 },
  });

const priced = { pricing_status: 'priced', prompt_tokens: '10', completion_tokens: '500' };
const missing = { pricing_status: 'usage_missing', completion_tokens: null, cost_picousd: null };

const cases: readonly (readonly [string, Talk, string, string, object])[] = [
  ['only the placeholder, messages caller', messages, begun, 'piece', missing],
  ['only the placeholder, chat caller', chat, begun, 'piece', missing],
  ['the final usage, messages caller', messages, begun + told, 'message_delta', priced],
];

it.each(cases)(
  'after a client disconnect a messages stream without a hard budget is accounted by the usage so far: %s',
  async (_, talk, sent, until, row) => {
    const requestId = randomUUID();
    const socket = beginExchange(gateway().url, {
      path: talk.path,
      headers: [
        ['authorization', `Bearer ${key}`],
        ['content-type', 'application/json'],
        ['x-request-id', requestId],
      ],
      body: JSON.stringify({ ...talk.body(true), max_tokens: 64 }),
    });
    let text = '';
    socket.on('data', (piece: Buffer) => void (text += piece.toString()));
    const call = await upstream().next();
    call.head('stream');
    call.write(sent);
    await eventually(() => (text.includes(until) ? true : undefined));
    socket.destroy();
    const { logs, ledger } = await finalTraceOf(requestId);
    expect(logs).toMatchObject([{ status_code: 499, error_code: 'client_closed' }]);
    expect(ledger).toMatchObject([row]);
  },
);
