import type { Either } from 'fp-ts/lib/Either.js';
import type { AdminSession } from '../../domain/identity/admin-session.ts';
import type { ClaimRules, RoleChange, VouchedPerson } from '../../domain/identity/provider-claims.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { Person } from './admin-access.ts';

/** What the identity provider is asked with; made anew for each sign-in, and stored nowhere. */
export interface SignInKeys {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly codeVerifier: string;
}

/** Why the provider did not vouch for anybody; the reason is for the log, without a secret. */
export interface ProviderFault {
  /** `unavailable`: nobody could sign in now; `refused`: this one cannot. */
  readonly kind: 'unavailable' | 'refused';
  readonly reason: string;
}

/** The identity provider of `admin_auth.oidc`. */
export interface IdentityProvider {
  /** Where a browser is sent to sign in. */
  readonly authorizationUrl: (keys: SignInKeys) => Promise<Either<ProviderFault, string>>;
  /** The claims that the provider makes of who came back with this query; validated by its keys. */
  readonly claims: (query: URLSearchParams, keys: SignInKeys) => Promise<Either<ProviderFault, JsonObject>>;
  /** Where its own session is ended; undefined when it has no such place, or cannot be asked. */
  readonly endSessionUrl: () => Promise<string | undefined>;
}

/** How the configuration has it that people sign in at the provider. */
export interface ProviderTerms extends ClaimRules {
  readonly displayName: string;
  readonly createUsers: boolean;
}

/** A browser that was sent to the provider. */
export interface SignIn {
  readonly stateSha256: Uint8Array;
  readonly browserSha256: Uint8Array;
  readonly returnTo: string;
  /** As sign-ins are counted by. */
  readonly address: string;
}

/** Browsers that are at the provider. */
export interface SignIns {
  /** False: as many as there may be are under way. */
  readonly begin: (signIn: SignIn) => Promise<boolean>;
  /** Takes a sign-in up, once; undefined when there is none, it is too old, or it is another browser's. */
  readonly take: (
    signIn: Pick<SignIn, 'stateSha256' | 'browserSha256'>,
  ) => Promise<Pick<SignIn, 'returnTo'> | undefined>;
}

/** A session to be opened: for whom, by what token, and from where. */
export interface VouchedSession {
  readonly person: VouchedPerson;
  readonly createUser: boolean;
  readonly tokenSha256: Uint8Array;
  readonly address: string;
  readonly session: (now: number) => AdminSession;
}

/** What became of it. */
export type VouchedAdmission =
  | { readonly kind: 'unknown' | 'inactive' }
  | {
      readonly kind: 'admitted';
      readonly person: Person;
      readonly role: RoleChange;
    };

/** People as the provider vouches for them: found, made, given and denied the role, in one transaction. */
export interface VouchedPeople {
  readonly admit: (session: VouchedSession) => Promise<VouchedAdmission>;
}
