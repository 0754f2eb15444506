import type { UpstreamCall } from '../../application/ports/upstream.ts';

const typesOf = { whole: 'application/json', stream: 'text/event-stream' } as const;

/**
 * What every request carries. Later ones win: defaults of the provider, then of the route; names are compared without
 * case. `streamType` is what a streamed answer is to be.
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
