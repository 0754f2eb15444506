import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { ServerConfig } from './server-config.ts';
import type { TlsConfig } from './listener-config.ts';
import type { LoadedConfig } from './load.ts';
import { type ConfigProblem, finding } from './problem.ts';
import { readSmallFile } from './small-file.ts';

/** The contents of a certificate file and its key file, both in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: TlsConfig['minVersion'];
}

export interface TlsFault {
  readonly key: 'cert_file' | 'key_file';
  /** For an operator: names paths, and quotes nothing of the files. */
  readonly message: string;
}

/** Reads a certificate and its key, and checks that they belong together. */
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
        message: `${certFile} cannot be used for TLS: its chain or its key is not usable`,
      })
    : E.right(files);
}

/** `undefined` when OpenSSL throws. Its messages are no help to the author of the file. */
function attempt<A>(read: () => A): A | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The sections of the file that name certificates. */
const sectionsOf = ({ tls, adminTls }: ServerConfig) => ({ tls, admin_tls: adminTls });

/** Problems with the certificates that a file names. */
export async function tlsProblems({ config, place }: LoadedConfig): Promise<readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  for (const [section, settings] of Object.entries(sectionsOf(config.server))) {
    if (settings === undefined) continue;
    const read = await readTlsFiles(settings);
    if (E.isLeft(read)) problems.push(place(finding(['server', section, read.left.key], read.left.message)));
  }
  return problems;
}

const dayMs = 24 * 60 * 60 * 1000;
/** Certificates are usually renewed 30 days before they expire, or with a third of a short life left. */
const soonMs = 14 * dayMs;

/** Whether a certificate is not yet valid, has expired or expires soon; `undefined` when it is fine. */
export function certificateTime(
  cert: string,
  now: number,
): { readonly state: 'to come' | 'over' | 'soon over'; readonly at: Date } | undefined {
  const { validFromDate: from, validToDate: until } = new X509Certificate(cert);
  if (now < from.getTime()) return { state: 'to come', at: from };
  if (now > until.getTime()) return { state: 'over', at: until };
  const leftMs = until.getTime() - now;
  const isSoon = leftMs < Math.min(soonMs, (until.getTime() - from.getTime()) / 3);
  return isSoon ? { state: 'soon over', at: until } : undefined;
}

const timeWords = {
  'to come': 'is not valid before',
  over: 'has expired at',
  'soon over': 'expires soon, at',
} as const;

/** Warnings about usable certificates that clients reject for their validity period, or soon will. */
export async function tlsWarnings(
  { config, place }: LoadedConfig,
  now: number,
): Promise<readonly ConfigProblem[]> {
  const notes: ConfigProblem[] = [];
  for (const [section, settings] of Object.entries(sectionsOf(config.server))) {
    const read = settings === undefined ? undefined : await readTlsFiles(settings);
    if (settings === undefined || read === undefined || E.isLeft(read)) continue;
    const time = certificateTime(read.right.cert, now);
    if (time === undefined) continue;
    const why = `${settings.certFile} ${timeWords[time.state]} ${time.at.toISOString()}`;
    notes.push(place(finding(['server', section, 'cert_file'], why)));
  }
  return notes;
}
