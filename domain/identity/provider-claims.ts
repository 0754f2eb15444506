import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isAbsent, isArray, isString, type Json, type JsonObject, present, textIn } from '../shared/json.ts';
import { isDisplayName } from './owner-names.ts';
import { isEmail } from './password.ts';

/** Whom the provider's claims let in, and in which role. */
export interface ClaimRules {
  /** In lower case; when empty, every domain is allowed. */
  readonly allowedEmailDomains: readonly string[];
  readonly groupsClaim: string;
  /** A member of one of these groups is a platform admin; when empty, the provider does not decide roles. */
  readonly adminGroups: readonly string[];
}

/** A person as the provider's claims describe them. */
export interface VouchedPerson {
  readonly email: string;
  readonly name: string;
  /** `undefined` when the provider does not decide the role. */
  readonly isAdmin: boolean | undefined;
}

/** The person in the claims of an ID token. Left is the reason why the claims let nobody in, worded for the log. */
export function vouchedPerson(claims: JsonObject, rules: ClaimRules): Either<string, VouchedPerson> {
  const email = claims['email'];
  if (!isString(email) || !isEmail(email)) return E.left('the claims have no e-mail address');
  if (!isVerified(claims)) return E.left('the provider has not verified the e-mail address');
  if (!isAllowedDomain(email, rules.allowedEmailDomains))
    return E.left('the domain of the e-mail address is not among allowed_email_domains');
  return E.right({ email, name: nameOf(claims['name']) ?? email, isAdmin: isAdminBy(claims, rules) });
}

/** Cognito's userinfo and claims mapped by Entra have text, and `xms_edov` also comes as a number. */
const yes: ReadonlySet<Json | undefined> = new Set([true, 'true', 1, '1']);

/**
 * Whether the address is verified. Entra never sends `email_verified`, but, if the app registration asks for it,
 * `xms_edov`: whether the owner of the address's domain is verified (rule 51.29).
 */
const isVerified = ({ email_verified, xms_edov }: JsonObject): boolean =>
  yes.has(isAbsent(email_verified) ? xms_edov : email_verified);

/** The whole domain must match: a subdomain is another domain. */
const isAllowedDomain = (email: string, allowed: readonly string[]): boolean =>
  allowed.length === 0 || allowed.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());

/** The name claim, if it can be shown to people; otherwise the e-mail address is used instead. */
function nameOf(claim: Json | undefined): string | undefined {
  const name = textIn(claim).trim();
  return isDisplayName(name) ? name : undefined;
}

/** Groups decide the role at each sign-in: a person in none of them is not an admin, also when the claim is missing. */
const isAdminBy = (claims: JsonObject, { groupsClaim, adminGroups }: ClaimRules): boolean | undefined =>
  adminGroups.length === 0
    ? undefined
    : groupsIn(claims[groupsClaim]).some((group) => adminGroups.includes(group));

/** Providers send a list, or a single group as text. */
const groupsIn = (claim: Json | undefined): readonly string[] =>
  isArray(claim) ? claim.filter(isString) : isString(claim) ? [claim] : [];

/** Whether the claims lack something that the rules need; the provider's userinfo is then asked, too. */
export const isIncomplete = (claims: JsonObject, { groupsClaim, adminGroups }: ClaimRules): boolean =>
  !tellsOfEmail(claims) || (adminGroups.length > 0 && claims[groupsClaim] === undefined);

/** Okta's ID tokens have the address only: whether it is verified is in its userinfo. */
const tellsOfEmail = ({ email, email_verified, xms_edov }: JsonObject): boolean =>
  !isAbsent(email) && !(isAbsent(email_verified) && isAbsent(xms_edov));

/**
 * The claims of an ID token, completed with those of userinfo. The e-mail address and whether it is verified come from
 * the same one of the two, because a verification of one address says nothing about another.
 */
export function mergedClaims(idToken: JsonObject, userInfo: JsonObject): JsonObject {
  const { email, email_verified, xms_edov } =
    tellsOfEmail(idToken) || isAbsent(userInfo['email']) ? idToken : userInfo;
  return present({ ...userInfo, ...idToken, email, email_verified, xms_edov });
}

/** How a sign-in changes a person's role. */
export type RoleChange = 'none' | 'given' | 'taken' | 'kept_last';

/**
 * The provider's groups grant and revoke the admin role. The last active platform admin keeps it, since otherwise
 * nobody could administer the gateway.
 */
export function roleChange(
  isAdmin: boolean,
  vouched: VouchedPerson['isAdmin'],
  otherAdmins: boolean,
): RoleChange {
  if (vouched === undefined || vouched === isAdmin) return 'none';
  if (vouched) return 'given';
  return otherAdmins ? 'taken' : 'kept_last';
}
