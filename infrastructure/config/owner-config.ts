import type { Cadence } from '../../domain/budget/budget.ts';
import { parseKey, type PresentedKey } from '../../domain/identity/api-key.ts';
import { foldEmail } from '../../domain/identity/password.ts';
import type { Amount10000 } from '../../domain/money/money.ts';
import type { LimitTerms } from '../../domain/limits/rate-limit.ts';
import { displayName, email, id, modelId, timeZone } from './formats.ts';
import { limits, toLimits } from './limits-config.ts';
import { list, object, optional, refined, required, withDefault } from './object-codecs.ts';
import { boolean, choice, integer, text, type TypeOf } from './scalar-codecs.ts';

const budgetCodec = object({
  cadence: required(choice(['daily', 'weekly', 'monthly']), 'Length of a window; windows are in UTC.'),
  amount_10000: required(
    integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    'Amount in 1/10000 USD: 10000 is one dollar. 0 with a hard limit blocks everything.',
  ),
  hard_limit: withDefault(boolean, true, 'true refuses spend over the amount; false only raises alerts.'),
  timezone: withDefault(
    timeZone,
    'UTC',
    'Stored with the budget, without effect on its windows, which are in UTC.',
  ),
});

const budget = optional(budgetCodec, 'Spending limit of this owner.');

export const teamCodec = object({
  id: required(id, 'Id of the team.'),
  name: optional(displayName, 'Display name; the id unless set.'),
  budget,
  limits,
});

export const serviceAccountCodec = object({
  id: required(id, 'Id of the service account.'),
  name: optional(displayName, 'Display name; the id unless set.'),
  team: required(id, 'Team that pays.'),
});

export const userCodec = refined(
  object({
    email: required(email, 'E-mail address; identifies the user, whatever its case.'),
    name: optional(displayName, 'Display name; the address unless set.'),
    role: withDefault(choice(['user', 'platform_admin']), 'user', 'platform_admin may use the admin API.'),
    request_logging_enabled: withDefault(boolean, true, 'false keeps this user out of the request logs.'),
    team: optional(id, 'Team that the user is a member of.'),
    team_role: optional(
      choice(['owner', 'admin', 'member']),
      'Role in the team, member unless set; owners and admins get its budget alerts.',
    ),
    budget,
    limits,
  }),
  ({ team, team_role }) =>
    team === undefined && team_role !== undefined ? [{ at: ['team_role'], message: 'needs a `team`' }] : [],
);

const ownerPattern = /^(user|team|service_account):(.+)$/;

/** The public id is not a secret; everything after its dot is. */
const keySecret = (residue: string): boolean => residue.replace(/^gwk_[A-Za-z0-9_-]*\.?/, '') !== '';

export const apiKeyCodec = object({
  name: required(displayName, 'Name of the key; unique within the file.'),
  owner: required(
    text({
      what: 'user:EMAIL, team:ID or service_account:ID',
      maxLength: 300,
      pattern: ownerPattern,
    }),
    'Owner of the key: user:EMAIL, team:ID or service_account:ID.',
  ),
  value: required(
    text({
      what: 'gwk_<public id>.<secret>: a public id of 1 to 64 letters, digits, _ and -, a secret of at least 32 characters',
      maxLength: 600,
      refuse: (value) =>
        parseKey(value) === undefined
          ? 'must be gwk_<public id>.<secret> with a public id of 1 to 64 letters, digits, _ and - and a secret of at least 32 characters'
          : undefined,
      secret: keySecret,
    }),
    'The whole key, gwk_<public id>.<secret>, as ${NAME}.',
  ),
  allowed_models: withDefault(list(modelId, 10_000), [], 'Models that the key may use; empty means all.'),
  limits,
});

/** A budget as configured; the amount is in 1/10000 USD. */
export interface BudgetConfig {
  readonly cadence: Cadence;
  readonly amount10000: Amount10000;
  readonly hardLimit: boolean;
  /** IANA name. */
  readonly timezone: string;
}

export interface TeamConfig {
  readonly id: string;
  readonly name: string;
  readonly budget: BudgetConfig | undefined;
  readonly limits: LimitTerms | undefined;
}

export interface ServiceAccountConfig {
  readonly id: string;
  readonly name: string;
  readonly team: string;
}

export interface UserConfig {
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  readonly role: 'user' | 'platform_admin';
  readonly requestLoggingEnabled: boolean;
  readonly membership: { readonly team: string; readonly role: 'owner' | 'admin' | 'member' } | undefined;
  readonly budget: BudgetConfig | undefined;
  readonly limits: LimitTerms | undefined;
}

export type KeyOwnerConfig =
  | { readonly kind: 'user'; readonly email: string }
  | { readonly kind: 'team'; readonly id: string }
  | { readonly kind: 'service_account'; readonly id: string };

export interface ApiKeyConfig {
  readonly name: string;
  readonly owner: KeyOwnerConfig;
  readonly key: PresentedKey;
  /** Empty means every model. */
  readonly allowedModels: readonly string[];
  readonly limits: LimitTerms | undefined;
}

const toBudget = (wire: TypeOf<typeof budgetCodec> | undefined): BudgetConfig | undefined =>
  wire === undefined
    ? undefined
    : {
        cadence: wire.cadence,
        amount10000: BigInt(wire.amount_10000),
        hardLimit: wire.hard_limit,
        timezone: wire.timezone,
      };

export const toTeam = (wire: TypeOf<typeof teamCodec>): TeamConfig => ({
  id: wire.id,
  name: wire.name ?? wire.id,
  budget: toBudget(wire.budget),
  limits: toLimits(wire.limits),
});

export const toServiceAccount = (wire: TypeOf<typeof serviceAccountCodec>): ServiceAccountConfig => ({
  id: wire.id,
  name: wire.name ?? wire.id,
  team: wire.team,
});

export const toUser = (wire: TypeOf<typeof userCodec>): UserConfig => ({
  email: foldEmail(wire.email),
  name: wire.name ?? wire.email,
  role: wire.role,
  requestLoggingEnabled: wire.request_logging_enabled,
  membership: wire.team === undefined ? undefined : { team: wire.team, role: wire.team_role ?? 'member' },
  budget: toBudget(wire.budget),
  limits: toLimits(wire.limits),
});

/** The codec has checked the form of key and owner, so a failure here is a defect. */
export function toApiKey(wire: TypeOf<typeof apiKeyCodec>): ApiKeyConfig {
  const key = parseKey(wire.value);
  const owner = parseOwner(wire.owner);
  if (key === undefined || owner === undefined)
    throw new TypeError('an api key passed its codec without being one');
  return {
    name: wire.name,
    owner,
    key,
    allowedModels: wire.allowed_models,
    limits: toLimits(wire.limits),
  };
}

/** `user:EMAIL`, `team:ID` or `service_account:ID`; `undefined` for anything else. */
export function parseOwner(owner: string): KeyOwnerConfig | undefined {
  const [, kind, name] = ownerPattern.exec(owner) ?? [];
  if (name === undefined) return undefined;
  if (kind === 'user') return { kind, email: foldEmail(name) };
  return kind === 'team' ? { kind, id: name } : { kind: 'service_account', id: name };
}
