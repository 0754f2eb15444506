import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { ServerConfig } from './server-config.ts';
import type { TlsConfig } from './listener-config.ts';
import type { LoadedConfig } from './load.ts';
import { type ConfigProblem, finding } from './problem.ts';
import { readSmallFile } from './small-file.ts';

/** What two files of PEM hold that belong together. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: TlsConfig['minVersion'];
}

export interface TlsFault {
  readonly key: 'cert_file' | 'key_file';
  /** For an operator; it holds paths, and nothing of what the files hold. */
  readonly message: string;
}

/** Reads a certificate and its key, and whether the one is of the other. */
export async function readTlsFiles({
  certFile,
  keyFile,
  minVersion,
}: TlsConfig): Promise<Either<TlsFault, TlsFiles>> {
  const [cert, key] = await Promise.all([readSmallFile(certFile), readSmallFile(keyFile)]);
  if (E.isLeft(cert)) return E.left({ key: 'cert_file', message: cert.left });
  if (E.isLeft(key)) return E.left({ key: 'key_file', message: key.left });
  const certificate = attempt(() => new X509Certificate(cert.right));
  if (certificate === undefined)
    return E.left({ key: 'cert_file', message: `${certFile} does not begin with a certificate in PEM` });
  const privateKey = attempt(() => createPrivateKey(key.right));
  if (privateKey === undefined)
    return E.left({
      key: 'key_file',
      message: `${keyFile} does not hold a private key in PEM without a passphrase`,
    });
  if (!certificate.checkPrivateKey(privateKey))
    return E.left({
      key: 'key_file',
      message: `${keyFile} is not the key of the certificate in ${certFile}`,
    });
  const files: TlsFiles = { cert: cert.right, key: key.right, minVersion };
  return attempt(() => createSecureContext(files)) === undefined
    ? E.left({
        key: 'cert_file',
        message: `${certFile} cannot be used for TLS: its chain or its key is not fit`,
      })
    : E.right(files);
}

/** OpenSSL tells by an exception what cannot be read; its words are no help to who wrote the file. */
function attempt<A>(read: () => A): A | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The sections of the file that name certificates. */
const sectionsOf = ({ tls, adminTls }: ServerConfig) => ({ tls, admin_tls: adminTls });

/** What is wrong with the certificates that a file names. */
export async function tlsProblems({ config, place }: LoadedConfig): Promise<readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  for (const [section, settings] of Object.entries(sectionsOf(config.server))) {
    if (settings === undefined) continue;
    const read = await readTlsFiles(settings);
    if (E.isLeft(read)) problems.push(place(finding(['server', section, read.left.key], read.left.message)));
  }
  return problems;
}

/** What TLS can be spoken with, and no client will take: a certificate whose time is over, or has not come. */
export async function tlsNotes(
  { config, place }: LoadedConfig,
  now: number,
): Promise<readonly ConfigProblem[]> {
  const notes: ConfigProblem[] = [];
  for (const [section, settings] of Object.entries(sectionsOf(config.server))) {
    const read = settings === undefined ? undefined : await readTlsFiles(settings);
    if (settings === undefined || read === undefined || E.isLeft(read)) continue;
    const { validFromDate, validToDate } = new X509Certificate(read.right.cert);
    const from = `is not valid before ${validFromDate.toISOString()}`;
    const until = `has expired at ${validToDate.toISOString()}`;
    const why = now < validFromDate.getTime() ? from : now > validToDate.getTime() ? until : undefined;
    if (why !== undefined)
      notes.push(place(finding(['server', section, 'cert_file'], `${settings.certFile} ${why}`)));
  }
  return notes;
}
