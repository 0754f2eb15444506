import path from 'node:path';
import { nodeUrl } from '../../infrastructure/postgres/citus/node-url.ts';
import { shardSchema } from '../../infrastructure/postgres/citus/shard-functions.ts';
import { leadingTable } from '../../infrastructure/postgres/citus/tables.ts';
import { migrate } from '../../infrastructure/postgres/migrate.ts';
import { connected, withDatabaseName } from './test-server.ts';

/**
 * The environment variable that has the suites run on a Citus cluster: URLs of a superuser at its nodes, the
 * coordinator's first, with commas between. Without it nothing of Citus is tested by them.
 */
const variable = 'GATEWAY_TEST_CITUS_URLS';

const nodeUrls = (): readonly string[] =>
  (process.env[variable] ?? '').split(',').filter((url) => url !== '');

/** Whether the suites run on a Citus cluster. */
export const onCitus = (): boolean => nodeUrls().length > 0;

/** The distribution of the suites' databases. */
export const testDistribution = () => (onCitus() ? 'citus' : 'none');

/** The URLs of a suite's database, one per node that has it. */
export const onEachNode = (url: string): readonly string[] =>
  onCitus() ? nodeUrls().map((node) => withDatabaseName(node, new URL(url).pathname.slice(1))) : [url];

/** Where functions over the rows of an owner are called, for a suite that calls one directly. */
export interface OwnersPlace {
  readonly url: string;
  readonly named: (name: string) => string;
}

/** The database, or on a cluster the shard of the scope. `url` is that of the suite's database. */
export async function ownersPlace(url: string, scope: string): Promise<OwnersPlace> {
  const [place] = await placesWhere(
    url,
    `s.shard = get_shard_id_for_distribution_column(${leading}, $1::text)`,
    [scope],
  );
  if (place === undefined) throw new Error(`nothing is known of the place of ${scope}`);
  return place;
}

/** The database, or every shard of a cluster. */
export const everyPlace = (url: string): Promise<readonly OwnersPlace[]> => placesWhere(url, 'true', []);

const leading = `'${leadingTable}'`;

async function placesWhere(url: string, which: string, values: unknown[]): Promise<readonly OwnersPlace[]> {
  if (!onCitus()) return [{ url, named: (name) => name }];
  const { rows } = await connected(url, (client) =>
    client.query<{ shard: string; host: string; port: number }>(
      `select s.shard, n.nodename as host, n.nodeport as port
       from (select shardid as shard from pg_dist_shard where logicalrelid = ${leading}::regclass) s
       join pg_dist_placement p on p.shardid = s.shard join pg_dist_node n on n.groupid = p.groupid where ${which}`,
      values,
    ),
  );
  return rows.map(({ shard, host, port }) => ({
    url: nodeUrl(url, host, port),
    named: (name) => `${shardSchema(shard)}.${name}`,
  }));
}

/** Copies the table of a test's clock to every node, if there are several. */
export async function clockOnEveryNode(query: (text: string) => Promise<unknown>): Promise<void> {
  if (onCitus()) await query("select create_reference_table('test_clock')");
}

/**
 * The declaration of a clock function that a test moves, as a cluster needs it: it reads a table on any node.
 */
export const clockKind = () =>
  onCitus() ? 'stable set citus.allow_nested_distributed_execution = on' : 'volatile';

const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');

/** A database of the cluster, distributed unless it is to be empty. */
export async function createCitusDatabase(name: string, empty: boolean) {
  const [coordinator = '', ...workers] = nodeUrls();
  for (const url of [coordinator, ...workers]) {
    await connected(url, (admin) => admin.query(`CREATE DATABASE ${name}`));
    await connected(withDatabaseName(url, name), (admin) => admin.query('CREATE EXTENSION citus'));
  }
  const url = withDatabaseName(coordinator, name);
  await connected(url, async (admin) => {
    const { hostname, port } = new URL(coordinator);
    await admin.query('SELECT citus_set_coordinator_host($1, $2)', [hostname, port]);
    for (const worker of workers)
      await admin.query('SELECT citus_add_node($1, $2)', [new URL(worker).hostname, new URL(worker).port]);
    // Fewer shards than in production, since each suite creates its own.
    await admin.query('SET citus.shard_count = 4');
    await admin.query(`ALTER DATABASE ${name} SET citus.shard_count = 4`);
  });
  if (!empty) await migrate(url, migrations, 'citus');
  return {
    url,
    drop: async () => {
      for (const node of [coordinator, ...workers])
        await connected(node, (admin) => admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}
