import { argon2Sync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { argon2Passwords } from '../../infrastructure/passwords.ts';

const passwords = argon2Passwords();

describe('passwords', () => {
  it('are hashed with argon2id, 19 MiB, t = 2 and p = 1, in PHC format', async () => {
    const hash = await passwords.hash('correct horse');
    const [, salt = '', tag = ''] =
      /^\$argon2id\$v=19\$m=19456,t=2,p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/.exec(hash) ?? [];
    const again = argon2Sync('argon2id', {
      message: 'correct horse',
      nonce: Buffer.from(salt, 'base64'),
      memory: 19_456,
      passes: 2,
      parallelism: 1,
      tagLength: 32,
    });
    expect(again.toString('base64').replace('=', '')).toBe(tag);
  });

  it('that are equal have different hashes', async () => {
    expect(await passwords.hash('correct horse')).not.toBe(await passwords.hash('correct horse'));
  });

  it('match only a hash of the same text after Unicode normalisation, and never a missing hash', async () => {
    const hash = await passwords.hash('cafe\u0301');
    expect(await passwords.verify(hash, 'caf\u00e9')).toBe(true);
    for (const other of ['', 'cafe', 'CAFÉ', 'café ', 'café\0'])
      expect(await passwords.verify(hash, other)).toBe(false);
    expect(await passwords.verify(undefined, 'café')).toBe(false);
  });

  it('are hashed off the event loop, not all at once', async () => {
    const many = 8;
    const startedAt = performance.now();
    await passwords.hash('x');
    const one = performance.now() - startedAt;
    const hashing = async () => {
      let longest = 0;
      let last = performance.now();
      const ticks = setInterval(() => {
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
      }, 1);
      const ends: number[] = [];
      const from = performance.now();
      const work = Array.from({ length: many }, async () => {
        await passwords.verify(undefined, 'x');
        ends.push(performance.now() - from);
      });
      await Promise.all(work);
      clearInterval(ticks);
      // If all eight ran at once, they would end together.
      return { longest, spread: Math.max(...ends) / Math.min(...ends) };
    };
    let found = await hashing();
    // The machine may pause or delay one of them, so a failed measurement is repeated.
    for (let tries = 1; tries < 6 && (found.longest >= many * one || found.spread <= 2); tries += 1)
      found = await hashing();
    expect(found.longest).toBeLessThan(many * one);
    expect(found.spread).toBeGreaterThan(2);
  });

  it('throw a TypeError, which is not a mismatch, where the stored hash has another format or other parameters', async () => {
    for (const hash of [
      '',
      'plain',
      '$argon2id$v=19$m=8,t=1,p=1$AAAA$AAAA',
      '$argon2id$v=19$m=19456,t=2,p=1$$',
    ])
      await expect(passwords.verify(hash, 'x')).rejects.toThrow(TypeError);
  });
});
