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
  res.writeHead(status, {
    ...headers,
    ...jsonHeaders,
    'content-length': length,
  });
  const body = typeof json === 'string' && length !== json.length ? Buffer.from(json) : json;
  if (headers['connection'] === 'close' && !res.req.complete) endAfterBody(res, body, 'latin1');
  else res.end(body, 'latin1');
}
