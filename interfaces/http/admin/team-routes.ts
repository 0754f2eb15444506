import * as E from 'fp-ts/lib/Either.js';
import type { NoMembership, Teams } from '../../../application/ports/owners.ts';
import { teamRoles } from '../../../domain/identity/owner-names.ts';
import { type AdminFailure, type AdminRoute, adminRoute, listRoute, notFound } from './admin-route.ts';
import { taken, unchanged } from './change-answer.ts';
import { detailRoute } from './detail-route.ts';
import { choiceInput, flagInput, optionalInput } from './inputs.ts';
import { displayNameInput, ownerIdInput } from './object-inputs.ts';
import {
  changedTeam,
  memberBody,
  presentEffects,
  presentMember,
  presentTeam,
  removedMember,
  teamBody,
} from './owner-bodies.ts';
import { anyId, flagParam, nameParam } from './query.ts';

export interface TeamRoutePorts {
  readonly teams: Teams;
}

const root = '/api/v1/admin/teams';
const param = 'team_id';
const path = `${root}/:${param}`;
const named = { what: 'team', param, present: presentTeam };

/** Teams and their members. The users of a team are listed with the users, by `team_id`. */
export const teamRoutes = ({ teams }: TeamRoutePorts): readonly AdminRoute[] => [
  listRoute({
    path: root,
    summary: 'Teams, newest first.',
    query: { name: nameParam, active: flagParam },
    item: teamBody,
    find: async (filter, page) => E.right(await teams.page(filter, page)),
    present: presentTeam,
  }),
  detailRoute({
    root,
    idIn: anyId,
    ...named,
    summary: 'A team.',
    answer: teamBody,
    find: (id) => teams.find(id),
  }),
  creation(teams),
  change(teams),
  ...memberRoutes(teams),
];

const creation = (teams: Teams): AdminRoute =>
  adminRoute({
    method: 'POST',
    path: root,
    summary: 'Creates a team.',
    body: { of: 'a team', members: { team_id: ownerIdInput, name: optionalInput(displayNameInput) } },
    answer: teamBody,
    errors: ['conflict'],
    handle: async ({ admin, body: { team_id: teamId, name = teamId } }) => {
      const made = await teams.create({ teamId, name }, admin);
      return made.kind === 'done'
        ? E.right(presentTeam(made.present))
        : E.left(taken('There is a team of this id.', 'team_id', presentTeam(made.present)));
    },
  });

const change = (teams: Teams): AdminRoute =>
  adminRoute({
    method: 'PATCH',
    path,
    summary: 'Changes a team; the keys of one that is not active are refused, and its budget stays.',
    isVersioned: true,
    body: {
      of: 'a change of a team',
      members: { name: optionalInput(displayNameInput), active: optionalInput(flagInput) },
    },
    answer: changedTeam,
    errors: ['not_found'],
    handle: async ({ admin, params, body, ifMatch }) => {
      const changed = await teams.change({
        id: params[param] ?? '',
        patch: body,
        version: ifMatch,
        author: admin,
      });
      return changed.kind === 'done'
        ? E.right({ ...presentTeam(changed.present), effects: presentEffects(changed.deactivated) })
        : E.left(unchanged(changed, named));
    },
  });

const memberRoutes = (teams: Teams): readonly AdminRoute[] => [
  adminRoute({
    method: 'PUT',
    path: `${path}/members/:user_id`,
    summary: 'Adds a user to a team, or changes the role of a member.',
    body: { of: 'a membership', members: { role: choiceInput(teamRoles) } },
    answer: memberBody,
    errors: ['not_found'],
    handle: async ({ admin, params, body: { role } }) => {
      const set = await teams.setMember({ ...memberIn(params), role }, admin);
      return set.kind === 'done' ? E.right(presentMember(set.present)) : E.left(noMembership(set));
    },
  }),
  adminRoute({
    method: 'DELETE',
    path: `${path}/members/:user_id`,
    summary: 'Removes a user from a team.',
    answer: removedMember,
    errors: ['not_found'],
    handle: async ({ admin, params }) => {
      const member = memberIn(params);
      const gone = await teams.removeMember(member, admin);
      return gone.kind === 'done'
        ? E.right({ team_id: member.teamId, user_id: member.userId, removed: gone.removed })
        : E.left(noMembership(gone));
    },
  }),
];

const memberIn = (params: Readonly<Record<string, string>>) => ({
  teamId: params[param] ?? '',
  userId: (params['user_id'] ?? '').toLowerCase(),
});

const noMembership = ({ kind }: NoMembership): AdminFailure =>
  kind === 'no_team' ? notFound(named.what, param) : notFound('user', 'user_id');
