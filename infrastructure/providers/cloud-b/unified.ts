import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { parseExactObject } from '../../../domain/shared/json.ts';
import { andThen, seal } from '../../../domain/shared/stream-machine.ts';
import { outboundHeaders } from '../outbound-headers.ts';
import type { Dialect, ProviderContext } from '../provider.ts';
import { eventFrames } from '../wire/event-stream.ts';
import { pathSegment } from '../wire/path-segment.ts';
import { unifiedRequest } from './unified-request.ts';
import { unifiedCompletion } from './unified-response.ts';
import { unifiedStream } from './unified-stream.ts';

const eventStream = 'application/vnd.amazon.eventstream';

/** Chat completions over converse and converse-stream. Their streams consist of binary frames. */
export const unified = (
  defaultHeaders: Readonly<Record<string, string>>,
  { sanitise, digest }: ProviderContext,
): Dialect => ({
  encode: (call) =>
    pipe(
      unifiedRequest(parseExactObject(call.body), call, digest),
      E.map(({ body, notes }) => ({
        path: `/model/${pathSegment(call.route.upstreamModel)}/${call.stream ? 'converse-stream' : 'converse'}`,
        headers: outboundHeaders(defaultHeaders, call, eventStream),
        body: JSON.stringify(body),
        ...(notes === undefined ? {} : { notes }),
      })),
    ),
  decode: (body, { answer }) =>
    pipe(
      unifiedCompletion(body.toString('utf8'), answer, sanitise),
      E.map((value) => ({ value, text: JSON.stringify(value) })),
    ),
  events: (contentType, { answer }) =>
    contentType.startsWith(eventStream)
      ? andThen(eventFrames, seal(unifiedStream(answer, sanitise))).begin()
      : undefined,
});
