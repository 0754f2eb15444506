import { createHash } from 'node:crypto';
import type { SqlFile } from '../migration-files.ts';

const body = /^language sql (\w+)\s+as \$\$([\s\S]*?)\$\$;$/m;

/**
 * Rewrites an SQL function as an equivalent one in PL/pgSQL. Citus rejects parameters in SQL functions that use its
 * tables, but plans the statements of PL/pgSQL functions one by one.
 */
export function stepwise(file: SqlFile): SqlFile {
  const [whole, volatility, statement = ''] = body.exec(file.text) ?? [];
  if (whole === undefined) return file;
  const isSet = /\breturns (?:table|setof)\b/.test(file.text);
  const answer = isSet ? `return query ${statement.trim()};` : `return (${statement.trim()});`;
  const text = file.text.replace(
    whole,
    () =>
      `language plpgsql ${volatility}\nset citus.allow_nested_distributed_execution = on as $$\n#variable_conflict use_column\nbegin\n  ${answer}\nend $$;`,
  );
  return { ...file, text, checksum: createHash('sha256').update(text).digest('hex') };
}
