import type * as t from 'io-ts';
import type {
  Deactivated,
  Membership,
  StoredServiceAccount,
  StoredTeam,
  StoredUser,
} from '../../../application/ports/owners.ts';
import { teamRoles, userRoles } from '../../../domain/identity/owner-names.ts';
import {
  arrayOf,
  choiceValue,
  countValue,
  flagValue,
  instantValue,
  objectOf,
  orNull,
  textValue,
  uuidValue,
} from '../answers.ts';

const teamRole = choiceValue(teamRoles);

/** Fields that every owner has. */
const shared = {
  name: textValue,
  active: flagValue,
  from_config: flagValue,
  created_at: instantValue,
  version: countValue,
};

const presentShared = (owner: StoredTeam | StoredUser | StoredServiceAccount) => ({
  name: owner.name,
  active: owner.active,
  from_config: owner.fromConfig,
  created_at: owner.createdAt.toISOString(),
  version: owner.version,
});

const userFields = {
  user_id: uuidValue,
  email: textValue,
  role: choiceValue(userRoles),
  request_logging_enabled: flagValue,
  teams: arrayOf(objectOf({ team_id: textValue, role: teamRole })),
  ...shared,
};
const teamFields = { team_id: textValue, member_count: countValue, ...shared };
const accountFields = {
  service_account_id: textValue,
  team_id: textValue,
  team_name: textValue,
  ...shared,
};

const effects = orNull(
  objectOf({
    keys_refused: countValue,
    sessions_ended: countValue,
    tokens_revoked: countValue,
    budget: choiceValue(['kept', 'none']),
  }),
);

export const userBody = objectOf(userFields);
export const changedUser = objectOf({ ...userFields, effects });
export const teamBody = objectOf(teamFields);
export const changedTeam = objectOf({ ...teamFields, effects });
export const accountBody = objectOf(accountFields);
export const changedAccount = objectOf({ ...accountFields, effects });

export const presentUser = (user: StoredUser): t.TypeOf<typeof userBody> => ({
  user_id: user.userId,
  email: user.email,
  role: user.role,
  request_logging_enabled: user.requestLoggingEnabled,
  teams: user.teams.map(({ teamId, role }) => ({ team_id: teamId, role })),
  ...presentShared(user),
});

export const presentTeam = (team: StoredTeam): t.TypeOf<typeof teamBody> => ({
  team_id: team.teamId,
  member_count: team.memberCount,
  ...presentShared(team),
});

export const presentAccount = (account: StoredServiceAccount): t.TypeOf<typeof accountBody> => ({
  service_account_id: account.serviceAccountId,
  team_id: account.teamId,
  team_name: account.teamName,
  ...presentShared(account),
});

/** The effects of deactivating an owner; null for any other change. */
export const presentEffects = (done: Deactivated | undefined): t.TypeOf<typeof effects> =>
  done === undefined
    ? null
    : {
        keys_refused: done.keysRefused,
        sessions_ended: done.sessionsEnded,
        tokens_revoked: done.tokensRevoked,
        budget: done.hasBudget ? 'kept' : 'none',
      };

export const memberBody = objectOf({
  team_id: textValue,
  user_id: uuidValue,
  role: teamRole,
  from_config: flagValue,
  created_at: instantValue,
});

export const removedMember = objectOf({ team_id: textValue, user_id: uuidValue, removed: flagValue });

export const presentMember = (member: Membership): t.TypeOf<typeof memberBody> => ({
  team_id: member.teamId,
  user_id: member.userId,
  role: member.role,
  from_config: member.fromConfig,
  created_at: member.createdAt.toISOString(),
});
