import type { Either } from 'fp-ts/lib/Either.js';
import type { AdminSession } from '../../domain/identity/admin-session.ts';
import type { ClaimRules, RoleChange, VouchedPerson } from '../../domain/identity/provider-claims.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { Person } from './admin-access.ts';

/** Parameters of one authorization request to the identity provider; new for each sign-in, and stored nowhere. */
export interface SignInKeys {
  readonly state: string;
  readonly nonce: string;
  /** The code verifier of PKCE. */
  readonly codeVerifier: string;
}

/** Why the provider did not vouch for anybody; the reason is for the log, and holds no secret. */
export interface ProviderFault {
  /** `unavailable` when nobody could sign in now; `refused` when this person cannot. */
  readonly kind: 'unavailable' | 'refused';
  readonly reason: string;
}

/** The identity provider of `admin_auth.oidc`. */
export interface IdentityProvider {
  /** The URL to which a browser is sent to sign in; with `asksAccount`, the provider asks the person as whom. */
  readonly authorizationUrl: (
    keys: SignInKeys,
    asksAccount: boolean,
  ) => Promise<Either<ProviderFault, string>>;
  /** The provider's claims about the person who came back with this query, validated with the provider's keys. */
  readonly claims: (query: URLSearchParams, keys: SignInKeys) => Promise<Either<ProviderFault, JsonObject>>;
  /** The URL at which the provider's own session ends; `undefined` when it has none, or cannot be reached. */
  readonly endSessionUrl: () => Promise<string | undefined>;
}

/** How people sign in at the provider, as configured. */
export interface ProviderTerms extends ClaimRules {
  readonly displayName: string;
  readonly createUsers: boolean;
}

/** A browser that was sent to the provider. */
export interface SignIn {
  readonly stateSha256: Uint8Array;
  readonly browserSha256: Uint8Array;
  readonly returnTo: string;
  /** The address under which sign-ins are counted. */
  readonly address: string;
}

/** Sign-ins that are under way at the provider. */
export interface SignIns {
  /**
   * False when the maximum number of sign-ins from this address is under way. Above the total maximum, the oldest are
   * dropped.
   */
  readonly begin: (signIn: SignIn) => Promise<boolean>;
  /** Consumes a sign-in, once; `undefined` when there is none, it is too old, or it belongs to another browser. */
  readonly take: (
    signIn: Pick<SignIn, 'stateSha256' | 'browserSha256'>,
  ) => Promise<Pick<SignIn, 'returnTo'> | undefined>;
}

/** A session to open: for whom, with what token, and from where. */
export interface VouchedSession {
  readonly person: VouchedPerson;
  readonly createUser: boolean;
  readonly tokenSha256: Uint8Array;
  readonly address: string;
  readonly session: (now: number) => AdminSession;
}

/** The outcome of an admission. */
export type VouchedAdmission =
  | { readonly kind: 'unknown' | 'inactive' }
  | {
      readonly kind: 'admitted';
      readonly person: Person;
      readonly role: RoleChange;
    };

/** People that the provider vouches for: looked up, created, granted and denied the role in one transaction. */
export interface VouchedPeople {
  readonly admit: (session: VouchedSession) => Promise<VouchedAdmission>;
}
