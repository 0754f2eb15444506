import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { McpSession, McpSessions, UpstreamSession } from '../../application/ports/mcp-sessions.ts';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import { isArray, isObject, isString, parseJson } from '../../domain/shared/json.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** The longest id, in characters: clients accept 16 KiB of headers, the gateway 32. */
const maxIdChars = 12 * 1024;

const notFound: Either<McpError, never> = E.left({
  code: 'session_not_found',
  message: 'There is no such session for this API key; begin another one with `initialize`.',
});

const noSecret: Either<McpError, never> = E.left({
  code: 'store_unavailable',
  message: 'The gateway cannot reach its database; the call was not made.',
});

const tooLong: Either<McpError, never> = E.left({
  code: 'upstream_protocol',
  message: 'The ids of the servers’ sessions are too long to be kept.',
});

/** The additional authenticated data of a session: it does not open with another API key or at another path. */
const boundTo = (apiKeyId: string, place: string): Buffer => Buffer.from(JSON.stringify([apiKeyId, place]));

/**
 * Sessions that are their own ids: sealed (AES-256-GCM) with the secret of the database, and bound to the API key that
 * they were made for and to their path.
 */
export function sealedSessions(
  secret: () => Promise<Buffer>,
  onFault: (error: unknown) => void,
): McpSessions {
  let sealing: { readonly secret: Buffer; readonly key: Buffer } | undefined;
  const keyOf = (root: Buffer): Buffer => {
    if (sealing?.secret !== root)
      sealing = { secret: root, key: Buffer.from(hkdfSync('sha256', root, '', 'mcp session', 32)) };
    return sealing.key;
  };
  const key = async (): Promise<Buffer | undefined> => {
    try {
      return keyOf(await secret());
    } catch (error) {
      onFault(error);
      return undefined;
    }
  };
  return {
    seal: async (apiKeyId, { place, upstream }) => {
      const sealKey = await key();
      if (sealKey === undefined) return noSecret;
      const nonce = randomBytes(nonceBytes);
      const seal = createCipheriv(cipher, sealKey, nonce).setAAD(boundTo(apiKeyId, place));
      const words = Buffer.concat([seal.update(wordsOf(upstream)), seal.final()]);
      const id = Buffer.concat([nonce, seal.getAuthTag(), words]).toString('base64url');
      return id.length > maxIdChars ? tooLong : E.right(id);
    },
    open: async (apiKeyId, place, id) => {
      if (id.length > maxIdChars || !/^[\w-]+$/.test(id)) return notFound;
      const bytes = Buffer.from(id, 'base64url');
      if (bytes.length <= nonceBytes + tagBytes) return notFound;
      const sealKey = await key();
      if (sealKey === undefined) return noSecret;
      return opened(sealKey, boundTo(apiKeyId, place), bytes, place);
    },
  };
}

const wordsOf = (upstream: McpSession['upstream']): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(upstream).map(([server, { id, revision }]) => [server, [id ?? null, revision ?? null]]),
    ),
  );

function opened(key: Buffer, bound: Buffer, bytes: Buffer, place: string): Either<McpError, McpSession> {
  const seal = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes));
  seal.setAAD(bound).setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  const words = E.tryCatch(
    () => Buffer.concat([seal.update(bytes.subarray(nonceBytes + tagBytes)), seal.final()]).toString(),
    () => 'not sealed by us',
  );
  const value = E.isRight(words) ? parseJson(words.right) : undefined;
  if (!isObject(value)) return notFound;
  const upstream: Record<string, UpstreamSession> = {};
  for (const [server, session] of Object.entries(value)) {
    const [id, revision] = isArray(session) ? session : [];
    upstream[server] = {
      id: isString(id) ? id : undefined,
      revision: isString(revision) ? revision : undefined,
    };
  }
  return E.right({ place, upstream });
}
