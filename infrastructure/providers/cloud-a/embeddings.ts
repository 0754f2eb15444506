import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { CallTerms } from '../../../application/ports/upstream.ts';
import { type EmbeddingModel, embeddingModel } from '../../../domain/embeddings/embedding-models.ts';
import {
  embeddingsList,
  type PlatformEmbedding,
  readPlatformEmbeddings,
} from '../../../domain/embeddings/platform-embeddings.ts';
import { readTextEmbeddings, type TextEmbeddings } from '../../../domain/embeddings/text-embeddings.ts';
import { invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { deepMerge, type JsonObject, parseExactObject, present } from '../../../domain/shared/json.ts';
import { type UpstreamFault, used } from '../../../domain/upstream/upstream-fault.ts';
import { outboundHeaders } from '../outbound-headers.ts';
import type { FanOutDialect, PartRequest, ProviderContext } from '../provider.ts';
import { pathSegment } from '../wire/path-segment.ts';
import type { PlatformAccess } from './generate-content.ts';
import { publishedBy } from './publishers.ts';

/** Text embeddings: as many predict or embed-content calls as the input needs, in the order of the input. */
export const textEmbeddings = (
  platform: PlatformAccess,
  { sanitise }: Pick<ProviderContext, 'sanitise'>,
): FanOutDialect => ({
  encodeMany: (call) => {
    const { upstreamModel } = call.route;
    const model = embeddingModel(upstreamModel);
    if (model === undefined)
      return E.left(
        invalidRequest(`\`${upstreamModel}\` is no text-embedding model of this platform.`, 'model'),
      );
    return pipe(
      readTextEmbeddings(parseExactObject(call.body), upstreamModel, model),
      E.map((asked) => requestsFor(asked, model, call, platform)),
    );
  },
  decodeMany: (parts, call) => {
    const method = embeddingModel(call.route.upstreamModel)?.method ?? 'predict';
    const embeddings: PlatformEmbedding[] = [];
    let fault: UpstreamFault | undefined;
    for (const { body, inputs } of parts) {
      const found = readPlatformEmbeddings(body.toString('utf8'), method, inputs, sanitise);
      if (E.isRight(found)) embeddings.push(...found.right);
      else fault ??= found.left;
    }
    const list = embeddingsList(embeddings, call.answer.model);
    if (fault === undefined) return E.right(list);
    return E.left({ ...fault, ...used(embeddings.length === 0 ? undefined : list.value['usage']) });
  },
});

function requestsFor(
  asked: TextEmbeddings,
  { method, textsPerCall }: EmbeddingModel,
  { route, stream }: CallTerms,
  { basePath, defaultHeaders }: PlatformAccess,
): readonly PartRequest[] {
  const model = publishedBy('google', route) ?? '';
  const path = `${basePath}/publishers/google/models/${pathSegment(model)}:${method}`;
  const headers = outboundHeaders(defaultHeaders, { route, stream });
  const calls = Math.ceil(asked.texts.length / textsPerCall);
  return Array.from({ length: calls }, (_, index) => {
    const texts = asked.texts.slice(index * textsPerCall, (index + 1) * textsPerCall);
    const body = bodyOf[method](texts, asked);
    return { path, headers, inputs: texts.length, body: JSON.stringify(deepMerge(body, route.extraBody)) };
  });
}

type Body = (texts: readonly string[], asked: TextEmbeddings) => JsonObject;

const predictBody: Body = (texts, { dimensions, taskType, title, autoTruncate }) => {
  const parameters = present({ outputDimensionality: dimensions, autoTruncate });
  return {
    instances: texts.map((content) => ({ content, ...present({ task_type: taskType, title }) })),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
  };
};

const embedContentBody: Body = (texts, { dimensions }) => ({
  content: { role: 'user', parts: texts.map((text) => ({ text })) },
  ...(dimensions === undefined ? {} : { embedContentConfig: { outputDimensionality: dimensions } }),
});

const bodyOf = {
  predict: predictBody,
  embedContent: embedContentBody,
} as const satisfies Record<EmbeddingModel['method'], Body>;
