import type { SqlFile } from '../migration-files.ts';

/** A shard and the shards colocated with it, by the names of their tables on the node. */
export interface ShardNames {
  /** The id of the leading table's shard, which names the group. */
  readonly id: string;
  /** The shard number of each table; for a reference table, that of its only shard. */
  readonly numbers: ReadonlyMap<string, string>;
}

/** The schema that holds the functions of a shard. */
export const shardSchema = (id: string): string => `gateway_shard_${id}`;

/** The functions called from outside on the node of a shard. The functions that these call are found in their texts. */
const calledOnShards = [
  'gateway_admit',
  'gateway_admit_scopes',
  'gateway_settle',
  'gateway_keep_bodies',
  'gateway_keep_payloads',
  'gateway_purge_request_logs',
];

/** Holds of rate limits are on the coordinator, which is notified of their end separately. */
const heldElsewhere: Readonly<Record<string, string>> = { end_rate_limit_holds: 'gateway_holds_elsewhere' };

export const functionName = ({ name }: SqlFile): string =>
  name.slice(name.lastIndexOf('/') + 1, -'.sql'.length);

/** Whole words only: `usage_rollups` is not in `usage_rollups_pkey`. */
const wordsOf = (text: string): ReadonlySet<string> => new Set(text.match(/\w+/g));

/** The functions that read or write one of these tables, directly or through the functions that they call. */
export function touchingFunctions(
  functions: readonly SqlFile[],
  tables: readonly string[],
): readonly SqlFile[] {
  const wordsIn = new Map(functions.map((file) => [functionName(file), wordsOf(file.text)]));
  const touching = new Set(tables);
  for (let before = 0; before !== touching.size; ) {
    before = touching.size;
    for (const [name, words] of wordsIn)
      if ([...words].some((word) => touching.has(word))) touching.add(name);
  }
  return functions.filter((file) => touching.has(functionName(file)));
}

/** The functions copied to each shard: those called there and, as far as they touch tables, those called in turn. */
export function functionsOfShards(
  functions: readonly SqlFile[],
  tables: readonly string[],
): readonly SqlFile[] {
  const touching = new Map(touchingFunctions(functions, tables).map((file) => [functionName(file), file]));
  const reached = new Set<string>(calledOnShards);
  // Names added here are visited too.
  for (const name of reached)
    for (const word of wordsOf(touching.get(name)?.text ?? '')) if (touching.has(word)) reached.add(word);
  return [...touching].flatMap(([name, file]) => (reached.has(name) ? [file] : []));
}

/**
 * The same functions for one shard: in its schema, with the shard's tables by their physical names. PostgreSQL plans
 * and runs them as on a single server, and Citus does not see its own tables in them. A call keeps the shard on its
 * node until the end of the transaction (`gateway_hold_shard`).
 */
export function copiesFor(shard: ShardNames, functions: readonly SqlFile[]): readonly string[] {
  const names = new Set(functions.map(functionName));
  const constraint = /^(\w+?)_(pkey|once_key)$/;
  const inShard = (word: string): string => {
    const elsewhere = heldElsewhere[word];
    if (elsewhere !== undefined) return elsewhere;
    const table = shard.numbers.get(word);
    if (table !== undefined) return `${word}_${table}`;
    const [, of = ''] = constraint.exec(word) ?? [];
    const ofTable = shard.numbers.get(of);
    return ofTable === undefined ? word : `${word}_${ofTable}`;
  };
  return functions.map((file) => {
    const name = functionName(file);
    const [made = ''] = file.text.split(/^comment on function /m);
    const text = made.replace(/\w+/g, (word) =>
      names.has(word) ? `${shardSchema(shard.id)}.${word}` : inShard(word),
    );
    return calledOnShards.includes(name) ? holding(shard.id, text) : text;
  });
}

const holding = (id: string, text: string): string =>
  text.replace(/^begin$/m, `begin\n  if not gateway_hold_shard(${id}) then ${raise(id)} end if;`);

/** SQLSTATE raised for a shard that has moved away from this node; the statement may be sent again to its new node. */
export const movedState = '08G01';
const raise = (id: string): string =>
  `raise exception 'shard % is on another node', ${id} using errcode = '${movedState}';`;
