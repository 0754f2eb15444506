import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { changeKey, createKey, type KeyPorts, rotateKey } from '../../../application/admin/manage-keys.ts';
import type { KeyOwnerRef } from '../../../application/ports/keys.ts';
import { keyStatuses, maxOverlapSecs } from '../../../domain/identity/api-key.ts';
import { maxIdChars } from '../../../domain/identity/owner-names.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { type AdminRoute, adminRoute, listRoute } from './admin-route.ts';
import { changedAnswer, unchanged } from './change-answer.ts';
import { detailRoute } from './detail-route.ts';
import { choiceInput, optionalInput, nullableInput, otherwise, textInput, integerInput } from './inputs.ts';
import { apiKeyBody, presentKey, presentShownKey, shownKeyBody } from './key-bodies.ts';
import { displayNameInput, modelsInput } from './object-inputs.ts';
import { instantInput, nameParam, uuidIn } from './query.ts';

const root = '/api/v1/admin/api-keys';
const param = 'api_key_id';
const path = `${root}/:${param}`;
const named = { what: 'API key', param, present: presentKey };

const ownerKinds = ['user', 'team', 'service_account'] as const;
type OwnerKind = (typeof ownerKinds)[number];

/** API keys: lists, creation, changes, rotation and revocation. */
export const keyRoutes = (ports: KeyPorts): readonly AdminRoute[] => [
  listRoute({
    path: root,
    summary: 'API keys, newest first.',
    query: {
      owner_kind: optionalInput(choiceInput(ownerKinds)),
      owner_id: nameParam,
      name: nameParam,
      status: optionalInput(choiceInput(keyStatuses)),
    },
    item: apiKeyBody,
    find: async ({ owner_kind: ownerKind, owner_id: ownerId, name, status }, page) =>
      ownerId !== undefined && ownerKind === undefined
        ? E.left(invalidRequest('`owner_id` needs `owner_kind` beside it.', 'owner_kind'))
        : E.right(await ports.keys.page({ ownerKind, ownerId, name, status }, page)),
    present: presentKey,
  }),
  creation(ports),
  detailRoute({
    root,
    ...named,
    summary: 'An API key, without its secret.',
    answer: apiKeyBody,
    find: (id) => ports.keys.find(id),
  }),
  change(ports),
  revocation(ports),
  rotation(ports),
];

const creation = (ports: KeyPorts): AdminRoute =>
  adminRoute({
    method: 'POST',
    path: root,
    summary: 'Creates an API key; only this answer has the secret.',
    body: {
      of: 'an API key',
      members: {
        name: displayNameInput,
        owner_kind: choiceInput(ownerKinds),
        owner_id: textInput(maxIdChars),
        allowed_models: otherwise(modelsInput, []),
        expires_at: optionalInput(nullableInput(instantInput)),
      },
    },
    answer: shownKeyBody,
    handle: async ({ admin, body }) => {
      const owner = ownerRef(body.owner_kind, body.owner_id);
      if (E.isLeft(owner)) return owner;
      const input = {
        name: body.name,
        owner: owner.right,
        allowedModels: body.allowed_models,
        expiresAt: body.expires_at ?? undefined,
      };
      const created = await createKey(ports)(input, admin);
      return E.isLeft(created) ? created : E.right(presentShownKey(created.right));
    },
  });

function ownerRef(kind: OwnerKind, id: string): Either<GatewayError, KeyOwnerRef> {
  if (kind === 'team') return E.right({ kind, teamId: id });
  if (kind === 'service_account') return E.right({ kind, serviceAccountId: id });
  const userId = uuidIn(id);
  return userId === undefined
    ? E.left(invalidRequest('`owner_id` must be the UUID of a user.', 'owner_id'))
    : E.right({ kind, userId });
}

const change = (ports: KeyPorts): AdminRoute =>
  adminRoute({
    method: 'PATCH',
    path,
    summary: 'Changes the name, the allowed models and the expiry of an API key.',
    isVersioned: true,
    body: {
      of: 'a change of an API key',
      members: {
        name: optionalInput(displayNameInput),
        allowed_models: optionalInput(modelsInput),
        expires_at: optionalInput(nullableInput(instantInput)),
      },
    },
    answer: apiKeyBody,
    errors: ['not_found'],
    handle: async ({ admin, params, body, ifMatch }) => {
      const patch = { name: body.name, allowedModels: body.allowed_models, expiresAt: body.expires_at };
      const changed = await changeKey(ports)({
        id: params[param] ?? '',
        patch,
        version: ifMatch,
        author: admin,
      });
      return E.isLeft(changed) ? changed : changedAnswer(changed.right, named);
    },
  });

const revocation = (ports: KeyPorts): AdminRoute =>
  adminRoute({
    method: 'DELETE',
    path,
    summary: 'Revokes an API key for good; every replica refuses it within 5 seconds.',
    isVersioned: true,
    answer: apiKeyBody,
    errors: ['not_found'],
    handle: async ({ admin, params, ifMatch }) =>
      changedAnswer(
        await ports.keys.revoke({ id: params[param] ?? '', version: ifMatch, author: admin }),
        named,
      ),
  });

const rotation = (ports: KeyPorts): AdminRoute =>
  adminRoute({
    method: 'POST',
    path: `${path}/rotate`,
    summary:
      'Gives an API key a new secret, shown in this answer alone; the one before it lives on for a while.',
    isVersioned: true,
    body: {
      of: 'a rotation',
      members: { overlap_secs: otherwise(integerInput(0, maxOverlapSecs), 0) },
    },
    answer: shownKeyBody,
    errors: ['not_found'],
    handle: async ({ admin, params, body, ifMatch }) => {
      const rotated = await rotateKey(ports)({
        id: params[param] ?? '',
        patch: { overlapSecs: body.overlap_secs },
        version: ifMatch,
        author: admin,
      });
      if (E.isLeft(rotated)) return rotated;
      return rotated.right.kind === 'done'
        ? E.right(presentShownKey(rotated.right.present))
        : E.left(unchanged(rotated.right, named));
    },
  });
