import { parseKey } from '../domain/identity/api-key.ts';
import { redactedRequest, redactedResponse } from '../domain/payload/payload.ts';
import { forCaller, redactionRules } from '../domain/payload/redact.ts';
import type { KeptPayload } from '../application/ports/payloads.ts';
import type { JsonObject } from '../domain/shared/json.ts';

const words =
  'the of and to in is that for it as was with be by on not he this are or his from at which but have an had they you were their one all we can her has there been if more when will would who so no out up what about into than them only some could time these two may then do first any my now such like our over man me even most made after also did many before must through back years where much your way well down should because each just those people how too little state good very make world still own see men work long get here between both life being under never day same another know while last might us great old year off come since against go came right used take three'.split(
    ' ',
  );

/** Text that compresses like prose, the same for the same seed. */
function prose(chars: number, seed: number): string {
  let state = seed + 1;
  let text = '';
  while (text.length < chars) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += `${words[(state >>> 8) % words.length]}${(state >>> 16) % 12 === 0 ? '.\n' : ' '}`;
  }
  return text.slice(0, chars);
}

const tool = (name: string, seed: number, scale: number): JsonObject => ({
  type: 'function',
  function: {
    name,
    description: prose(180 * scale, seed),
    parameters: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'Where.' },
        limit: { type: 'integer', minimum: 1 },
        recursive: { type: 'boolean' },
      },
      required: ['path'],
    },
  },
});

/** The request of an agent's turn: 4 KB at a scale of 1. */
const requestBody = (seed: number, scale: number): JsonObject => ({
  model: 'fast',
  temperature: 0.2,
  tools: [tool('read_file', seed, scale), tool('list_files', seed + 1, scale)],
  messages: [
    { role: 'system', content: prose(700 * scale, seed + 2) },
    { role: 'user', content: [{ type: 'text', text: prose(600 * scale, seed + 3) }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'call_0123456789abcdef',
          type: 'function',
          function: { name: 'read_file', arguments: '{"path":"src/main.ts","limit":200}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_0123456789abcdef', content: prose(1000 * scale, seed + 4) },
    { role: 'user', content: prose(400 * scale, seed + 5) },
  ],
});

/** Its answer, of the same size. */
const responseBody = (seed: number, scale: number): JsonObject => ({
  id: 'chatcmpl-0123456789abcdef0123456789abcdef',
  object: 'chat.completion',
  created: 1_760_000_000,
  model: 'simulated-fast',
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: prose(2700 * scale, seed),
        tool_calls: [
          {
            id: 'call_fedcba9876543210',
            type: 'function',
            function: {
              name: 'write_file',
              arguments: JSON.stringify({
                path: 'src/main.ts',
                content: prose(800 * scale, seed + 1),
                mode: 420,
              }),
            },
          },
        ],
      },
    },
  ],
  usage: { prompt_tokens: 900, completion_tokens: 800, total_tokens: 1700 },
});

const headers = (key: string) => ({
  host: 'gateway.example.com',
  connection: 'keep-alive',
  accept: 'application/json',
  'content-type': 'application/json',
  'user-agent': 'OpenAI/JS 7.55.0',
  'x-stainless-lang': 'js',
  'x-stainless-package-version': '7.55.0',
  'x-stainless-os': 'Linux',
  'x-stainless-arch': 'x64',
  'x-stainless-runtime': 'node',
  'x-stainless-retry-count': '0',
  authorization: `Bearer ${key}`,
  'x-forwarded-for': '203.0.113.7',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'content-length': '4096',
});

/** Credentials of a dozen providers, as in a configuration. */
const credentials = Array.from(
  { length: 12 },
  (_, index) => `sk-${((index + 1) * 0x1fedcba98765).toString(36).repeat(5)}`,
);
const key =
  'gwk_9f86d081884c7d659a2feaa0c55ad015.60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752';
const callerKey = [key, parseKey(key)?.secret ?? ''];

const rules = redactionRules(['body.metadata.*'], credentials);
const maxBytes = 65_536;

export interface Payloads {
  /** The payload of the request with this number, redacted as the gateway does it. */
  readonly of: (number: number) => KeptPayload;
  /** The average bytes of both bodies. */
  readonly bytes: number;
}

/** Bodies of 4 KB each at a scale of 1, as received. */
export function payloads(scale: number): Payloads {
  const samples = Array.from({ length: 32 }, (_, seed) => ({
    headers: headers(key),
    request: { text: JSON.stringify(requestBody(seed * 10, scale)), isParsed: true },
    response: JSON.stringify(responseBody(seed * 10 + 5, scale)),
  }));
  const bytes = samples.map(({ request, response }) => request.text.length + response.length);
  return {
    of: (number) => {
      const sample = samples[number % samples.length];
      const own = forCaller(rules, callerKey);
      return {
        request: redactedRequest(sample?.headers ?? {}, sample?.request, own, maxBytes),
        response: redactedResponse(sample?.response, own, maxBytes),
      };
    },
    bytes: Math.round(bytes.reduce((sum, each) => sum + each, 0) / bytes.length),
  };
}

/** The request to the bare proxy: 4 KB, with directives for an answer of the same size. */
export const proxiedBody = JSON.stringify({
  ...requestBody(0, 1),
  model: 'simulated-fast?tools=off&chunks=60&chunk-bytes=64',
});
