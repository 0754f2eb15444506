import { object, optional, refined, withDefault } from './object-codecs.ts';
import { choice, integer, text, type TypeOf } from './scalar-codecs.ts';

const postgresUrl = text({
  what: 'a postgres:// or postgresql:// URL without spaces or line breaks',
  maxLength: 4096,
  pattern: /^postgres(ql)?:\/\/[^\s]+$/,
  secret: (residue) => /:\/\/[^/@]*:[^@/]+@|[?&]password=[^&]/i.test(residue),
});

const databaseFields = object({
  url: optional(postgresUrl, 'URL of the PostgreSQL server. Without it the gateway starts an embedded one.'),
  read_url: optional(
    postgresUrl,
    'URL of a read replica of it, for reports and the lists of request logs and MCP invocations.',
  ),
  distribution: withDefault(
    choice(['none', 'citus']),
    'none',
    'Where rows are stored: none, in one PostgreSQL; citus, on the nodes of a Citus cluster, any of which url may name.',
  ),
  // A PostgreSQL server seldom allows more connections than this in total.
  max_connections: withDefault(
    integer({ min: 1, max: 1000 }),
    10,
    'Most connections of one process to each of: url, read_url, and every worker of a Citus cluster.',
  ),
});

export const databaseCodec = refined(databaseFields, ({ url, read_url: readUrl, distribution }) => [
  ...(readUrl !== undefined && url === undefined
    ? [{ at: ['read_url'], message: 'needs url: the embedded database has no replica' }]
    : []),
  ...(distribution === 'citus' && url === undefined
    ? [{ at: ['distribution'], message: 'needs url: the embedded database is one server' }]
    : []),
  ...(distribution === 'citus' && readUrl !== undefined
    ? [{ at: ['read_url'], message: 'goes with distribution: none alone' }]
    : []),
]);

/** Where the tables are: an external PostgreSQL, or one that the gateway runs itself under `dataDir`. */
export type DatabaseConfig =
  | {
      readonly kind: 'external';
      readonly url: string;
      /** A read replica of `url`. */
      readonly readUrl: string | undefined;
      readonly distribution: 'none' | 'citus';
      readonly maxConnections: number;
    }
  | {
      readonly kind: 'embedded';
      readonly dataDir: string;
      readonly distribution: 'none';
      readonly maxConnections: number;
    };

export const toDatabase = (wire: TypeOf<typeof databaseCodec>, dataDir: string): DatabaseConfig =>
  wire.url === undefined
    ? { kind: 'embedded', dataDir, distribution: 'none', maxConnections: wire.max_connections }
    : {
        kind: 'external',
        url: wire.url,
        readUrl: wire.read_url,
        distribution: wire.distribution,
        maxConnections: wire.max_connections,
      };
