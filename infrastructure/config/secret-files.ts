import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { eachText, type Json } from '../../domain/shared/json.ts';
import { filesOf, type SecretFiles } from './interpolation.ts';
import { readSmallFile } from './small-file.ts';

/** Reads each file named in a tree before interpolation, once. The size of the tree bounds their number. */
export async function readSecretFiles(raw: Json): Promise<SecretFiles> {
  const paths = new Set<string>();
  eachText(raw, (text) => {
    for (const path of filesOf(text)) paths.add(path);
  });
  const files = new Map<string, Either<string, string>>();
  // One after the other: a file for each of thousands of keys must not take all descriptors of the process.
  for (const path of paths) files.set(path, secretIn(path, await readSmallFile(path)));
  return files;
}

/** One trailing line end comes from an editor and is not part of the secret. An empty file has not been written yet. */
const secretIn = (path: string, read: Either<string, string>): Either<string, string> => {
  const secret = E.map((text: string) => text.replace(/\r?\n$/, ''))(read);
  return E.isRight(secret) && secret.right === '' ? E.left(`${path} is empty`) : secret;
};
