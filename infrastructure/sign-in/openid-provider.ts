import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import * as client from 'openid-client';
import type { IdentityProvider, ProviderFault, SignInKeys } from '../../application/ports/sign-in.ts';
import { clockToleranceSecs } from '../../domain/identity/oidc-sign-in.ts';
import { isIncomplete, mergedClaims } from '../../domain/identity/provider-claims.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { OidcConfig } from '../config/admin-auth-config.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { Discovered } from './discovered.ts';
import { providerFault } from './provider-fault.ts';

/** One identity provider under one configuration, with the URI that it redirects browsers to. */
export function openIdProvider(oidc: OidcConfig, redirectUri: string): IdentityProvider {
  const discovered = new Discovered(() => discover(oidc));
  const asking = async <A>(
    request: (configuration: client.Configuration) => Promise<A>,
  ): Promise<Either<ProviderFault, A>> => {
    const metadata = await caught(() => discovered.current());
    // Discovery is not about a person, so its failure is always that of the provider.
    if (E.isLeft(metadata)) return E.left({ ...metadata.left, kind: 'unavailable' });
    const answer = await caught(() => request(configurationOf(oidc, metadata.right)));
    if (E.isLeft(answer) && answer.left.kind === 'unavailable') discovered.doubt();
    return answer;
  };
  return {
    authorizationUrl: (keys, asksAccount) =>
      asking(async (configuration) => {
        const url = client.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: oidc.scopes.join(' '),
          state: keys.state,
          nonce: keys.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(keys.codeVerifier),
          code_challenge_method: 'S256',
          ...(asksAccount ? { prompt: accountPrompt(configuration.serverMetadata()) } : {}),
        });
        return url.href;
      }),
    claims: (query, keys) =>
      asking((configuration) =>
        claimsOf(configuration, oidc, new URL(`${redirectUri}?${query.toString()}`), keys),
      ),
    endSessionUrl: async () => {
      const url = await asking(async (configuration) =>
        configuration.serverMetadata().end_session_endpoint === undefined
          ? undefined
          : client.buildEndSessionUrl(configuration).href,
      );
      return E.isLeft(url) ? undefined : url.right;
    },
  };
}

/**
 * What makes the provider ask for the account (rule 51.32). One that lists its prompts without a choice of account
 * ignores or rejects that choice, as Keycloak does; a new login is the way to another account there.
 */
const accountPrompt = ({ prompt_values_supported: listed }: client.ServerMetadata): string =>
  Array.isArray(listed) && !listed.includes('select_account') ? 'login' : 'select_account';

/** The library throws expected failures of the provider; here they become values. */
async function caught<A>(work: () => Promise<A>): Promise<Either<ProviderFault, A>> {
  try {
    return E.right(await work());
  } catch (error) {
    const fault = providerFault(error);
    if (fault === undefined) throw error;
    return E.left(fault);
  }
}

/** The claims of the ID token, whose signature is verified; claims that are missing there come from userinfo. */
async function claimsOf(
  configuration: client.Configuration,
  oidc: OidcConfig,
  callback: URL,
  { state, nonce, codeVerifier }: SignInKeys,
): Promise<JsonObject> {
  const tokens = await client.authorizationCodeGrant(configuration, callback, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: codeVerifier,
    idTokenExpected: true,
  });
  const idToken = tokens.claims();
  const claims: JsonObject = { ...idToken };
  const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
  if (idToken === undefined || !hasUserInfo || !isIncomplete(claims, oidc)) return claims;
  const more = await client.fetchUserInfo(configuration, tokens.access_token, idToken.sub);
  return mergedClaims(claims, more);
}

const isInsecure = (oidc: OidcConfig): boolean => new URL(oidc.issuer).protocol === 'http:';

/** The issuer must equal the requested one exactly. */
async function discover(oidc: OidcConfig): Promise<client.ServerMetadata> {
  const found = await client.discovery(new URL(oidc.issuer), oidc.clientId, undefined, client.None(), {
    [client.customFetch]: boundedFetch,
    execute: isInsecure(oidc) ? [client.allowInsecureRequests] : [],
  });
  return found.serverMetadata();
}

/**
 * The library keeps a provider's keys with its configuration, and asks for them again after a minute at the earliest. A
 * new configuration for each use has the present keys: a sign-in cannot be repeated with the same code.
 */
function configurationOf(oidc: OidcConfig, metadata: client.ServerMetadata): client.Configuration {
  const configuration = new client.Configuration(
    metadata,
    oidc.clientId,
    { [client.clockTolerance]: clockToleranceSecs },
    authenticationOf(metadata, oidc.clientSecret),
  );
  configuration[client.customFetch] = boundedFetch;
  if (isInsecure(oidc)) client.allowInsecureRequests(configuration);
  client.enableNonRepudiationChecks(configuration);
  return configuration;
}

/**
 * In the body where the provider accepts it, as implementations disagree on its encoding in the header, the default.
 */
const authenticationOf = (
  { token_endpoint_auth_methods_supported: supported }: client.ServerMetadata,
  secret: string,
): client.ClientAuth =>
  Array.isArray(supported) && supported.includes('client_secret_post')
    ? client.ClientSecretPost(secret)
    : client.ClientSecretBasic(secret);
