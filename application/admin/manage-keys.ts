import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { formatKey } from '../../domain/identity/api-key.ts';
import { isDisplayName, maxNameChars } from '../../domain/identity/owner-names.ts';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import type { Author, Change, Changed } from '../ports/changes.ts';
import type { Clock } from '../ports/clock.ts';
import type { KeyOwnerRef, KeyPatch, Keys, NewKey, StoredKey } from '../ports/keys.ts';
import type { KeySecrets } from '../ports/key-secrets.ts';

export interface KeyPorts {
  readonly keys: Keys;
  readonly secrets: KeySecrets;
  readonly clock: Pick<Clock, 'now'>;
}

export type KeyInput = Omit<NewKey, 'publicId' | 'secretSha256'>;

/** A key and, only this once, its full text: `gwk_<public id>.<secret>`. */
export interface ShownKey {
  readonly stored: StoredKey;
  readonly apiKey: string;
}

/** Creates a key for an owner that exists and is active. */
export const createKey =
  ({ keys, secrets, clock }: KeyPorts) =>
  async (input: KeyInput, author: Author): Promise<Either<GatewayError, ShownKey>> => {
    if (!isDisplayName(input.name)) return E.left(badName);
    if (input.expiresAt !== undefined && input.expiresAt.getTime() <= clock.now())
      return E.left(invalidRequest('`expires_at` must be in the future.', 'expires_at'));
    const { publicId, secret } = secrets.create();
    const created = await keys.create({ ...input, publicId, secretSha256: secrets.digest(secret) }, author);
    switch (created.kind) {
      case 'no_owner':
        return E.left(invalidRequest(`There is no owner ${ownerText(input.owner)}.`, 'owner_id'));
      case 'inactive_owner':
        return E.left(invalidRequest(`The owner ${ownerText(input.owner)} is not active.`, 'owner_id'));
      case 'unknown_models':
        return E.left(noModels(created.models));
      case 'done':
        return E.right({ stored: created.present, apiKey: formatKey({ publicId, secret }) });
    }
  };

/** Changes a key's name, its allowed models and its expiry. */
export const changeKey =
  ({ keys }: Pick<KeyPorts, 'keys'>) =>
  async (change: Change<string, KeyPatch>): Promise<Either<GatewayError, Changed<StoredKey>>> => {
    if (change.patch.name !== undefined && !isDisplayName(change.patch.name)) return E.left(badName);
    const changed = await keys.change(change);
    return changed.kind === 'unknown_models' ? E.left(noModels(changed.models)) : E.right(changed);
  };

/** The outcome of a rotation: a secret that did not come into force is not shown. */
type KeyRotatedAnew =
  | Exclude<Changed<StoredKey>, { kind: 'done' }>
  | { readonly kind: 'done'; readonly present: ShownKey };

/** Gives a key a new secret. The previous secret stays valid for `overlapSecs`; older ones do not. */
export const rotateKey =
  ({ keys, secrets }: Pick<KeyPorts, 'keys' | 'secrets'>) =>
  async ({
    patch: { overlapSecs },
    ...change
  }: Change<string, { readonly overlapSecs: number }>): Promise<Either<GatewayError, KeyRotatedAnew>> => {
    const { secret } = secrets.create();
    const rotated = await keys.rotate({
      ...change,
      patch: { secretSha256: secrets.digest(secret), overlapSecs },
    });
    if (rotated.kind === 'revoked')
      return E.left({ code: 'conflict', message: 'This key is revoked; make a new one.' });
    if (rotated.kind !== 'done') return E.right(rotated);
    const stored = rotated.present;
    return E.right({
      kind: 'done',
      present: { stored, apiKey: formatKey({ publicId: stored.publicId, secret }) },
    });
  };

const badName = invalidRequest(
  `\`name\` must be text of 1 to ${maxNameChars} characters that can be seen, without control characters.`,
  'name',
);

const noModels = (models: readonly string[]): GatewayError =>
  invalidRequest(`\`allowed_models\` names ${models.join(', ')}: there is no such model.`, 'allowed_models');

const ownerText = (owner: KeyOwnerRef): string => {
  if (owner.kind === 'team') return `team:${owner.teamId}`;
  if (owner.kind === 'service_account') return `service_account:${owner.serviceAccountId}`;
  return `user:${'userId' in owner ? owner.userId : owner.email}`;
};
