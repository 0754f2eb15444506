import type { defaultProvider } from '@aws-sdk/credential-provider-node';
import * as E from 'fp-ts/lib/Either.js';
import type { CloudBAuth } from '../../config/provider-auth.ts';
import type { ProviderContext } from '../provider.ts';
import { codeIn } from '../error-code.ts';
import { Renewed } from './renewed.ts';

/** The credentials that requests are signed with. */
export interface SigningCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * Credentials without an expiry come from the environment, a program or a credentials file. The file may have been
 * rotated, so such credentials are looked up again after this time.
 */
const lookAgainMs = 300_000;

/** The configured credentials, or those that the platform's default chain finds, renewed before they expire. */
export function signingCredentials(
  auth: CloudBAuth,
  region: string,
  { conceal, warn }: Pick<ProviderContext, 'conceal' | 'warn'>,
): Pick<Renewed<SigningCredentials>, 'current' | 'refused'> {
  if (auth.mode === 'static_credentials') {
    const { sessionToken, ...keys } = auth;
    const fixed = sessionToken === undefined ? keys : { ...keys, sessionToken };
    return { current: () => fixed, refused: () => undefined };
  }
  const resolve = chain(region, warn);
  return new Renewed<SigningCredentials>({
    name: 'the signing credentials',
    obtain: async (signal) => {
      const { accessKeyId, secretAccessKey, sessionToken, expiration } = await resolve(signal);
      for (const secret of [secretAccessKey, sessionToken]) if (secret !== undefined) conceal(secret);
      return E.right({
        value: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
        ...(expiration === undefined
          ? { endsAt: Number.POSITIVE_INFINITY, renewAt: Date.now() + lookAgainMs }
          : { endsAt: expiration.getTime() }),
      });
    },
    explain: reasonOf,
    warn,
  });
}

/**
 * Asks the default chain for credentials. The chain caches what it found, so a renewal forces a refresh. It shares one
 * request among concurrent callers, so a chain that did not answer in time is discarded: later renewals would otherwise
 * wait for its further attempts, which fail by then.
 */
function chain(region: string, warn: ProviderContext['warn']) {
  const quiet = (): void => undefined;
  const logger = { debug: quiet, info: quiet, warn: (message: string) => warn(message), error: quiet };
  let found: ReturnType<typeof defaultProvider> | undefined;
  const giveUp = (): void => {
    found = undefined;
  };
  return async (signal: AbortSignal) => {
    const library = await import('@aws-sdk/credential-provider-node');
    // Without `ignoreCache` the library reads the files of profiles once in the life of a process.
    found ??= library.defaultProvider({ clientConfig: { region }, logger, ignoreCache: true });
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await found({ forceRefresh: true });
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  };
}

/** The code or the name of the error only: messages of the chain contain names of profiles, roles and paths. */
const reasonOf = (error: unknown): string => {
  const name = error instanceof Error && /^\w{1,64}$/.test(error.name) ? error.name : undefined;
  const word = codeIn(error, 4) ?? name;
  return `the default chain found no credentials${word === undefined ? '' : ` (${word})`}`;
};
