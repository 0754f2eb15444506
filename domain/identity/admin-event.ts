/** What admins change, and what was changed; each name is what `admin_events` holds. */
export const adminActions = [
  'budget.set',
  'budget.delete',
  'api_key.create',
  'api_key.revoke',
  'admin.create',
  'rate_limit.set',
  'rate_limit.delete',
] as const;
export type AdminAction = (typeof adminActions)[number];

/** What a change is of: a budget's target is its owner, and a rate limit's what it limits. */
export const adminTargetKinds = ['user', 'team', 'api_key', 'model'] as const;
export type AdminTargetKind = (typeof adminTargetKinds)[number];
