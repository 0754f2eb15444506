import * as E from 'fp-ts/lib/Either.js';
import type { ServiceAccounts } from '../../../application/ports/owners.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { type AdminRoute, adminRoute, listRoute } from './admin-route.ts';
import { taken, unchanged } from './change-answer.ts';
import { detailRoute } from './detail-route.ts';
import { flagInput, optionalInput } from './inputs.ts';
import { displayNameInput, ownerIdInput } from './object-inputs.ts';
import { accountBody, changedAccount, presentAccount, presentEffects } from './owner-bodies.ts';
import { anyId, flagParam, nameParam } from './query.ts';

export interface ServiceAccountRoutePorts {
  readonly serviceAccounts: ServiceAccounts;
}

const root = '/api/v1/admin/service-accounts';
const param = 'service_account_id';
const named = { what: 'service account', param, present: presentAccount };

const noTeam: GatewayError = invalidRequest('`team_id` names no team.', 'team_id');

/** Service accounts. Each belongs to a team, which pays. */
export const serviceAccountRoutes = ({
  serviceAccounts,
}: ServiceAccountRoutePorts): readonly AdminRoute[] => [
  listRoute({
    path: root,
    summary: 'Service accounts, newest first.',
    query: { name: nameParam, active: flagParam, team_id: nameParam },
    item: accountBody,
    find: async ({ team_id: teamId, ...filter }, page) =>
      E.right(await serviceAccounts.page({ ...filter, teamId }, page)),
    present: presentAccount,
  }),
  detailRoute({
    root,
    idIn: anyId,
    ...named,
    summary: 'A service account.',
    answer: accountBody,
    find: (id) => serviceAccounts.find(id),
  }),
  creation(serviceAccounts),
  change(serviceAccounts),
];

const creation = (serviceAccounts: ServiceAccounts): AdminRoute =>
  adminRoute({
    method: 'POST',
    path: root,
    summary: 'Creates a service account.',
    body: {
      of: 'a service account',
      members: {
        service_account_id: ownerIdInput,
        name: optionalInput(displayNameInput),
        team_id: ownerIdInput,
      },
    },
    answer: accountBody,
    errors: ['conflict'],
    handle: async ({ admin, body }) => {
      const { service_account_id: serviceAccountId, name = serviceAccountId, team_id: teamId } = body;
      const made = await serviceAccounts.create({ serviceAccountId, name, teamId }, admin);
      if (made.kind === 'no_team') return E.left(noTeam);
      const present = presentAccount(made.present);
      return made.kind === 'done'
        ? E.right(present)
        : E.left(taken('There is a service account of this id.', 'service_account_id', present));
    },
  });

const change = (serviceAccounts: ServiceAccounts): AdminRoute =>
  adminRoute({
    method: 'PATCH',
    path: `${root}/:${param}`,
    summary: 'Changes a service account; the keys of one that is not active are refused.',
    isVersioned: true,
    body: {
      of: 'a change of a service account',
      members: {
        name: optionalInput(displayNameInput),
        active: optionalInput(flagInput),
        team_id: optionalInput(ownerIdInput),
      },
    },
    answer: changedAccount,
    errors: ['not_found'],
    handle: async ({ admin, params, body: { team_id: teamId, ...others }, ifMatch }) => {
      const changed = await serviceAccounts.change({
        id: params[param] ?? '',
        patch: { ...others, teamId },
        version: ifMatch,
        author: admin,
      });
      if (changed.kind === 'no_team') return E.left(noTeam);
      return changed.kind === 'done'
        ? E.right({ ...presentAccount(changed.present), effects: presentEffects(changed.deactivated) })
        : E.left(unchanged(changed, named));
    },
  });
