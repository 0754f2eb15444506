import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isAbsent, isArray, isString, type Json, type JsonObject, present } from '../shared/json.ts';
import { isDisplayName } from './owner-names.ts';
import { isEmail } from './password.ts';

/** Whom a provider's word lets in, and as what. */
export interface ClaimRules {
  /** In lower case; empty: every domain. */
  readonly allowedEmailDomains: readonly string[];
  readonly groupsClaim: string;
  /** Whoever is in one of them is a platform admin; empty: the provider says nothing of roles. */
  readonly adminGroups: readonly string[];
}

/** A person as the provider vouches for them. */
export interface VouchedPerson {
  readonly email: string;
  readonly name: string;
  /** Undefined: the role is not the provider's to say. */
  readonly isAdmin: boolean | undefined;
}

/** The person of an ID token's claims; left is why nobody is let in by them, in words for the log. */
export function vouchedPerson(claims: JsonObject, rules: ClaimRules): Either<string, VouchedPerson> {
  const email = claims['email'];
  if (!isString(email) || !isEmail(email)) return E.left('the claims have no e-mail address');
  if (claims['email_verified'] !== true) return E.left('the provider has not verified the e-mail address');
  if (!isAllowedDomain(email, rules.allowedEmailDomains))
    return E.left('the domain of the e-mail address is not among allowed_email_domains');
  return E.right({ email, name: nameOf(claims['name']) ?? email, isAdmin: isAdminBy(claims, rules) });
}

/** The whole domain has to be the same: one below it is another. */
const isAllowedDomain = (email: string, allowed: readonly string[]): boolean =>
  allowed.length === 0 || allowed.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());

/** A name that people can be shown; the e-mail address stands for one that is none. */
function nameOf(claim: Json | undefined): string | undefined {
  const name = isString(claim) ? claim.trim() : '';
  return isDisplayName(name) ? name : undefined;
}

/** The group decides at each sign-in: whoever is in none of them is no admin, also when the claim is missing. */
const isAdminBy = (claims: JsonObject, { groupsClaim, adminGroups }: ClaimRules): boolean | undefined =>
  adminGroups.length === 0
    ? undefined
    : groupsIn(claims[groupsClaim]).some((group) => adminGroups.includes(group));

/** Providers send a list, or one group as text. */
const groupsIn = (claim: Json | undefined): readonly string[] =>
  isArray(claim) ? claim.filter(isString) : isString(claim) ? [claim] : [];

/** Whether the claims lack what the rules ask for: then the provider's userinfo is asked, too. */
export const isIncomplete = (claims: JsonObject, { groupsClaim, adminGroups }: ClaimRules): boolean =>
  claims['email'] === undefined || (adminGroups.length > 0 && claims[groupsClaim] === undefined);

/**
 * The claims of an ID token, with those of userinfo that are missing there. An address and whether it is verified come
 * from one of the two: the word for one address is not for another.
 */
export function mergedClaims(idToken: JsonObject, userInfo: JsonObject): JsonObject {
  const { email, email_verified } = isAbsent(idToken['email']) ? userInfo : idToken;
  return present({ ...userInfo, ...idToken, email, email_verified });
}

/** What a sign-in makes of a person's role. */
export type RoleChange = 'none' | 'given' | 'taken' | 'kept_last';

/** The provider's groups give and take the role; the last active platform admin keeps it, or nobody could rule. */
export function roleChange(
  isAdmin: boolean,
  vouched: VouchedPerson['isAdmin'],
  otherAdmins: boolean,
): RoleChange {
  if (vouched === undefined || vouched === isAdmin) return 'none';
  if (vouched) return 'given';
  return otherAdmins ? 'taken' : 'kept_last';
}
