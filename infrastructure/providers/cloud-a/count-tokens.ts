import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { deepMerge, only, parseExactObject } from '../../../domain/shared/json.ts';
import { readCount } from '../messages-body/counted.ts';
import { outboundHeaders } from '../outbound-headers.ts';
import type { Dialect, ProviderContext } from '../provider.ts';
import { pathSegment } from '../wire/path-segment.ts';
import type { PlatformAccess } from './generate-content.ts';
import { generateContentRequest } from './generate-content-request.ts';
import { publishedBy } from './publishers.ts';
import { readableBuckets } from './readable-buckets.ts';

/**
 * The members of a generate-content body that `countTokens` takes:
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/count-tokens
 */
const countedMembers: ReadonlySet<string> = new Set([
  'systemInstruction',
  'contents',
  'tools',
  'generationConfig',
]);

/** Counts the tokens of the generate-content body to which a messages body is translated, by way of chat. */
export const countGenerateContent = (
  { basePath, defaultHeaders }: PlatformAccess,
  { sanitise }: Pick<ProviderContext, 'sanitise'>,
): Dialect => ({
  encode: (call) => {
    const model = publishedBy('google', call.route) ?? '';
    const buckets = readableBuckets(call.route.compatibility);
    return pipe(
      generateContentRequest(parseExactObject(call.body), model, buckets, true),
      E.map((body) => ({
        path: `${basePath}/publishers/google/models/${pathSegment(model)}:countTokens`,
        headers: outboundHeaders(defaultHeaders, call),
        body: JSON.stringify(only(deepMerge(body, call.route.extraBody), countedMembers)),
      })),
    );
  },
  decode: (body) => readCount(body, 'totalTokens', sanitise),
});
