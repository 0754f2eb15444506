import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';

/** How much of the server's certificate is verified: nothing, its signer, or its signer and its name. */
type Check = 'nothing' | 'signer' | 'name';

/** libpq's modes and the driver's `no-verify`; `undefined` means no TLS. `require` checks more here than in libpq. */
const checks: ReadonlyMap<string, Check | undefined> = new Map([
  ['disable', undefined],
  ['no-verify', 'nothing'],
  ['require', 'name'],
  ['verify-ca', 'signer'],
  ['verify-full', 'name'],
]);

/**
 * How TLS begins: after PostgreSQL's own request for it, or at once, as proxies need it that know TLS alone
 * (rule 55.29).
 */
const negotiations = ['postgres', 'direct'] as const;
type Negotiation = (typeof negotiations)[number];

/** The TLS options that a database URL asks for. */
interface Tls {
  readonly check: Check;
  readonly negotiation: Negotiation;
  readonly rootCert: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** Parameters that are read here, because drivers differ in how they interpret them. */
const parameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'];

/** Matches parameters meant for TLS, however spelled: ignoring one would silently leave connections unencrypted. */
const namesTls = /ssl|tls/i;

/** Node's trusted signers, by libpq's name for those of the machine. */
const systemTrust = 'system';

/** Whether connections to this URL use TLS; the left says why it cannot be used. */
export const isUnderTls = (url: string): Either<string, boolean> =>
  pipe(
    tlsOf(url),
    E.map((tls) => tls !== undefined),
  );

function tlsOf(url: string): Either<string, Tls | undefined> {
  const params = new URL(url).searchParams;
  const given = (name: string): string | undefined => params.get(name) ?? undefined;
  const [rootCert, cert, key] = ['sslrootcert', 'sslcert', 'sslkey'].map(given);
  const files = [rootCert, cert, key].some((file) => file !== undefined);
  const mode = given('sslmode') ?? (files ? 'verify-full' : 'disable');
  const known = [...checks.keys()].join(', ');
  const unread = [...params.keys()].find((name) => namesTls.test(name) && !parameters.includes(name));
  if (unread !== undefined) return E.left(`\`${unread}\` is not read: use \`sslmode=verify-full\``);
  if (!checks.has(mode))
    return E.left(`sslmode must be one of ${known}: with other modes it is uncertain whether TLS is used`);
  if ((cert === undefined) !== (key === undefined)) return E.left('sslcert and sslkey go together');
  const check = checks.get(mode);
  if (check === 'signer' && (rootCert ?? systemTrust) === systemTrust)
    return E.left('sslmode=verify-ca needs sslrootcert, the file of the signer; or use verify-full');
  return E.map((negotiation: Negotiation) =>
    check === undefined ? undefined : { check, negotiation, rootCert, cert, key },
  )(negotiationOf(given('sslnegotiation') ?? 'postgres', check !== undefined));
}

function negotiationOf(asked: string, isSecured: boolean): Either<string, Negotiation> {
  const known = negotiations.find((each) => each === asked);
  if (known === undefined) return E.left(`sslnegotiation must be one of ${negotiations.join(', ')}`);
  return known === 'direct' && !isSecured
    ? E.left('sslnegotiation=direct needs TLS: use `sslmode=verify-full` with it')
    : E.right(known);
}

/** A URL for drivers without any TLS parameters, and the driver's options to use instead. */
export interface SecuredUrl {
  readonly url: string;
  readonly tls: { readonly ssl: ConnectionOptions | false; readonly sslnegotiation: Negotiation };
}

/** Reads the files that the URL names; throws an error for operators when the URL or a file cannot be used. */
export async function securedUrl(url: string): Promise<SecuredUrl> {
  const tls = tlsOf(url);
  if (E.isLeft(tls)) throw new Error(`The URL of the database: ${tls.left}.`);
  const target = new URL(url);
  for (const name of parameters) target.searchParams.delete(name);
  const { right } = tls;
  const ssl = right === undefined ? false : await optionsOf(right);
  return { url: target.href, tls: { ssl, sslnegotiation: right?.negotiation ?? 'postgres' } };
}

async function optionsOf({ check, rootCert, cert, key }: Tls): Promise<ConnectionOptions> {
  const ca = rootCert === systemTrust ? undefined : await contentOf('sslrootcert', rootCert);
  const own = { cert: await contentOf('sslcert', cert), key: await contentOf('sslkey', key) };
  return {
    rejectUnauthorized: check !== 'nothing',
    ...(ca === undefined ? {} : { ca }),
    ...(own.cert === undefined ? {} : own),
    ...(check === 'signer' ? { checkServerIdentity: () => undefined } : {}),
  };
}

async function contentOf(name: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw new Error(`The URL of the database: the file of ${name} cannot be read (${code}): ${file}`, {
      cause: error,
    });
  }
}
