/** The actions of admins, by the names that `admin_events` stores. */
export const adminActions = [
  'budget.set',
  'budget.delete',
  'api_key.create',
  'api_key.update',
  'api_key.rotate',
  'api_key.revoke',
  'admin.create',
  'user.sign_up',
  'user.set_role',
  'password.change',
  'second_factor.enrol',
  'second_factor.remove',
  'user.create',
  'user.update',
  'team.create',
  'team.update',
  'team_member.set',
  'team_member.delete',
  'service_account.create',
  'service_account.update',
  'admin_token.create',
  'admin_token.revoke',
  'model.test',
  'mail.test',
  'rate_limit.set',
  'rate_limit.delete',
] as const;
export type AdminAction = (typeof adminActions)[number];

/**
 * The kinds of target that an action has: a budget's target is its owner, a membership's its team, a rate limit's what
 * it limits.
 */
export const adminTargetKinds = [
  'user',
  'team',
  'service_account',
  'api_key',
  'admin_token',
  'model',
] as const;
export type AdminTargetKind = (typeof adminTargetKinds)[number];
