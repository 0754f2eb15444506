import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { exportColumns, type ExportSubject } from '../../domain/export/export-columns.ts';
import type { S3Server } from './s3-server.ts';

/** A cell as its table prints it; an instant in microseconds since the epoch. */
export type ExportedRow = Readonly<Record<string, string | null>>;

/** What a reader finds who follows the manifest of a day; undefined if the day is not complete. */
export async function readExport(
  { objects }: Pick<S3Server, 'objects'>,
  prefix: string,
  subject: ExportSubject,
  day: string,
): Promise<{ readonly manifest: ReadManifest; readonly rows: readonly ExportedRow[] } | undefined> {
  const folder = `${prefix}${subject}/day=${day}/`;
  const text = objects.get(`${folder}manifest.json`);
  if (text === undefined) return undefined;
  const manifest = JSON.parse(text.toString()) as ReadManifest;
  const rows: ExportedRow[] = [];
  for (const { name } of manifest.parts) {
    const object = objects.get(`${folder}${name}`);
    if (object === undefined) throw new Error(`${name} is not there`);
    rows.push(...(name.endsWith('.parquet') ? await readParquet(object, subject) : readCsv(object)));
  }
  return { manifest, rows };
}

export interface ReadManifest {
  readonly rows: number;
  readonly cost_picousd?: string;
  readonly parts: readonly {
    readonly name: string;
    readonly rows: number;
    readonly bytes: number;
    readonly sha256: string;
    readonly cost_picousd?: string;
  }[];
}

async function readParquet(object: Buffer, subject: ExportSubject): Promise<readonly ExportedRow[]> {
  const file = object.buffer.slice(object.byteOffset, object.byteOffset + object.length) as ArrayBuffer;
  const metadata = parquetMetadata(file);
  // The reader converts decimals to numbers, which lose digits: their bytes are read instead.
  const schema = metadata.schema.map((each) => {
    const { converted_type: converted, logical_type: _, ...rest } = each;
    return converted === 'DECIMAL' ? rest : each;
  });
  const rows = await parquetReadObjects({
    file,
    metadata: { ...metadata, schema },
    compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) },
    parsers: {
      timestampFromMilliseconds: Number,
      timestampFromMicroseconds: (micros: bigint) => micros,
      timestampFromNanoseconds: Number,
      dateFromDays: Number,
    },
  });
  return rows.map((row) =>
    Object.fromEntries(exportColumns[subject].map(({ name }) => [name, textOf(row[name])])),
  );
}

type Cell = Uint8Array | string | number | bigint | boolean | null | undefined;

function textOf(value: Cell): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array)
    return BigInt.asIntN(128, BigInt(`0x${Buffer.from(value).toString('hex')}`)).toString();
  return String(value);
}

/** RFC 4180; an empty unquoted cell is null. */
function readCsv(object: Buffer): readonly ExportedRow[] {
  const text = gunzipSync(object).toString();
  const cells = /(?:"((?:[^"]|"")*)"|([^,\n]*))([,\n])/gy;
  const lines: (string | null)[][] = [[]];
  for (const [, quoted, plain = '', end] of text.matchAll(cells)) {
    lines.at(-1)?.push(quoted === undefined ? (plain === '' ? null : plain) : quoted.replaceAll('""', '"'));
    if (end === '\n') lines.push([]);
  }
  const [names = [], ...rows] = lines.slice(0, -1);
  return rows.map((row) =>
    Object.fromEntries(
      names.map((name, at) => {
        const cell = row[at] ?? null;
        return [name, name === 'occurred_at' && cell !== null ? microseconds(cell) : cell];
      }),
    ),
  );
}

const microseconds = (instant: string): string =>
  (BigInt(Date.parse(`${instant.slice(0, 19)}Z`)) * 1000n + BigInt(instant.slice(20, 26))).toString();
