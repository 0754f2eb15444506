import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { QueryResult } from 'pg';
import { isUnderTls, type SecuredUrl, securedUrl } from './tls.ts';

/** What a server must be for a connection to be kept, in libpq's words. */
const sessionAttrs = ['any', 'read-write', 'read-only'] as const;
type SessionAttrs = (typeof sessionAttrs)[number];

/** The servers of a URL, in its order, and what a server must be. */
export interface DatabaseHosts {
  /** One URL per server, without `target_session_attrs`. */
  readonly urls: readonly string[];
  readonly attrs: SessionAttrs;
}

/** Captures the scheme and login, the comma-separated hosts, and what follows them. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;

const attrsParameter = 'target_session_attrs';

function hostUrls(url: string): Either<string, DatabaseHosts> {
  const [, before = '', hosts = '', after = ''] = parts.exec(url) ?? [];
  const each = hosts.split(',');
  if (each.length > 1 && each.includes('')) return E.left('a host between its commas is empty');
  const urls = each.map((host) => `${before}${host}${after}`);
  const isWritten = urls.every((one) => URL.canParse(one)) && !/%(?![0-9a-f]{2})/i.test(url);
  return isWritten ? withAttrs(urls) : E.left(`it is not a URL (${spelling})`);
}

/** How characters with a meaning in URLs are written in passwords. */
const spelling = 'in a password % is written %25, @ %40, # %23, / %2F and : %3A';

function withAttrs(urls: readonly string[]): Either<string, DatabaseHosts> {
  const params = new URL(urls[0] ?? '').searchParams;
  if (params.get('host')?.includes(',') === true)
    return E.left('several hosts come before the path, separated by commas');
  const asked = params.get(attrsParameter) ?? 'any';
  const attrs = sessionAttrs.find((each) => each === asked);
  return attrs === undefined
    ? E.left(`${attrsParameter} must be one of ${sessionAttrs.join(', ')}`)
    : E.right({ urls: urls.map(withoutAttrs), attrs });
}

function withoutAttrs(url: string): string {
  const target = new URL(url);
  if (!target.searchParams.has(attrsParameter)) return url;
  target.searchParams.delete(attrsParameter);
  return target.href;
}

/**
 * The hosts of a URL to which connections are unencrypted; empty if the URL uses TLS. Unix sockets do not count. The
 * left says why the URL cannot be used at all.
 */
export const plainHosts = (url: string): Either<string, readonly string[]> =>
  pipe(
    hostUrls(url),
    E.chain(({ urls: [first = '', ...others] }) =>
      pipe(
        isUnderTls(first),
        E.map((secured) => (secured ? [] : [first, ...others].flatMap(networkHosts))),
      ),
    ),
  );

/** As in libpq: a host in the parameters takes precedence, and one that begins with a slash is a Unix socket. */
function networkHosts(url: string): readonly string[] {
  const { hostname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  return host === '' || host.startsWith('/') ? [] : [host];
}

/** Throws an error for operators when the URL, or a file that it names, cannot be used. */
export async function databaseHosts(url: string): Promise<DatabaseHosts> {
  const found = hostUrls(url);
  if (E.isLeft(found)) throw new Error(`The URL of the database: ${found.left}.`);
  await Promise.all(found.right.urls.map(securedUrl));
  return found.right;
}

/** A newly opened connection. */
export interface Opened<Connection> {
  readonly connection: Connection;
  readonly query: (text: string) => Promise<Pick<QueryResult, 'rows'>>;
  /** Never rejects. */
  readonly close: () => Promise<void>;
}

/** The setting is `on` where nothing can be written: on a standby, or by a default of the server. */
async function isReadOnly({ query }: Pick<Opened<unknown>, 'query'>): Promise<boolean> {
  const { rows } = await query('show transaction_read_only');
  return rows[0]?.['transaction_read_only'] === 'on';
}

/** A server that accepts a connection but does not say within this time what it is counts as unreachable. */
const answerMs = 3_000;

/** A server that is not what the URL asks for. The code is PostgreSQL's for a write in a read-only transaction. */
class UnfitServer extends Error {
  readonly code = '25006';
}

/**
 * Connects to the first server that accepts a connection and is what the URL asks for, in the order of the URL. The
 * search for the one writable server begins where it was last found, so that a dead host costs its timeout once. The
 * files of certificates are read for each connection, because they are replaced while the process runs.
 */
export function connector<Connection>(
  { urls, attrs }: DatabaseHosts,
  open: (host: SecuredUrl) => Promise<Opened<Connection>>,
): () => Promise<Connection> {
  let begin = 0;
  return async () => {
    const errors: unknown[] = [];
    const order = urls.map((_, step) => (begin + step) % urls.length);
    for (const at of order) {
      const url = urls[at];
      if (url === undefined) continue;
      try {
        const connection = await openFit(await open(await securedUrl(url)), attrs);
        if (attrs === 'read-write') begin = at;
        return connection;
      } catch (error) {
        errors.push(urls.length === 1 ? error : ofHost(url, error));
      }
    }
    throw errors.length === 1 ? errors[0] : new AggregateError(errors, errors.map(messageOf).join('; '));
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Prefixes an error with the host's name and port only. */
const ofHost = (url: string, error: unknown): Error =>
  new Error(`${new URL(url).host}: ${messageOf(error)}`, { cause: error });

async function openFit<Connection>(opened: Opened<Connection>, attrs: SessionAttrs): Promise<Connection> {
  if (attrs === 'any') return opened.connection;
  try {
    const readOnly = await Promise.race([isReadOnly(opened), late()]);
    if (readOnly === (attrs === 'read-only')) return opened.connection;
    throw new UnfitServer(`the server is ${readOnly ? 'read-only' : 'not read-only'}`);
  } catch (error) {
    void opened.close();
    throw error;
  }
}

async function late(): Promise<never> {
  await sleep(answerMs, undefined, { ref: false });
  throw new Error('timeout expired');
}
