import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';

/** The current schema as text, for readers. It is stored with the migrations, but is not one, and is not applied. */
export const schemaDump = 'schema.sql';

/** A file that contains SQL. */
export interface SqlFile {
  /** Relative to the folder of the migrations: `0001_identity.sql`, `functions/gateway_settle.sql`. */
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text with LF line ends, so that a checkout with CRLF is the same file. */
  readonly checksum: string;
}

export interface Migration extends SqlFile {
  readonly version: number;
}

/** The numbered files of the folder `dir`, in order. */
export async function readMigrations(dir: string): Promise<readonly Migration[]> {
  const names = (await sqlNames(dir)).filter((name) => name !== schemaDump);
  const migrations: Migration[] = [];
  for (const name of names) {
    const version = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
    const next = migrations.length + 1;
    if (Number.isNaN(version)) throw new Error(`Migration ${name} is not named like 0001_what_it_does.sql`);
    if (version !== next) {
      throw new Error(
        `Migration ${name} should have the number ${padded(next)}: numbers have no gaps and no duplicates`,
      );
    }
    migrations.push({ version, ...(await readSql(dir, name)) });
  }
  return migrations;
}

/** The functions of the folder `dir`: a file in `functions` is named after the function that it creates or replaces. */
export const readFunctions = (dir: string): Promise<readonly SqlFile[]> => readFolder(dir, 'functions');

/** The functions that a Citus cluster has in addition or instead: the files in `citus`, named in the same way. */
export const readCitusFunctions = (dir: string): Promise<readonly SqlFile[]> => readFolder(dir, 'citus');

/** The functions, with those of `others` replacing the ones of the same name. */
export function withStandIns(functions: readonly SqlFile[], others: readonly SqlFile[]): readonly SqlFile[] {
  const replaced = new Set(others.map(({ name }) => path.basename(name)));
  return [...functions.filter(({ name }) => !replaced.has(path.basename(name))), ...others];
}

async function readFolder(dir: string, below: string): Promise<readonly SqlFile[]> {
  const folder = path.join(dir, below);
  if (!existsSync(folder)) return [];
  return Promise.all(
    (await sqlNames(folder)).map(async (base) => {
      const file = await readSql(dir, `${below}/${base}`);
      const wanted = `create or replace function ${base.slice(0, -'.sql'.length)}(`;
      const made = file.text.match(/^create .*?\(/gim) ?? [];
      if (made.length === 1 && made[0] === wanted) return file;
      throw new Error(`${file.name} should hold one statement that creates something: ${wanted}…)`);
    }),
  );
}

export const padded = (version: number): string => String(version).padStart(4, '0');

const sqlNames = async (dir: string): Promise<readonly string[]> =>
  (await readdir(dir)).filter((name) => name.endsWith('.sql')).toSorted();

async function readSql(dir: string, name: string): Promise<SqlFile> {
  const text = (await readFile(path.join(dir, name), 'utf8')).replaceAll('\r\n', '\n');
  return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
}
