import type * as t from 'io-ts';
import type { Creator, StoredKey } from '../../../application/ports/keys.ts';
import type { ShownKey } from '../../../application/admin/manage-keys.ts';
import {
  arrayOf,
  choiceValue,
  countValue,
  dayValue,
  flagValue,
  instantValue,
  objectOf,
  orNull,
  textValue,
  uuidValue,
} from '../answers.ts';

/** Who created an object. */
export const creator = objectOf({ user_id: uuidValue, name: textValue });

export const presentCreator = ({ userId, name }: Creator): t.TypeOf<typeof creator> => ({
  user_id: userId,
  name,
});

const keyFields = {
  api_key_id: uuidValue,
  public_id: textValue,
  name: textValue,
  owner_kind: choiceValue(['user', 'team', 'service_account']),
  owner_id: textValue,
  owner_name: textValue,
  allowed_models: arrayOf(textValue),
  expires_at: orNull(instantValue),
  previous_expires_at: orNull(instantValue),
  revoked_at: orNull(instantValue),
  revoked_by: orNull(choiceValue(['admin', 'config'])),
  last_used_on: orNull(dayValue),
  from_config: flagValue,
  created_at: instantValue,
  created_by: orNull(creator),
  version: countValue,
  active: flagValue,
};

/** A key without its secret. */
export const apiKeyBody = objectOf(keyFields);

/** The same with the whole key, which is shown only once. */
export const shownKeyBody = objectOf({ ...keyFields, api_key: textValue });

export const presentKey = (key: StoredKey): t.TypeOf<typeof apiKeyBody> => ({
  api_key_id: key.apiKeyId,
  public_id: key.publicId,
  name: key.name,
  owner_kind: key.ownerKind,
  owner_id: key.ownerId,
  owner_name: key.ownerName,
  allowed_models: key.allowedModels,
  expires_at: key.expiresAt?.toISOString() ?? null,
  previous_expires_at: key.previousExpiresAt?.toISOString() ?? null,
  revoked_at: key.revokedAt?.toISOString() ?? null,
  revoked_by: key.revokedBy ?? null,
  last_used_on: key.lastUsedOn ?? null,
  from_config: key.fromConfig,
  created_at: key.createdAt.toISOString(),
  created_by: key.createdBy === undefined ? null : presentCreator(key.createdBy),
  version: key.version,
  active: key.active,
});

export const presentShownKey = ({ stored, apiKey }: ShownKey): t.TypeOf<typeof shownKeyBody> => ({
  ...presentKey(stored),
  api_key: apiKey,
});
