import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isObject, isString, type Json, numberOf, parseJson } from '../../../domain/shared/json.ts';
import { codeIn } from '../error-code.ts';
import type { CredentialLease } from './renewed.ts';

/** The only scope that the platform's model calls need. */
export const cloudPlatformScope = 'https://www.googleapis.com/auth/cloud-platform';

/** The maximum bytes of a token service's answer. */
export const maxTokenBytes = 64 * 1024;

/** Whether a token can be sent in a header. */
const isToken = (token: unknown): token is string =>
  typeof token === 'string' && /^[\x21-\x7e]+$/.test(token);

const noToken = E.left('the token service answered without a token');

export const accessTokenLease = (
  token: string | null | undefined,
  endsAt: number | null | undefined,
): Either<string, CredentialLease<string>> =>
  isToken(token) && typeof endsAt === 'number' ? E.right({ value: token, endsAt }) : noToken;

/** An ID token contains its own expiry. */
export function idTokenLease(token: string | null | undefined): Either<string, CredentialLease<string>> {
  if (!isToken(token)) return noToken;
  const claims = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  const endsAtSecs = isObject(claims) ? numberOf(claims['exp']) : undefined;
  return endsAtSecs === undefined ? noToken : E.right({ value: token, endsAt: endsAtSecs * 1000 });
}

/** The parts of an HTTP library's error that are read. Its message is not, because it repeats what was sent. */
interface HttpError {
  readonly response?: { readonly status?: unknown; readonly data?: unknown };
}

/** Why a token service returned no token, as a clause without secrets. */
export function tokenFailure(error: unknown): string {
  const { response } = asHttpError(error);
  if (typeof response?.status === 'number')
    return `the token service answered with status ${response.status}${oauthError(response.data as Json)}`;
  const code = codeIn(error, 4);
  return `the token service could not be asked${code === undefined ? '' : ` (${code})`}`;
}

const asHttpError = (error: unknown): HttpError => (typeof error === 'object' && error !== null ? error : {});

/** The code of RFC 6749 (`invalid_grant`), never its description. */
function oauthError(data: Json | undefined): string {
  const body = isString(data) ? parseJson(data) : data;
  const code = isObject(body) ? body['error'] : undefined;
  return isString(code) && /^[a-z_]{1,64}$/.test(code) ? ` (${code})` : '';
}
