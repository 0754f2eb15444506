/** What admins change, and what was changed; each name is what `admin_events` holds. */
export const adminActions = [
  'budget.set',
  'budget.delete',
  'api_key.create',
  'api_key.revoke',
  'admin.create',
  'user.sign_up',
  'user.set_role',
  'password.change',
  'second_factor.enrol',
  'second_factor.remove',
] as const;
export type AdminAction = (typeof adminActions)[number];

/** What a change is of: a budget's target is its owner. */
export const adminTargetKinds = ['user', 'team', 'api_key'] as const;
export type AdminTargetKind = (typeof adminTargetKinds)[number];
