import { header, idHeaders, type RequestContext } from './request-context.ts';
import { everyAnswer } from './send-json.ts';

/** What clients send; whatever else a browser app asks to send is its own business: no caller's header goes upstream. */
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

/** What clients read; the last one stands for the rate limits of upstreams, whatever they are called. */
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

/** The longest that any browser keeps a preflight's answer. */
const maxAgeSecs = '86400';

const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/**
 * Cross-origin answers to browser apps, whose origins are exact ones or `*` (rule 32.12). No
 * credentials: a browser has no key but what its app sends. Says whether the request was a preflight, which is answered
 * here; any other goes on, and its answer says who may read it.
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
    ...everyAnswer,
    ...idHeaders(context),
    vary: 'Origin, Access-Control-Request-Headers',
    'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
    'access-control-allow-headers': [...headers].join(', '),
    'access-control-max-age': maxAgeSecs,
  });
  context.res.end();
}
