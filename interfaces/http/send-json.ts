import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { endAfterBody } from './unread-body.ts';

/** On every answer: no content sniffing, no caching. */
export const commonHeaders = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' } as const;

const jsonHeaders = { ...commonHeaders, 'content-type': 'application/json; charset=utf-8' } as const;

/**
 * Sends a whole JSON answer. Head and plain ASCII text leave in one write. The encoding must be latin1, because the
 * head may hold bytes above ASCII (a caller's own request id), which UTF-8 would encode differently.
 */
export function sendJson(
  res: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  json: string | Uint8Array,
): void {
  const length = typeof json === 'string' ? Buffer.byteLength(json) : json.length;
  const early = !res.req.complete;
  const closes = early && (headers['connection'] === 'close' || offersUpgrade(res));
  res.writeHead(status, {
    ...(closes ? { connection: 'close' } : {}),
    ...headers,
    ...jsonHeaders,
    'content-length': length,
  });
  const body = typeof json === 'string' && length !== json.length ? Buffer.from(json) : json;
  if (closes) endAfterBody(res, body, 'latin1');
  else res.end(body, 'latin1');
}

/**
 * Java's client offers HTTP/2 with each request that is not encrypted. Node loses what follows the body of such a
 * request in the same piece: of a client that has its answer already, the next request (rule 33.54).
 */
const offersUpgrade = ({ req }: ServerResponse): boolean => req.headers.upgrade !== undefined;
