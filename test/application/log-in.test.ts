import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { logIn } from '../../application/admin/log-in.ts';
import { loginVerifier } from '../../application/admin/proof.ts';
import type { LoginTries } from '../../domain/identity/login-throttle.ts';
import { eventually } from '../e2e/traces.ts';

const admin = {
  userId: 'id',
  email: 'root@example.com',
  name: 'R',
  role: 'platform_admin' as const,
  passwordHash: 'right',
};

/** Logins against accounts in memory, whose hashes take a millisecond. */
function accounts(pause: (ms: number) => Promise<void>) {
  const tries = new Map<string, number>();
  /** The hashed passwords, in order. */
  const hashed: string[] = [];
  let [hashing, most] = [0, 0];
  const counted = (key: string): number => {
    tries.set(key, (tries.get(key) ?? 0) + 1);
    return tries.get(key) ?? 0;
  };
  const begin = async (email: string, address: string): Promise<LoginTries> => ({
    here: counted(`${address} ${email}`),
    anywhere: counted(email),
    firstHereAt: 0,
    now: 0,
  });
  const verify = async (_hash: string | undefined, password: string): Promise<boolean> => {
    hashing += 1;
    most = Math.max(most, hashing);
    hashed.push(password);
    await sleep(1);
    hashing -= 1;
    return password === 'right';
  };
  const tokens = { create: () => 'token', digest: () => new Uint8Array() };
  const prove = loginVerifier({
    attempts: { begin, forget: async () => undefined },
    passwords: { verify, unseal: async (_password, sealed) => sealed },
    codes: { isCodeOf: () => false },
    sessions: { personOf: async () => admin },
    tokens,
    pause,
    passwordLogin: () => true,
  });
  const sessions = { open: async () => ({ createdAt: 0, lastSeenAt: 0, expiresAt: 1 }) };
  const attempt = logIn({ verifyLogin: prove, sessions, tokens });
  return { attempt, hashed, mostAtOnce: () => most };
}

const originOf = (network: number, host: number) => ({
  address: `198.${network}.0.${host}`,
  network: `198.${network}.0.0/24`,
  whenGone: () => undefined,
});

describe('a login during password guessing', () => {
  it('of an admin succeeds soon despite 200 attackers on 50 networks, also from a shared network', async () => {
    const { attempt, hashed, mostAtOnce } = accounts(async () => undefined);
    const flood = { over: false };
    const guess = async (n: number, account: number): Promise<void> => {
      const email = account === 0 ? admin.email : `nobody-${n}-${account}@example.com`;
      while (!flood.over) {
        await attempt({ email, password: 'wrong', ...originOf(n % 50, n) });
        await sleep(20);
      }
    };
    const attackers = Array.from({ length: 800 }, (_, n) => guess(n % 200, Math.floor(n / 200)));
    const hashesBefore = async (origin: ReturnType<typeof originOf>): Promise<number> => {
      const before = hashed.length;
      expect(E.isRight(await attempt({ email: admin.email, password: 'right', ...origin }))).toBe(true);
      return hashed.indexOf('right', before) - before;
    };
    try {
      // Each attacker has had a turn.
      await eventually(() => (hashed.length >= 250 ? true : undefined));
      expect(await hashesBefore(originOf(200, 1))).toBeLessThanOrEqual(10);
      expect(await hashesBefore(originOf(7, 250))).toBeLessThanOrEqual(60);
    } finally {
      flood.over = true;
      await Promise.all(attackers);
    }
    expect(mostAtOnce()).toBe(2);
  });

  it('is not held up by delayed logins', async () => {
    const resumed: (() => void)[] = [];
    const { attempt, hashed } = accounts((ms) => {
      expect(ms).toBeGreaterThan(0);
      return new Promise((resolve) => resumed.push(resolve));
    });
    const guesses = Array.from({ length: 200 }, (_, n) =>
      attempt({ email: admin.email, password: 'wrong', ...originOf(n % 50, n) }),
    );
    await eventually(() => (resumed.length === 195 ? true : undefined));
    const other = await attempt({ email: 'other@example.com', password: 'right', ...originOf(3, 3) });
    expect(E.isRight(other)).toBe(true);
    expect(hashed).toHaveLength(6);
    for (const resume of resumed) resume();
    for (const guessed of await Promise.all(guesses)) expect(E.isLeft(guessed)).toBe(true);
  });
});
