import type { SqlFile } from '../migration-files.ts';

/** A shard and what lies with it, by the names that it has on its node. */
export interface ShardNames {
  /** Of the leading table: it names the group. */
  readonly id: string;
  /** The number of the shard of each table, of reference tables the one that they have. */
  readonly numbers: ReadonlyMap<string, string>;
}

/** Where the functions of a shard are. */
export const shardSchema = (id: string): string => `gateway_shard_${id}`;

/** What runs on the node of a shard, called from outside. What these call follows from their texts. */
const calledOnShards = [
  'gateway_admit',
  'gateway_admit_scopes',
  'gateway_settle',
  'gateway_keep_bodies',
  'gateway_keep_payloads',
  'gateway_purge_request_logs',
];

/** Holds of rate limits are on the coordinator, which is told of their end by itself. */
const heldElsewhere: Readonly<Record<string, string>> = { end_rate_limit_holds: 'gateway_holds_elsewhere' };

export const functionName = ({ name }: SqlFile): string =>
  name.slice(name.lastIndexOf('/') + 1, -'.sql'.length);

/** Whole words alone: `usage_rollups` is not in `usage_rollups_pkey`. */
const wordsOf = (text: string): ReadonlySet<string> => new Set(text.match(/\w+/g));

/** The functions that read or write one of these tables, themselves or by what they call. */
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

/** The functions that a shard has copies of: what is called there, and what that calls, as far as it touches tables. */
export function functionsOfShards(
  functions: readonly SqlFile[],
  tables: readonly string[],
): readonly SqlFile[] {
  const touching = new Map(touchingFunctions(functions, tables).map((file) => [functionName(file), file]));
  const reached = new Set<string>(calledOnShards);
  // What is added is gone through, too.
  for (const name of reached)
    for (const word of wordsOf(touching.get(name)?.text ?? '')) if (touching.has(word)) reached.add(word);
  return [...touching].flatMap(([name, file]) => (reached.has(name) ? [file] : []));
}

/**
 * The same functions for one shard: in its schema, with the tables of the shard by their own names. PostgreSQL plans and
 * runs them as it does on one server; Citus sees no table of its own in them. Whoever calls one holds the shard where
 * it is to the end of the transaction (`gateway_hold_shard`).
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

/** The place of a shard that its connections are not of: it has moved, and may be asked for again where it is. */
export const movedState = '08G01';
const raise = (id: string): string =>
  `raise exception 'shard % is on another node', ${id} using errcode = '${movedState}';`;
