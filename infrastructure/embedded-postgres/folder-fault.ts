import { access, constants, readlink, stat } from 'node:fs/promises';
import path from 'node:path';

/** Tells people why this process cannot write into a folder that exists or will be created; `undefined` if it can. */
export async function folderFault(folder: string): Promise<string | undefined> {
  const looked = await stat(folder).then(
    (found) => ({ found, code: undefined }),
    (error: NodeJS.ErrnoException) => ({ found: undefined, code: error.code }),
  );
  const { found } = looked;
  if (found === undefined) {
    const above = path.dirname(folder);
    if (looked.code === 'ENOENT' && (await isLink(folder))) return `${folder} is a link to nothing`;
    if (looked.code === 'ENOENT' && above !== folder) return folderFault(above);
    return `${folder} cannot be looked at (${looked.code})`;
  }
  if (!found.isDirectory()) return `${folder} is not a folder`;
  const refused = await access(folder, constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  );
  if (refused === undefined) return undefined;
  if (refused === 'EROFS') return `${folder} is on a read-only file system`;
  const self = process.getuid?.();
  return self === undefined || found.uid === self
    ? `${folder} does not let its owner write (mode ${(found.mode & 0o777).toString(8)})`
    : `${folder} belongs to user id ${found.uid}, but this process has ${self}`;
}

const isLink = (at: string): Promise<boolean> =>
  readlink(at).then(
    () => true,
    () => false,
  );
