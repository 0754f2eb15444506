import { createPrivateKey } from 'node:crypto';
import { open } from 'node:fs/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isObject, isString, type JsonObject, parseJson } from '../../../domain/shared/json.ts';

/** The fields of a service-account file that tokens need. */
export interface ServiceAccount {
  readonly email: string;
  readonly privateKey: string;
  /** Where assertions are exchanged for tokens. */
  readonly tokenUri: string;
}

/** The default of `token_uri`. */
const googleTokenUri = 'https://oauth2.googleapis.com/token';

/** Only so much of the file is read: real ones have 2.5 kB. */
const maxFileBytes = 64 * 1024;

/** Left: the reason of the failure, as a clause that contains neither the path nor anything of the file. */
export async function readServiceAccount(path: string): Promise<Either<string, ServiceAccount>> {
  const text = await readText(path);
  if (E.isLeft(text)) return text;
  const file = parseJson(text.right);
  return isObject(file) ? serviceAccountIn(file) : E.left('the credentials file is not a JSON object');
}

async function readText(path: string): Promise<Either<string, string>> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(maxFileBytes) });
    return E.right(buffer.toString('utf8', 0, bytesRead));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    return E.left(`the credentials file cannot be read (${code})`);
  }
}

function serviceAccountIn(file: JsonObject): Either<string, ServiceAccount> {
  const { type, client_email: email, private_key: privateKey, token_uri: tokenUri = googleTokenUri } = file;
  if (type !== 'service_account') return E.left('the credentials file is not that of a service account');
  if (!isString(email) || email === '') return E.left('the credentials file has no `client_email`');
  if (!isString(privateKey) || !isPrivateKey(privateKey))
    return E.left('the credentials file has no `private_key` that can be used');
  if (!isString(tokenUri) || !/^https?:$/.test(URL.parse(tokenUri)?.protocol ?? ''))
    return E.left('the credentials file has a `token_uri` that is no URL');
  return E.right({ email, privateKey, tokenUri });
}

const isPrivateKey = (pem: string): boolean =>
  E.isRight(
    E.tryCatch(
      () => createPrivateKey(pem),
      () => undefined,
    ),
  );
