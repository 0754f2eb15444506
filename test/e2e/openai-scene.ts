import OpenAI from 'openai';
import { aKey, basicConfig } from '../support/gateway.ts';
import { simulatedScene } from './simulated-scene.ts';

export const key = aKey();
export const narrowKey = aKey();
export const poorKey = aKey();

/** A model whose upstream follows the directives; its price is that of `simulated-fast`. */
const behaving = (id: string, directives: string, route: object = {}) => ({
  id,
  routes: [
    {
      provider: 'up',
      upstream_model: 'simulated-fast',
      extra_headers: { 'x-simulate': directives },
      ...route,
    },
  ],
});

const models = [
  { id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast' }] },
  { id: 'unpriced', routes: [{ provider: 'up', upstream_model: 'simulated-other' }] },
  { id: 'same', routes: [{ provider: 'up', upstream_model: 'same' }] },
  behaving('tools', 'tools'),
  behaving('parallel', 'parallel-tools'),
  behaving('reasoning', 'reasoning'),
  behaving('endless', 'chunk-delay-ms=20&chunks=1000&usage=last'),
  behaving('digits', 'digits'),
  behaving('refuses', 'status=400&message=The messages are too long.'),
  behaving('unknown-there', 'status=404&message=There is no such deployment.'),
  behaving('limited', 'status=429&retry-after=7&message=Slow down.'),
  behaving('our-fault', 'status=401&message=Incorrect API key provided: upstream-token-0123456789'),
  behaving('fails', 'status=500'),
  behaving('away', 'status=503'),
  behaving('breaks', 'error-at=2&message=The model fell over.'),
  behaving('cut', 'break=2'),
  behaving('adapted', '', {
    extra_headers: { 'X-Tenant': 'gateway', authorization2: 'kept' },
    extra_body: {
      metadata: { team: 'platform', nested: { limit: 2 } },
      stop: ['END'],
      temperature: null,
      user: 'gateway',
    },
  }),
];

export const idHeader = (requestId: string) => ({ headers: { 'x-request-id': requestId } });
export const hello = [{ role: 'user' as const, content: 'Hello' }];
export const costOf = (usage: OpenAI.CompletionUsage | null | undefined): string =>
  String(BigInt(usage?.prompt_tokens ?? 0) * 150_000n + BigInt(usage?.completion_tokens ?? 0) * 600_000n);

export const tools: OpenAI.ChatCompletionTool[] = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: {
    name,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
    },
  },
}));

/** A gateway with a model for each upstream behaviour, and the official client. */
export function openaiScene() {
  const scene = simulatedScene((url) =>
    basicConfig(url, key, {
      more: {
        models,
        users: [
          { email: 'a@example.com', name: 'A' },
          {
            email: 'poor@example.com',
            name: 'Poor',
            budget: { cadence: 'daily', amount_10000: 0, hard_limit: true },
          },
        ],
        api_keys: [
          { name: 'dev', owner: 'user:a@example.com', value: key },
          { name: 'narrow', owner: 'user:a@example.com', value: narrowKey, allowed_models: ['tools'] },
          { name: 'poor', owner: 'user:poor@example.com', value: poorKey },
        ],
      },
    }),
  );
  const client = (apiKey = key) =>
    new OpenAI({ baseURL: `${scene.gateway().url}/v1`, apiKey, maxRetries: 0 });
  return { ...scene, client };
}
