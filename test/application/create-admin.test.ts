import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { createAdmin, createFirstAdmin, isAdmin } from '../../application/admin/create-admin.ts';

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

  it('the first admin: nothing is checked or hashed if there is one', async () => {
    const { hashed, made, ports } = scene();
    const create = createFirstAdmin({ ...ports, admins: { ...ports.admins, exist: async () => true } });
    expect(await create({ email, password: 'short' })).toEqual(E.right(false));
    expect([hashed, made]).toEqual([[], []]);
  });
});

it.each([
  ['platform_admin', 'rare and long enough', true],
  ['platform_admin', 'another', false],
  ['user', 'rare and long enough', false],
] as const)(
  'the credentials of a %s with the password "%s" let an admin in: %s',
  async (role, password, does) => {
    const person = {
      userId: 'u',
      email,
      name: 'Root',
      role,
      passwordHash: 'hash of rare and long enough',
      secondFactor: undefined,
    };
    const ask = isAdmin({
      sessions: { personOf: async () => person },
      passwords: { verify: async (hash, given) => hash === `hash of ${given}` },
    });
    expect(await ask({ email, password })).toBe(does);
  },
);
