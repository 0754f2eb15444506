import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabasePool } from 'slonik';
import { newSession } from '../../domain/identity/admin-session.ts';
import { keysStore } from '../../infrastructure/postgres/keys-store.ts';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import {
  adminsStore,
  loginAttemptsStore,
  sessionStore,
} from '../../infrastructure/postgres/session-store.ts';
import { vouchedPeopleStore } from '../../infrastructure/postgres/sign-in-store.ts';
import { usersStore } from '../../infrastructure/postgres/users-store.ts';
import { withDatabase } from '../support/database.ts';
import { connected, withDatabaseName } from '../support/test-server.ts';

/** Its lower case differs from that of other locales: `ı` for `I`, `i` for `İ`. */
const turkish = "locale_provider icu icu_locale 'tr-TR'";
/** It lower-cases ASCII letters only. */
const plain = "locale_provider libc locale 'C'";

const base = withDatabase();
const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');

describe.each([
  ['Turkish', turkish],
  ['plain', plain],
])('in a database of a %s locale, an e-mail address', (_name, locale) => {
  const name = `gateway_locale_${randomBytes(8).toString('hex')}`;
  let pool: DatabasePool;

  beforeAll(async () => {
    await connected(base.url(), (client) =>
      client.query(`create database ${name} encoding 'UTF8' ${locale} template template0`),
    );
    const url = withDatabaseName(base.url(), name);
    await migrate(url, migrations, 'none');
    pool = await openPool(url, 4);
  });
  afterAll(async () => {
    await pool.end();
    await connected(base.url(), (client) => client.query(`drop database ${name} with (force)`));
  });

  const vouched = (email: string) =>
    vouchedPeopleStore(pool).admit({
      person: { email, name: email, isAdmin: false },
      createUser: true,
      tokenSha256: randomBytes(32),
      address: '127.0.0.1',
      session: newSession,
    });
  const personOf = (email: string) => sessionStore(pool).personOf(email);

  it.each([
    ['ADMIN@Example.com', 'admin@example.com'],
    ['info@example.com', 'INFO@EXAMPLE.COM'],
    ['ÄRGER@example.com', 'ärger@Example.com'],
    ['ΣΊΣΥΦΟΣ@example.com', 'σίσυφος@example.com'],
    ['ju\u0308rg@example.com', 'J\u00dcRG@example.com'],
  ])('is the same in any letter case and Unicode composition: %j and %j', async (made, typed) => {
    await adminsStore(pool).set(made, '$argon2id$x');
    const person = await personOf(typed);
    expect(person).toEqual(await personOf(made));
    expect(await vouched(typed)).toMatchObject({ kind: 'admitted', person: { userId: person!.userId } });
    const attempts = loginAttemptsStore(pool);
    expect((await attempts.begin(made, '127.0.0.1')).here).toBe(1);
    expect((await attempts.begin(typed, '127.0.0.1')).here).toBe(2);
    const filter = { email: typed, name: undefined, active: undefined, role: undefined, teamId: undefined };
    const { items } = await usersStore(pool).page(filter, { page: 1, pageSize: 10 });
    expect(items.map((user) => user.userId)).toEqual([person!.userId]);
  });

  it('differs from one with another letter (`ı` for `i`) that a provider vouches for', async () => {
    await adminsStore(pool).set('IRIS@example.com', '$argon2id$x');
    const iris = await personOf('iris@example.com');
    const other = await vouched('\u0131ris@example.com');
    expect(other).toMatchObject({ kind: 'admitted', person: { role: 'user' } });
    expect(other).not.toMatchObject({ person: { userId: iris!.userId } });
  });

  it('finds the owner of a key that is created from the command line, in any letter case', async () => {
    await adminsStore(pool).set('KIM@example.com', '$argon2id$x');
    const made = await keysStore(pool).create(
      {
        publicId: 'kim',
        secretSha256: randomBytes(32),
        name: 'kim',
        owner: { kind: 'user', email: 'KIM@EXAMPLE.COM' },
        allowedModels: [],
        expiresAt: undefined,
      },
      undefined,
    );
    expect(made.kind).toBe('done');
  });
});
