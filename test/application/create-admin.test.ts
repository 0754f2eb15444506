import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { createAdmin, createFirstAdmin } from '../../application/admin/create-admin.ts';

const email = 'root@example.com';

/** Admins in memory, and the number of hashed passwords. */
function scene() {
  const hashed: string[] = [];
  const made: string[] = [];
  const ports = {
    admins: {
      exist: async () => false,
      set: async (who: string) => void made.push(who),
      setFirst: async (who: string) => made.push(who) > 0,
    },
    passwords: {
      hash: async (password: string) => `hash ${hashed.push(password)}`,
      isCommon: async (password: string) => password.startsWith('common'),
    },
  };
  return { hashed, made, ports };
}

describe('creating an admin', () => {
  it.each([
    ['admin create', createAdmin],
    ['the first admin', createFirstAdmin],
  ] as const)('%s: a common password is rejected before it is hashed', async (_, create) => {
    const { hashed, made, ports } = scene();
    const refused = await create(ports)({ email, password: 'common and long' });
    expect(refused).toEqual(E.left(expect.stringContaining('guessed first')));
    expect([hashed, made]).toEqual([[], []]);
    const done: { readonly _tag: string } = await create(ports)({ email, password: 'rare and long enough' });
    expect(done._tag).toBe('Right');
    expect(made).toEqual([email]);
  });
});
