import { createHash } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { ObjectStorage, StorageFault } from '../../application/ports/export.ts';
import type { ExportConfig } from '../config/export-config.ts';

/** How long one call may take, in milliseconds. The library lets a storage break an answer off and wait for ever. */
export interface StorageBounds {
  readonly connectMs: number;
  /** Until an answer begins, and then the longest silence within it. */
  readonly answerMs: number;
}

/** Enough for a part of some ten megabytes on a slow line; a storage that is silent for longer is unavailable. */
const usualBounds: StorageBounds = { connectMs: 10_000, answerMs: 120_000 };
/** A call that fails on the network, or is answered 5xx or 429, is retried with growing pauses. */
const maxAttempts = 5;
/** A page has a thousand keys, and a day can have a hundred thousand parts. */
const maxPages = 250;

/** A bucket of an S3-compatible storage. `close` closes its connections. */
export function s3Storage(
  { endpoint, region, pathStyle, auth }: ExportConfig,
  bucket: string,
  { connectMs, answerMs }: StorageBounds = usualBounds,
): ObjectStorage & { readonly close: () => void } {
  const client = new S3Client({
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    forcePathStyle: pathStyle,
    ...(auth.mode === 'default_chain' ? {} : { credentials: staticCredentials(auth) }),
    maxAttempts,
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: answerMs,
      socketTimeout: answerMs,
      throwOnRequestTimeout: true,
    },
    // Compatible storages need not support these checksums. Writes carry the older `Content-MD5`, without which a bucket
    // that locks its objects refuses them (rule 56.20).
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return {
    read: async (key) => {
      const found = await answer(`read ${key}`, async () => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
        return Body?.transformToString();
      });
      return E.isLeft(found) && found.left.isMissing ? E.right(undefined) : E.mapLeft(wordsOf)(found);
    },
    write: async (key, bytes, contentType) =>
      done(
        await answer(`write ${key}`, () =>
          client.send(
            new PutObjectCommand({
              Bucket: bucket,
              Key: key,
              Body: bytes,
              ContentType: contentType,
              ContentMD5: createHash('md5').update(bytes).digest('base64'),
            }),
          ),
        ),
      ),
    remove: async (key) =>
      done(
        await answer(`delete ${key}`, () =>
          client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key })),
        ),
      ),
    list: async (prefix) =>
      E.mapLeft(wordsOf)(await answer(`list ${prefix}`, () => keysOf(client, bucket, prefix))),
    close: () => client.destroy(),
  };
}

/** Some storages give an empty token behind the last page, or the same one for ever: both end the list. */
async function keysOf(client: S3Client, bucket: string, prefix: string): Promise<readonly string[]> {
  const keys: string[] = [];
  let token: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const found: ListObjectsV2CommandOutput = await client.send(
      new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }),
    );
    // A storage that ignores the prefix lists other days, whose parts must not be taken for this one's.
    for (const { Key } of found.Contents ?? []) if (Key?.startsWith(prefix) === true) keys.push(Key);
    const next = found.NextContinuationToken ?? '';
    if (next === '' || next === token) return keys;
    token = next;
  }
  throw new EndlessList();
}

/** Thrown when there is still another page behind the most that are read (rule 56.381). */
class EndlessList extends Error {
  override readonly name = 'EndlessList';
}

interface Refusal {
  readonly words: StorageFault;
  readonly isMissing: boolean;
}

const wordsOf = ({ words }: Refusal): StorageFault => words;
const done = (answered: Either<Refusal, unknown>): Either<StorageFault, undefined> =>
  E.bimap(wordsOf, () => undefined)(answered);

/** The error of the storage or the network, by its code: messages of the library may contain parts of a request. */
async function answer<A>(what: string, send: () => Promise<A>): Promise<Either<Refusal, A>> {
  try {
    return E.right(await send());
  } catch (error) {
    const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
    return E.left({
      words:
        error instanceof Error && error.name === 'CredentialsProviderError'
          ? 'there are no credentials for the storage: the default chain found none, and export.auth sets none'
          : `the storage would not ${what}: ${codeOf(error)}${status === undefined ? '' : `, status ${status}`}`,
      isMissing: error instanceof NoSuchKey,
    });
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return /^\w{1,64}$/.test(code) ? code : 'unknown';
}

const staticCredentials = ({
  accessKeyId,
  secretAccessKey,
  sessionToken,
}: Extract<ExportConfig['auth'], { readonly mode: 'static_credentials' }>) => ({
  accessKeyId,
  secretAccessKey,
  ...(sessionToken === undefined ? {} : { sessionToken }),
});
