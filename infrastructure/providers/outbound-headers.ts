import type { UpstreamCall } from '../../application/ports/upstream.ts';

const typesOf = { whole: 'application/json', stream: 'text/event-stream' } as const;

/**
 * The headers of every upstream request. The provider's default headers override them, and the route's `extra_headers`
 * override both; names are compared without case. `streamType` is the content type that a streamed call accepts.
 */
export function outboundHeaders(
  defaultHeaders: Readonly<Record<string, string>>,
  { route, stream }: Pick<UpstreamCall, 'route' | 'stream'>,
  streamType: string = typesOf.stream,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: stream ? streamType : typesOf.whole,
    'accept-encoding': 'identity',
    'user-agent': 'model-gateway',
  };
  for (const [name, value] of Object.entries(defaultHeaders)) headers[name.toLowerCase()] = value;
  for (const [name, value] of Object.entries(route.extraHeaders)) headers[name.toLowerCase()] = value;
  return headers;
}
