import * as E from 'fp-ts/lib/Either.js';
import type { UpstreamCall } from '../../application/ports/upstream.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { textEmbeddings } from '../../infrastructure/providers/cloud-a/embeddings.ts';
import type { OutboundRequest } from '../../infrastructure/providers/provider.ts';
import { aRoute } from '../support/arbitraries/routing.ts';

const platform = { basePath: '/v1/projects/p/locations/us-central1', defaultHeaders: { 'X-Team': 'search' } };
export const dialect = textEmbeddings(platform, {
  sanitise: (message) => message.replaceAll('s3cret', '[…]'),
});

export const two = 'google/gemini-embedding-2';
export const one = 'google/gemini-embedding-001';
export const english = 'google/text-embedding-005';
export const multilingual = 'google/text-multilingual-embedding-002';
export const predictModels = [one, english, multilingual];
export const all = [two, ...predictModels];

export const call = (
  upstreamModel: string,
  body: object | string,
  extraBody: JsonObject = {},
): UpstreamCall => ({
  route: { ...aRoute(), upstreamModel, extraBody },
  family: 'embeddings',
  stream: false,
  body: typeof body === 'string' ? body : JSON.stringify({ model: upstreamModel, ...body }),
  answer: { id: 'embd-1', model: 'my-embeddings', createdSecs: 1 },
  betas: [],
});

export const encoded = (
  upstreamModel: string,
  body: object | string,
  extraBody?: JsonObject,
): readonly OutboundRequest[] => {
  const requests = dialect.encodeMany(call(upstreamModel, body, extraBody));
  if (E.isLeft(requests)) throw new Error(JSON.stringify(requests.left));
  return requests.right;
};
