import * as E from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import { createToken, type CreateTokenPorts } from '../../../application/admin/manage-tokens.ts';
import type { StoredToken } from '../../../application/ports/admin-tokens.ts';
import { tokenScopes } from '../../../domain/identity/admin-token.ts';
import { type AdminRoute, adminRoute, listRoute, notFound } from './admin-route.ts';
import {
  choiceValue,
  dayValue,
  flagValue,
  instantValue,
  objectOf,
  orNull,
  textValue,
  uuidValue,
} from '../answers.ts';
import { choiceInput, optionalInput, nullableInput } from './inputs.ts';
import { creator, presentCreator } from './key-bodies.ts';
import { displayNameInput } from './object-inputs.ts';
import { instantInput } from './query.ts';

const root = '/api/v1/admin/tokens';
const param = 'admin_token_id';

const tokenFields = {
  admin_token_id: uuidValue,
  public_id: textValue,
  name: textValue,
  scope: choiceValue(tokenScopes),
  created_by: creator,
  created_at: instantValue,
  expires_at: orNull(instantValue),
  last_used_on: orNull(dayValue),
  revoked_at: orNull(instantValue),
  active: flagValue,
};
const tokenBody = objectOf(tokenFields);
const shownTokenBody = objectOf({ ...tokenFields, token: textValue });

/**
 * Tokens of the admin API for scripts. A token cannot create or revoke tokens, so its power ends when it is revoked.
 */
export const tokenRoutes = (ports: CreateTokenPorts): readonly AdminRoute[] => [
  listRoute({
    path: root,
    summary: 'API tokens of all admins, newest first.',
    query: {},
    item: tokenBody,
    sessionOnly: true,
    find: async (_asked, page) => E.right(await ports.adminTokens.page(page)),
    present: presentToken,
  }),
  adminRoute({
    method: 'POST',
    path: root,
    summary: 'Creates an API token of the admin who is logged in; only this answer has the secret.',
    body: {
      of: 'an API token',
      members: {
        name: displayNameInput,
        scope: choiceInput(tokenScopes),
        expires_at: optionalInput(nullableInput(instantInput)),
      },
    },
    answer: shownTokenBody,
    sessionOnly: true,
    handle: async ({ admin, body: { expires_at: expiresAt, ...input } }) => {
      const made = await createToken(ports)({ ...input, expiresAt: expiresAt ?? undefined }, admin);
      return E.isLeft(made) ? made : E.right({ ...presentToken(made.right.stored), token: made.right.token });
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: `${root}/:${param}`,
    summary: 'Revokes an API token at once.',
    answer: tokenBody,
    errors: ['not_found'],
    sessionOnly: true,
    handle: async ({ admin, params }) => {
      const revoked = await ports.adminTokens.revoke(params[param] ?? '', admin);
      return revoked === undefined ? E.left(notFound('API token', param)) : E.right(presentToken(revoked));
    },
  }),
];

function presentToken(token: StoredToken): t.TypeOf<typeof tokenBody> {
  return {
    admin_token_id: token.adminTokenId,
    public_id: token.publicId,
    name: token.name,
    scope: token.scope,
    created_by: presentCreator(token.createdBy),
    created_at: token.createdAt.toISOString(),
    expires_at: token.expiresAt?.toISOString() ?? null,
    last_used_on: token.lastUsedOn ?? null,
    revoked_at: token.revokedAt?.toISOString() ?? null,
    active: token.active,
  };
}
