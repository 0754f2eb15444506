import type { Client } from 'pg';

/**
 * The present schema as text for readers: the result of the numbered migrations, table by table. Functions
 * are listed with the files that contain their bodies. The text does not depend on the version of PostgreSQL,
 * on the order of creation, or on the day: of partitions it lists only those that always exist.
 */
export async function schemaDump(client: Client): Promise<string> {
  await client.query(
    `select set_config('search_path', 'public', false), set_config('timezone', 'UTC', false)`,
  );
  const parts: string[] = [];
  for (const statement of [types, tables, functions]) {
    const { rows } = await client.query<{ text: string }>(statement);
    parts.push(...rows.map(({ text }) => filled(text)));
  }
  return `${[head, ...parts].join('\n\n')}\n`;
}

const head = `-- The schema as it is after all migrations, for readers: nothing runs this file. Made by \`npm run schema:dump\`, and
-- held to the migrations by test/infrastructure/schema-dump.test.ts. Functions are in \`functions/\`, or, where
-- tables stand on them, in the numbered files.`;

/** Columns and constraints share lines of at most so many characters. */
const maxChars = 240;
const between = '\u{1}';

function filled(text: string): string {
  const lines = text.split('\n').flatMap((line) => {
    const full: string[] = [];
    for (const piece of line.split(between)) {
      const last = full.at(-1);
      if (last !== undefined && `${last} ${piece}`.length <= maxChars)
        full[full.length - 1] = `${last} ${piece}`;
      else full.push(last === undefined ? piece : `  ${piece}`);
    }
    return full;
  });
  return lines.join('\n');
}

/** The comment of an object as a line of the text; null if there is none. */
const commentOn = (what: string, comment: string): string => `'-- ' || ${what} || ': ' || ${comment}`;

const columnLine = (column: string): string => `
  quote_ident(${column}.attname) || ' ' || format_type(${column}.atttypid, ${column}.atttypmod)`;

const types = `
  select 'create type ' || t.typname || ' as (' || chr(10)
         || '  ' || string_agg(${columnLine('a')}, ',' || chr(1) order by a.attnum) || chr(10) || ');'
         || coalesce(chr(10) || ${commentOn('t.typname', `obj_description(t.oid, 'pg_type')`)}, '') as text
  from pg_type t
  join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where t.typnamespace = 'public'::regnamespace
  group by t.oid, t.typname order by t.typname collate "C"`;

/** PostgreSQL 18 also stores `not null` as constraints: they are listed with their columns. */
const tables = `
  select concat_ws(chr(10), made.line, made_of.lines || chr(10) || ')' || coalesce(made.kind, '') || ';', around.lines) as text
  from (
    select c.oid, c.relname, c.relispartition,
           'create ' || case c.relpersistence when 'u' then 'unlogged ' else '' end || 'table ' || c.relname || ' (' as line,
           case when c.relkind = 'p' then ' partition by ' || pg_get_partkeydef(c.oid) end
           || case when c.reloptions is not null then ' with (' || array_to_string(c.reloptions, ', ') || ')' else '' end as kind
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  ) made
  cross join lateral (
    select '  ' || string_agg(line, ',' || chr(1) order by part, place, line collate "C") as lines
    from (
      select 1 as part, 0 as place,
             string_agg(${columnLine('a')} || case when a.attnotnull then ' not null' else '' end
             || case when a.attgenerated = 's' then ' generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') stored'
                     when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid) else '' end,
               ',' || chr(1) order by a.attnum) as line
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = made.oid and a.attnum > 0 and not a.attisdropped
      union all
      select 2, case k.contype when 'p' then 1 when 'u' then 2 when 'f' then 3 else 4 end,
             'constraint ' || k.conname || ' ' || pg_get_constraintdef(k.oid)
      from pg_constraint k where k.conrelid = made.oid and k.contype <> 'n'
    ) each_line
  ) made_of
  cross join lateral (
    select string_agg(line, chr(10) order by part, place, line collate "C") as lines
    from (
      select 1 as part, 0 as place, ${commentOn('made.relname', `obj_description(made.oid, 'pg_class')`)} as line
      union all
      select 2, a.attnum, ${commentOn('a.attname', 'col_description(made.oid, a.attnum)')}
      from pg_attribute a where a.attrelid = made.oid and a.attnum > 0 and not a.attisdropped
      union all
      select 3, 0, replace(replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON '), 'public.', '') || ';'
      from pg_index i
      where i.indrelid = made.oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
      union all
      select 4, 0, replace(pg_get_triggerdef(t.oid), 'public.', '') || ';'
      from pg_trigger t where t.tgrelid = made.oid and not t.tgisinternal
      union all
      select 5, 0, 'create table ' || p.relname || ' partition of ' || made.relname || ' '
             || pg_get_expr(p.relpartbound, p.oid) || case when p.reloptions is null then ''
                else ' with (' || array_to_string(p.reloptions, ', ') || ')' end || ';'
      from pg_inherits h join pg_class p on p.oid = h.inhrelid
      where h.inhparent = made.oid and pg_get_expr(p.relpartbound, p.oid) = 'DEFAULT'
    ) each_line
  ) around
  where made.relname not like 'schema\\_%'
  order by made.relname collate "C"`;

const functions = `
  select string_agg('-- function ' || p.proname || '(' || pg_get_function_arguments(p.oid) || ')'
                    || coalesce(' returns ' || case when p.prokind = 'f' then pg_get_function_result(p.oid) end, '')
                    || coalesce(chr(10) || '--   ' || obj_description(p.oid, 'pg_proc'), ''),
                    chr(10) order by p.proname collate "C") as text
  from pg_proc p where p.pronamespace = 'public'::regnamespace`;
