import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';

/** 64 KiB, ten times the longest tokens and certificate chains. */
const maxBytes = 64 * 1024;

/** Reads a whole small text file. The error names the path and the problem, and never quotes the content. */
export async function readSmallFile(path: string): Promise<Either<string, string>> {
  try {
    // Otherwise opening a pipe that nobody writes to would never return.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return (await file.stat()).isFile()
        ? textOf(path, await beginningOf(file))
        : E.left(`${path} is not a file`);
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return E.left(`${path} cannot be read (${code})`);
  }
}

/** The whole file, or one byte more than the limit. */
async function beginningOf(file: FileHandle): Promise<Buffer> {
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length);
    length += bytesRead;
    if (bytesRead === 0 || length === bytes.length) return bytes.subarray(0, length);
  }
}

function textOf(path: string, bytes: Buffer): Either<string, string> {
  if (bytes.length > maxBytes) return E.left(`${path} is larger than 64 KiB`);
  return isUtf8(bytes) ? E.right(bytes.toString()) : E.left(`${path} is not UTF-8 text`);
}
