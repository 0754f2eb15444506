// Shared by the ledger benches: their own database, the stores over it, and callers.
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import type { DatabasePool } from 'slonik';
import type { Ledger } from '../application/ports/ledger.ts';
import type { Caller } from '../domain/identity/caller.ts';
import { systemClock } from '../infrastructure/clock.ts';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';
import { oneDatabase } from '../infrastructure/postgres/ledger-place.ts';
import { gatewayProcess } from '../infrastructure/postgres/gateway-process.ts';
import { ledgerStore } from '../infrastructure/postgres/ledger-store.ts';
import { migrate } from '../infrastructure/postgres/migrate.ts';
import { type PayloadStore, payloadStore } from '../infrastructure/postgres/payload-store.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { root } from './processes.ts';
import { sweptFolder } from '../test/support/swept-folder.ts';

export interface LedgerScene {
  readonly url: string;
  readonly dataDir: string;
  readonly pool: DatabasePool;
  readonly ledger: Ledger;
  readonly payloads: PayloadStore;
  readonly close: () => Promise<void>;
}

export async function ledgerScene(): Promise<LedgerScene> {
  const folder = await sweptFolder('bench');
  const dataDir = path.join(folder, 'database');
  const database = await startEmbeddedPostgres({ dataDir });
  await migrate(database.url, path.join(root, 'migrations'), 'none');
  const pool = await openPool(database.url, 10);
  const onFault = (error: unknown): void => void process.stderr.write(`${String(error)}\n`);
  return {
    url: database.url,
    dataDir,
    pool,
    ledger: ledgerStore(pool, {
      closeOnBlock: () => false,
      mailReady: () => false,
      journal: async () => false,
      claimSeconds: () => 60,
      process: gatewayProcess(pool, { onWriting: () => undefined }),
      onFault: (_, error) => onFault(error),
    }),
    payloads: payloadStore(oneDatabase(pool), { onFault, onDefect: onFault }),
    close: async () => {
      await pool.end();
      await database.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** This many users, either with a hard budget that is checked at each request and never reached, or without one. */
export async function makeUsers(
  client: Client,
  count: number,
  prefix: string,
  isBudgeted: boolean,
): Promise<readonly Caller[]> {
  const clock = systemClock();
  const made: Caller[] = [];
  for (let index = 0; index < count; index += 1) {
    const { rows } = await client.query<{ user_id: string }>(
      `insert into users (email, name) values ($1, 'U') returning user_id`,
      [`${prefix}${index}@example.com`],
    );
    const userId = rows[0]?.user_id ?? '';
    if (isBudgeted)
      await client.query(
        `select gateway_set_budget($1, null, 'monthly', 9007199254740991, true, 'UTC', false, false)`,
        [userId],
      );
    const keyOwner = { kind: 'user', userId, requestLoggingEnabled: true } as const;
    made.push({ apiKeyId: clock.newId(), keyOwner, allowedModels: [] });
  }
  return made;
}
