import { types } from 'node:util';
import * as client from 'openid-client';
import type { ProviderFault } from '../../application/ports/sign-in.ts';

/** The form of OAuth's error names; a provider may send anything in their place. */
const errorName = /^[a-z_]{1,64}$/;

const named = (error: string): string => (errorName.test(error) ? error : 'an error without a proper name');

const refused = (reason: string): ProviderFault => ({ kind: 'refused', reason });
const unavailable = (reason: string): ProviderFault => ({ kind: 'unavailable', reason });

/** Codes of an answer that was read, and does not vouch for this person. */
const refusals: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]);

/**
 * Why the provider did not vouch for a person, without anything that it sent except names of errors. `undefined` when
 * the error is not the provider's but ours.
 */
export function providerFault(error: unknown): ProviderFault | undefined {
  if (error instanceof client.AuthorizationResponseError)
    return refused(`the provider refused: ${named(error.error)}`);
  // `invalid_grant`: the code was used, has expired, or was not made for this sign-in.
  if (error instanceof client.ResponseBodyError)
    return error.error === 'invalid_grant'
      ? refused('the provider refused the code: invalid_grant')
      : unavailable(`the provider refused the gateway: ${named(error.error)}`);
  if (error instanceof client.WWWAuthenticateChallengeError)
    return unavailable(`the provider refused the gateway with status ${error.status}`);
  if (error instanceof client.ClientError) return clientFault(error);
  return comesOfProvider(error) ? unavailable(`the provider cannot be asked: ${causeOf(error)}`) : undefined;
}

function clientFault(error: client.ClientError): ProviderFault {
  const { code, cause } = error;
  if (code !== undefined && refusals.has(code))
    return refused(`the answer of the provider is not valid: ${claimOf(cause) ?? explained(error)}`);
  if (cause instanceof Response) return unavailable(`the provider answered with status ${cause.status}`);
  return unavailable(
    `the provider cannot be asked: ${code === undefined ? causeOf(cause) : explained(error)}`,
  );
}

/** The code with the library's own words for it, which are about names and hold nothing that the provider sent. */
const explained = ({ code, message, cause }: client.ClientError): string =>
  `${code}, ${types.isNativeError(cause) && 'code' in cause && cause.code === code ? cause.message : message}`;

/** The claim that had a wrong value. */
function claimOf(cause: unknown): string | undefined {
  const inner: unknown = types.isNativeError(cause) ? cause.cause : undefined;
  const claim: unknown =
    typeof inner === 'object' && inner !== null && 'claim' in inner ? inner.claim : undefined;
  return typeof claim === 'string' && errorName.test(claim) ? `claim ${claim}` : undefined;
}

/**
 * `fetch` rejects with a TypeError, or with the error that aborted it; so does the library when a published key has
 * members of wrong types. Where the metadata have no usable address, it throws one of OAuth's codes.
 */
const comesOfProvider = (error: unknown): boolean =>
  types.isNativeError(error) &&
  (['TypeError', 'TimeoutError', 'AbortError', 'AnswerTooLarge', 'AnswerTooDeep'].includes(error.name) ||
    causeOf(error).startsWith('OAUTH_'));

/** The innermost code, which is the system's, else the innermost kind of error. Messages may contain anything. */
function causeOf(error: unknown): string {
  if (!types.isNativeError(error)) return 'no reason given';
  if (types.isNativeError(error.cause)) return causeOf(error.cause);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
