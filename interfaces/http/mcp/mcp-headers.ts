import type { IncomingMessage } from 'node:http';
import type { McpHeaders } from '../../../application/mcp/mcp-request.ts';
import { header } from '../request-context.ts';

/** A header value that is forwarded to a server must not be open to two interpretations. */
const visible = /^[\x20-\x7e]{1,8192}$/;

const visibleHeader = (req: IncomingMessage, name: string): string | undefined => {
  const value = header(req, name);
  return value !== undefined && visible.test(value) ? value : undefined;
};

/** Headers of 2026-07-28 that repeat parts of the body. */
const mirroredName = /^mcp-(?:method|name|param-[\w-]{1,128})$/;

/** The headers of the protocol. Other headers of a caller are not forwarded. */
export function mcpHeaders(req: IncomingMessage): McpHeaders {
  const mirrored: Record<string, string> = {};
  for (const [name, value] of Object.entries(req.headers))
    if (mirroredName.test(name) && typeof value === 'string' && visible.test(value)) mirrored[name] = value;
  return {
    protocolVersion: versionOf(header(req, 'mcp-protocol-version')),
    lastEventId: visibleHeader(req, 'last-event-id'),
    method: header(req, 'mcp-method'),
    name: decoded(header(req, 'mcp-name')),
    mirrored,
  };
}

const versionOf = (value: string | undefined): string | undefined =>
  value !== undefined && /^[\w.-]{1,32}$/.test(value) ? value : undefined;

/** `=?base64?…?=` encodes text that no header can hold. */
function decoded(value: string | undefined): string | undefined {
  const [, base64] = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(value ?? '') ?? [];
  return base64 === undefined ? value : Buffer.from(base64, 'base64').toString('utf8');
}
