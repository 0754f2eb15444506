// Writes migrations/schema.sql: `npm run schema:dump`.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import { schemaDump } from './schema-dump.ts';
import { connected } from './test-server.ts';

const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
const folder = await mkdtemp(path.join(tmpdir(), 'gateway-schema-'));
const database = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database'), testing: true });
try {
  await migrate(database.url, migrations, 'none');
  await writeFile(path.join(migrations, 'schema.sql'), await connected(database.url, schemaDump));
} finally {
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
