import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { McpSession } from '../../application/ports/mcp-sessions.ts';
import { sealedSessions } from '../../infrastructure/mcp/sealed-sessions.ts';

const secret = randomBytes(32);
const of = (root: Buffer) =>
  sealedSessions(
    async () => root,
    (error) => {
      throw error;
    },
  );
const sessions = of(secret);
const session: McpSession = {
  place: 'docs',
  upstream: { docs: { id: 's-1', revision: '2025-06-18' }, files: { id: undefined, revision: undefined } },
};

async function sealed(made = session): Promise<string> {
  const id = await sessions.seal('key', made);
  if (E.isLeft(id)) throw new Error(id.left.message);
  return id.right;
}
const isNotFound = { _tag: 'Left', left: { code: 'session_not_found' } };

describe('a sealed session', () => {
  it('is opened by any process with the same secret, for its key and its path alone', async () => {
    const id = await sealed();
    expect(await of(Buffer.from(secret)).open('key', 'docs', id)).toEqual(E.right(session));
    expect(await sessions.open('other', 'docs', id)).toMatchObject(isNotFound);
    expect(await sessions.open('key', 'files', id)).toMatchObject(isNotFound);
    expect(await of(randomBytes(32)).open('key', 'docs', id)).toMatchObject(isNotFound);
  });

  it('that an earlier release made is opened by later ones, which run beside it during a roll-out', async () => {
    const id = 'AXcXAagUI1VPim5eJNWfadEyAvGMk0dujVF_UOnvyaEo-dq5XhE6UGh9sHnjfZS-eg';
    expect(await of(Buffer.alloc(32)).open('key', 'docs', id)).toEqual(
      E.right({ place: 'docs', upstream: { docs: { id: 's-1', revision: undefined } } }),
    );
  });

  it('shows nothing of what it stands for, and is another id each time', async () => {
    const id = await sealed();
    expect(Buffer.from(id, 'base64url').toString('latin1')).not.toContain('s-1');
    expect(await sealed()).not.toBe(id);
  });

  it('is not found if any of its characters is another one, is missing or was added', async () => {
    const id = await sealed();
    const changed = Array.from(
      id,
      (each, at) => id.slice(0, at) + (each === 'A' ? 'B' : 'A') + id.slice(at + 1),
    );
    const cut = Array.from(id, (_, at) => id.slice(0, at));
    // The last character may hold bits that are not part of a byte.
    for (const other of [...changed.slice(0, -1), ...cut.slice(0, -1), `${id}AAAA`, `${id}.`, ` ${id}`])
      expect(await sessions.open('key', 'docs', other)).toMatchObject(isNotFound);
  });

  it('has an id of at most 12 KiB', async () => {
    const withId = (chars: number): McpSession => ({
      place: 'docs',
      upstream: { docs: { id: 's'.repeat(chars), revision: undefined } },
    });
    // Three bytes are four characters: the nonce, the tag, and what is written around the id of the server.
    const chars = (12 * 1024 * 3) / 4 - 28 - '{"docs":["",null]}'.length;
    const id = await sealed(withId(chars));
    expect(id).toHaveLength(12 * 1024);
    expect(await sessions.open('key', 'docs', id)).toEqual(E.right(withId(chars)));
    expect(await sessions.seal('key', withId(chars + 1))).toMatchObject({
      left: { code: 'upstream_protocol' },
    });
  });

  it('is neither made nor opened while the secret cannot be read', async () => {
    const faults: unknown[] = [];
    const fault = new Error('away');
    const away = sealedSessions(
      async () => {
        throw fault;
      },
      (error) => void faults.push(error),
    );
    const unavailable = { _tag: 'Left', left: { code: 'store_unavailable' } };
    expect(await away.seal('key', session)).toMatchObject(unavailable);
    expect(await away.open('key', 'docs', await sealed())).toMatchObject(unavailable);
    expect(faults).toEqual([fault, fault]);
  });
});
