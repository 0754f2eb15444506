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
import { requestsUntil } from '../requests-until.ts';

/** How long one call may take, in milliseconds. The library lets a storage break an answer off and wait for ever. */
export interface StorageBounds {
  readonly connectMs: number;
  /** Until an answer begins, and then the longest silence within it. */
  readonly answerMs: number;
  /** All of it, with its attempts and, for a list, its pages (rule 56.22). */
  readonly callMs: number;
}

/** Enough for a part of some ten megabytes on a slow line; a storage that is silent for longer is unavailable. */
const usualBounds: StorageBounds = { connectMs: 10_000, answerMs: 120_000, callMs: 900_000 };
/**
 * A call that fails on the network, or is answered 5xx or 429, is retried with growing pauses: for six seconds on
 * average, in which a storage restarts.
 */
const maxAttempts = 8;
/** A page has a thousand keys, and a day can have a hundred thousand parts. */
const maxPages = 250;

/** A bucket of an S3-compatible storage. `close` closes its connections. */
export function s3Storage(
  { endpoint, region, pathStyle, auth }: ExportConfig,
  bucket: string,
  { connectMs, answerMs, callMs }: StorageBounds = usualBounds,
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
  const answer = answersWithin(callMs);
  return {
    read: async (key) => {
      const found = await answer(`read ${key}`, async (terms) => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }), terms);
        return Body?.transformToString();
      });
      return E.isLeft(found) && found.left.isMissing ? E.right(undefined) : E.mapLeft(wordsOf)(found);
    },
    write: async (key, bytes, contentType) =>
      done(
        await answer(`write ${key}`, (terms) =>
          client.send(
            new PutObjectCommand({
              Bucket: bucket,
              Key: key,
              Body: bytes,
              ContentType: contentType,
              ContentMD5: createHash('md5').update(bytes).digest('base64'),
            }),
            terms,
          ),
        ),
      ),
    remove: async (key) =>
      done(
        await answer(`delete ${key}`, (terms) =>
          client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }), terms),
        ),
      ),
    list: async (prefix) =>
      E.mapLeft(wordsOf)(
        await answer(`list ${prefix}`, (terms) => keysOf(client, { bucket, prefix, terms })),
      ),
    close: () => client.destroy(),
  };
}

/** Some storages give an empty token behind the last page, or the same one for ever: both end the list. */
async function keysOf(
  client: S3Client,
  { bucket, prefix, terms }: { readonly bucket: string; readonly prefix: string; readonly terms: CallTerms },
): Promise<readonly string[]> {
  const keys: string[] = [];
  let token: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const found: ListObjectsV2CommandOutput = await client.send(
      new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }),
      terms,
    );
    // A storage that ignores the prefix lists other days, whose parts must not be taken for this one's.
    for (const { Key } of found.Contents ?? []) if (Key?.startsWith(prefix) === true) keys.push(Key);
    const next = found.NextContinuationToken ?? '';
    if (next === '' || next === token) return keys;
    token = next;
  }
  throw new EndlessList();
}

/** Thrown when there is still another page behind the most that are read (rule 56.21). */
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

/** How the library is told to end a call. */
interface CallTerms {
  readonly abortSignal: AbortSignal;
}

/** The error of the storage or the network, by its code: messages of the library may contain parts of a request. */
const answersWithin =
  (callMs: number) =>
  async <A>(what: string, send: (terms: CallTerms) => Promise<A>): Promise<Either<Refusal, A>> => {
    const abortSignal = AbortSignal.timeout(callMs);
    try {
      // The library looks credentials up without the signal.
      return E.right(await requestsUntil(abortSignal, () => send({ abortSignal })));
    } catch (error) {
      const isLate = abortSignal.aborted;
      const why = isLate ? 'TimeoutError' : whyNot(error);
      return E.left({
        words: !isLate && hasNoCredentials(error) ? noCredentials : `the storage would not ${what}: ${why}`,
        isMissing: error instanceof NoSuchKey,
      });
    }
  };

/** The storage was never asked. */
const noCredentials =
  'there are no credentials for the storage: the default chain found none, and export.auth sets none';

const hasNoCredentials = (error: unknown): boolean =>
  error instanceof Error && error.name === 'CredentialsProviderError';

function whyNot(error: unknown): string {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  return `${codeOf(error)}${unknownHostOf(error)}${status === undefined ? '' : `, status ${status}`}`;
}

/** A name that could not be looked up: without `path_style` it begins with the bucket, which few storages expect. */
const unknownHostOf = (error: unknown): string =>
  error instanceof Error && 'hostname' in error && typeof error.hostname === 'string'
    ? ` ${error.hostname}`
    : '';

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
