import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { CloudAAuth, CloudRunAuth } from '../../config/provider-auth.ts';
import type { Authenticator, ProviderContext } from '../provider.ts';
import { type CredentialLease, Renewed } from './renewed.ts';
import { accountAccessToken, accountIdToken } from './google-service-account.ts';
import { metadataAccessToken, metadataIdToken } from './google-metadata.ts';
import { readServiceAccount, type ServiceAccount } from './service-account-file.ts';
import { tokenFailure } from './token-service.ts';

type Context = Pick<ProviderContext, 'conceal' | 'warn'>;

/** Requests one token. Left: the reason of the failure, as a clause without secrets. */
type Obtain = (signal: AbortSignal) => Promise<Either<string, CredentialLease<string>>>;

/** Access tokens for platform A. */
export function googleAccessTokens(auth: CloudAAuth, context: Context): Authenticator {
  if (auth.mode === 'bearer') return withToken('authorization', always(auth.token));
  const obtain = from(auth.credentialsPath, metadataAccessToken, accountAccessToken);
  return withToken('authorization', renewed('the access token', obtain, context));
}

/** ID tokens for a serverless service, issued for its audience. */
export function googleIdTokens(auth: CloudRunAuth, context: Context): Authenticator {
  if (auth.mode === 'bearer') return withToken(auth.header, always(auth.token));
  const { audience } = auth;
  const obtain = from(
    auth.credentialsPath,
    () => metadataIdToken(audience),
    (account, signal) => accountIdToken(account, audience, signal),
  );
  return withToken(auth.header, renewed('the ID token', obtain, context));
}

/** The metadata server, or the credentials file if configured, which is read each time: it may have been rotated. */
function from(
  path: string | undefined,
  metadata: Obtain,
  exchanged: (account: ServiceAccount, signal: AbortSignal) => ReturnType<Obtain>,
): Obtain {
  if (path === undefined) return metadata;
  return async (signal) => {
    const account = await readServiceAccount(path);
    return E.isLeft(account) ? account : exchanged(account.right, signal);
  };
}

function renewed(name: string, obtain: Obtain, { conceal, warn }: Context): Tokens {
  return new Renewed<string>({
    name,
    obtain: async (signal) => {
      const obtained = await obtain(signal);
      if (E.isRight(obtained)) conceal(obtained.right.value);
      return obtained;
    },
    explain: tokenFailure,
    warn,
  });
}

type Tokens = Pick<Renewed<string>, 'current' | 'refused'>;

const always = (token: string): Tokens => ({ current: () => token, refused: () => undefined });

const withToken =
  (header: string, tokens: Tokens): Authenticator =>
  (request) => {
    const signed = (token: string) => ({
      ...request,
      headers: { ...request.headers, [header]: `Bearer ${token}` },
      refused: () => tokens.refused(token),
    });
    const token = tokens.current();
    return token instanceof Promise ? token.then(E.map(signed)) : signed(token);
  };
