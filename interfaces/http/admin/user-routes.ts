import * as E from 'fp-ts/lib/Either.js';
import type { Users } from '../../../application/ports/owners.ts';
import { maxNameChars, userRoles } from '../../../domain/identity/owner-names.ts';
import { type AdminRoute, adminRoute, conflictWith, listRoute } from './admin-route.ts';
import { taken, unchanged } from './change-answer.ts';
import { detailRoute } from './detail-route.ts';
import { choiceInput, flagInput, optionalInput, otherwise } from './inputs.ts';
import { displayNameInput, emailInput } from './object-inputs.ts';
import { changedUser, presentEffects, presentUser, userBody } from './owner-bodies.ts';
import { flagParam, nameParam } from './query.ts';

export interface UserRoutePorts {
  readonly users: Users;
}

const root = '/api/v1/admin/users';
const param = 'user_id';
const named = { what: 'user', param, present: presentUser };

/** People: lists, creation and changes. Nobody is deleted, because spend and events refer to them. */
export const userRoutes = ({ users }: UserRoutePorts): readonly AdminRoute[] => [
  listRoute({
    path: root,
    summary: 'Users, newest first.',
    query: {
      email: nameParam,
      name: nameParam,
      active: flagParam,
      role: optionalInput(choiceInput(userRoles)),
      team_id: nameParam,
    },
    item: userBody,
    find: async ({ team_id: teamId, ...filter }, page) =>
      E.right(await users.page({ ...filter, teamId }, page)),
    present: presentUser,
  }),
  detailRoute({
    root,
    ...named,
    summary: 'A user with the teams that the user is a member of.',
    answer: userBody,
    find: (id) => users.find(id),
  }),
  creation(users),
  change(users),
];

const creation = (users: Users): AdminRoute =>
  adminRoute({
    method: 'POST',
    path: root,
    summary: 'Creates a user.',
    body: {
      of: 'a user',
      members: {
        email: emailInput,
        name: optionalInput(displayNameInput),
        role: otherwise(choiceInput(userRoles), 'user'),
        request_logging_enabled: otherwise(flagInput, true),
      },
    },
    answer: userBody,
    errors: ['conflict'],
    handle: async ({ admin, body }) => {
      const {
        email,
        name = Array.from(email).slice(0, maxNameChars).join(''),
        role,
        request_logging_enabled: requestLoggingEnabled,
      } = body;
      const made = await users.create({ email, name, role, requestLoggingEnabled }, admin);
      return made.kind === 'done'
        ? E.right(presentUser(made.present))
        : E.left(taken('There is a user with this e-mail address.', 'email', presentUser(made.present)));
    },
  });

const change = (users: Users): AdminRoute =>
  adminRoute({
    method: 'PATCH',
    path: `${root}/:${param}`,
    summary: 'Changes a user; one who is not active is refused everywhere, and keeps budgets and keys.',
    isVersioned: true,
    body: {
      of: 'a change of a user',
      members: {
        name: optionalInput(displayNameInput),
        role: optionalInput(choiceInput(userRoles)),
        request_logging_enabled: optionalInput(flagInput),
        active: optionalInput(flagInput),
      },
    },
    answer: changedUser,
    errors: ['not_found'],
    handle: async ({ admin, params, body, ifMatch }) => {
      const { request_logging_enabled: requestLoggingEnabled, ...others } = body;
      const changed = await users.change({
        id: params[param] ?? '',
        patch: { ...others, requestLoggingEnabled },
        version: ifMatch,
        author: admin,
      });
      if (changed.kind === 'last_admin')
        return E.left({
          ...conflictWith(presentUser(changed.present)),
          message: 'This is the last active platform admin: make another one first.',
        });
      return changed.kind === 'done'
        ? E.right({ ...presentUser(changed.present), effects: presentEffects(changed.deactivated) })
        : E.left(unchanged(changed, named));
    },
  });
