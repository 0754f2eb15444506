import type { Caller, KeyOwner } from '../../../domain/identity/caller.ts';

export const userKey = (requestLoggingEnabled = true): KeyOwner => ({
  kind: 'user',
  userId: 'u1',
  requestLoggingEnabled,
});
export const teamKey: KeyOwner = { kind: 'team', teamId: 't1' };
export const serviceAccountKey: KeyOwner = { kind: 'service_account', serviceAccountId: 's1', teamId: 't1' };

/** A caller with a key of this owner; without a list of models it may use all. */
export const aCaller = (keyOwner: KeyOwner, allowedModels: readonly string[] = []): Caller => ({
  apiKeyId: 'k1',
  keyOwner,
  allowedModels,
});
