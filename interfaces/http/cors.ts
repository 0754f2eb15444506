import { header, idHeaders, type RequestContext } from './request-context.ts';
import { commonHeaders } from './send-json.ts';

/**
 * Headers that known clients send. Any other header that a browser app asks for is allowed too, since it is not
 * forwarded upstream.
 */
const allowedHeaders = [
  'authorization',
  'x-api-key',
  'content-type',
  'anthropic-version',
  'anthropic-beta',
  'anthropic-dangerous-direct-browser-access',
  'openai-organization',
  'openai-project',
  'x-request-id',
  'x-gateway-service',
  'x-gateway-component',
  'x-gateway-env',
  'x-gateway-tags',
  'x-stainless-arch',
  'x-stainless-lang',
  'x-stainless-os',
  'x-stainless-package-version',
  'x-stainless-retry-count',
  'x-stainless-runtime',
  'x-stainless-runtime-version',
  'x-stainless-timeout',
  'traceparent',
  'tracestate',
  'mcp-session-id',
  'mcp-protocol-version',
  'last-event-id',
] as const;

/** Headers that clients read. `*` stands for the rate limit headers of upstreams, whatever their names. */
const exposedHeaders = [
  'x-request-id',
  'request-id',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'x-gateway-error',
  'x-gateway-budget-resets-at',
  'mcp-session-id',
  '*',
] as const;

/** The longest time that any browser caches a preflight response. */
const maxAgeSecs = '86400';

const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/**
 * Cross-origin headers for browser apps, whose origins are configured exactly or as `*` (rule 32.12). Credentials are
 * not allowed: a browser has no key but the one its app sends. Returns whether the request was a preflight, which is
 * answered here; any other request continues, with headers that say who may read the answer.
 */
export const crossOrigin =
  (origins: () => readonly string[]) =>
  (context: RequestContext): boolean => {
    const allowed = origins();
    if (allowed.length === 0) return false;
    const { req, res } = context;
    res.setHeader('vary', 'Origin');
    const origin = header(req, 'origin');
    const allowedOrigin = allowed.find((each) => each === '*') ?? allowed.find((each) => each === origin);
    if (origin === undefined || allowedOrigin === undefined) return false;
    res.setHeader('access-control-allow-origin', allowedOrigin);
    if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined) {
      answerPreflight(context);
      return true;
    }
    res.setHeader('access-control-expose-headers', exposedHeaders.join(', '));
    return false;
  };

function answerPreflight(context: RequestContext): void {
  const asked = header(context.req, 'access-control-request-headers') ?? '';
  const names = asked.split(',').map((name) => name.trim().toLowerCase());
  const headers = new Set([...allowedHeaders, ...names.filter((name) => token.test(name))]);
  context.res.writeHead(204, {
    ...commonHeaders,
    ...idHeaders(context),
    vary: 'Origin, Access-Control-Request-Headers',
    'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
    'access-control-allow-headers': [...headers].join(', '),
    'access-control-max-age': maxAgeSecs,
  });
  context.res.end();
}
