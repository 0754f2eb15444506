import * as E from 'fp-ts/lib/Either.js';
import type { TlsConfig } from './config/listener-config.ts';
import { certificateTime, readTlsFiles, type TlsFiles } from './config/tls-files.ts';
import type { Log } from './logging.ts';

/** A certificate that the configuration names, as last found valid. */
export interface Certificate {
  readonly files: () => TlsFiles;
  /** Calls `shown` with each pair that replaces the current one. */
  readonly follow: (shown: (files: TlsFiles) => void) => void;
  /** Reads the files again. A valid pair that differs takes effect; an invalid one changes nothing. */
  readonly look: () => Promise<void>;
}

/**
 * How often an expiring, expired or not yet valid certificate is logged again. A change of its state is logged at once.
 */
const timeMs = 24 * 60 * 60 * 1000;

/**
 * The certificate of a section such as `tls`, or `undefined` where `settings` has none. Throws an error that says why
 * the first pair cannot be used.
 */
export async function certificateOf(
  section: string,
  settings: () => TlsConfig | undefined,
  log: Pick<Log, 'info' | 'warn' | 'error'>,
  now = Date.now,
): Promise<Certificate | undefined> {
  const first = settings();
  if (first === undefined) return undefined;
  const read = await readTlsFiles(first);
  if (E.isLeft(read)) throw new Error(`server.${section}.${read.left.key}: ${read.left.message}.`);
  let files = read.right;
  let suspected: string | undefined;
  let reported: string | undefined;
  const followers: ((files: TlsFiles) => void)[] = [];

  /** Two files cannot be replaced atomically, so a problem is logged only if the next look finds it again. */
  const suspect = (problem: string): void => {
    if (problem === suspected && problem !== reported) {
      log.error(
        { section: `server.${section}`, problem },
        'the certificate was refused, and the old one stays',
      );
      reported = problem;
    }
    suspected = problem;
  };

  let timeTold: { readonly state: string; readonly at: number } | undefined;
  const tellTime = (): void => {
    const time = certificateTime(files.cert, now());
    if (time === undefined || (time.state === timeTold?.state && now() - timeTold.at < timeMs)) return;
    timeTold = { state: time.state, at: now() };
    const about = { section: `server.${section}`, at: time.at.toISOString() };
    if (time.state === 'soon over') log.warn(about, 'the certificate expires soon');
    else
      log.error(
        about,
        `the certificate ${time.state === 'over' ? 'has expired' : 'is not valid yet'}: clients refuse it`,
      );
  };
  tellTime();

  return {
    files: () => files,
    follow: (shown) => void followers.push(shown),
    look: async () => {
      tellTime();
      // A reload that removes or adds the section takes effect only at the next start.
      const found = await readTlsFiles(settings() ?? first);
      if (E.isLeft(found)) return suspect(found.left.message);
      suspected = undefined;
      reported = undefined;
      const { cert, key, minVersion } = found.right;
      if (cert === files.cert && key === files.key && minVersion === files.minVersion) return;
      files = found.right;
      for (const each of followers) each(files);
      timeTold = undefined;
      log.info({ section: `server.${section}` }, 'the certificate was reloaded');
    },
  };
}
