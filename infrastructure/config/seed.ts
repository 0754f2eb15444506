import type { OwnerRef } from '../../application/ports/accounts.ts';
import type { Seed } from '../../application/ports/seed.ts';
import { secretDigest } from '../key-secrets.ts';
import type { LoadedConfig } from './load.ts';
import type { KeyOwnerConfig } from './owner-config.ts';

/** The desired state of the database according to a file: placeholders instead of secrets, digests instead of keys. */
export function seedOf({ config, persistable }: LoadedConfig): Seed {
  return {
    providers: config.providers.map(({ id, kind }, index) => ({
      id,
      kind,
      config: persistable.providers[index]?.value ?? null,
    })),
    models: config.models.map(({ id, routes, limits }, model) => ({
      id,
      limits,
      routes: routes.map(({ provider, upstreamModel, priority, enabled }, index) => ({
        provider,
        upstreamModel,
        priority,
        enabled,
        config: persistable.models[model]?.routes[index] ?? null,
      })),
    })),
    teams: config.teams,
    serviceAccounts: config.serviceAccounts,
    users: config.users,
    apiKeys: config.apiKeys.map(({ name, owner, key, allowedModels, limits }) => ({
      publicId: key.publicId,
      secretSha256: secretDigest(key.secret),
      name,
      owner: ownerRef(owner),
      allowedModels,
      limits,
    })),
    mailReady: config.mail !== undefined,
  };
}

function ownerRef(owner: KeyOwnerConfig): OwnerRef {
  switch (owner.kind) {
    case 'user':
      return owner;
    case 'team':
      return { kind: 'team', teamId: owner.id };
    case 'service_account':
      return { kind: 'service_account', serviceAccountId: owner.id };
  }
}
