import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { WholeAnswer } from '../../../application/ports/upstream.ts';
import { deepMerge, parseExactObject } from '../../../domain/shared/json.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import { andThen, type Sealed, seal } from '../../../domain/shared/stream-machine.ts';
import { outboundHeaders } from '../outbound-headers.ts';
import type { Dialect, ProviderContext } from '../provider.ts';
import { pathSegment } from '../wire/path-segment.ts';
import { isEventStream, reportingSseFrames } from '../wire/sse.ts';
import { generateContentRequest } from './generate-content-request.ts';
import { generatedCompletion } from './generate-content-response.ts';
import { generateContentStream } from './generate-content-stream.ts';
import { jsonArrayFrames } from '../wire/json-array.ts';
import { publishedBy } from './publishers.ts';
import { readableBuckets } from './readable-buckets.ts';

/** Where the platform's models are, and which headers its configuration adds to each request. */
export interface PlatformAccess {
  /** `/v1/projects/{p}/locations/{l}`, relative to the endpoint's base URL. */
  readonly basePath: string;
  readonly defaultHeaders: Readonly<Record<string, string>>;
}

/** Chat completions over generate-content and stream-generate-content, which Google-published models use. */
export const generateContent = (
  { basePath, defaultHeaders }: PlatformAccess,
  { sanitise }: Pick<ProviderContext, 'sanitise'>,
): Dialect => ({
  encode: (call) => {
    const model = publishedBy('google', call.route) ?? '';
    const method = call.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
    return pipe(
      generateContentRequest(
        parseExactObject(call.body),
        model,
        readableBuckets(call.route.compatibility),
        call.translated,
      ),
      E.map((body) => ({
        path: `${basePath}/publishers/google/models/${pathSegment(model)}:${method}`,
        headers: outboundHeaders(defaultHeaders, call),
        body: JSON.stringify(deepMerge(body, call.route.extraBody)),
      })),
    );
  },
  decode: (body, { answer }) =>
    pipe(
      generatedCompletion(body.toString('utf8'), answer, sanitise),
      E.map((value): WholeAnswer => ({ value, text: JSON.stringify(value) })),
    ),
  events: (contentType, { answer }) => {
    const frames = framesOf(contentType, sanitise);
    return frames && andThen(frames, seal(generateContentStream(answer, sanitise))).begin();
  },
});

/** Reads event streams, and streams that arrive as one JSON array, as they do without `alt=sse`. */
function framesOf(
  contentType: string,
  sanitise: ProviderContext['sanitise'],
): Sealed<Buffer, TextFrame> | undefined {
  if (isEventStream(contentType)) return reportingSseFrames(sanitise);
  return contentType.startsWith('application/json') ? jsonArrayFrames : undefined;
}
