import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { TestRequest, TestResult } from '../../../application/models/test-model.ts';
import { testedFamilies } from '../../../application/models/tiny-request.ts';
import type { AdminActor } from '../../../application/ports/admin-events.ts';
import type { ModelList } from '../../../application/ports/model-list.ts';
import { maxIdChars } from '../../../domain/identity/owner-names.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { type AdminRoute, adminRoute, listRoute } from './admin-route.ts';
import { ownerNamed } from './budget-bodies.ts';
import { detailRoute } from './detail-route.ts';
import { choiceInput, optionalInput, textInput, integerInput } from './inputs.ts';
import {
  modelItem,
  presentModelItem,
  presentProviderItem,
  presentTest,
  providerItem,
  testedModel,
} from './model-bodies.ts';
import { anyId, flagParam, nameParam } from './query.ts';

export interface ModelRoutePorts {
  readonly modelList: ModelList;
  readonly testModel: (
    requested: TestRequest,
    actor: AdminActor,
  ) => Promise<Either<GatewayError, TestResult>>;
}

const root = '/api/v1/admin/models';
const param = 'model_id';

/** Every position of a route in the file is below this. */
const maxPosition = 1_000_000;

const testBody = {
  of: 'a test',
  members: {
    route_position: optionalInput(integerInput(0, maxPosition)),
    owner_kind: choiceInput(['user', 'team']),
    owner_id: textInput(maxIdChars),
    family: optionalInput(choiceInput(testedFamilies)),
  },
};

/** Models with their routes and the providers, as configured in the file, and a test of a route. */
export const modelRoutes = ({ modelList, testModel }: ModelRoutePorts): readonly AdminRoute[] => [
  listRoute({
    path: root,
    summary: 'Models with their routes, what each can do and what it costs, by id.',
    query: { model: nameParam, provider: nameParam, enabled: flagParam },
    item: modelItem,
    find: async ({ model: modelKey, provider: providerKey, enabled }, page) =>
      E.right(await modelList.page({ modelKey, providerKey, enabled }, page)),
    present: presentModelItem,
  }),
  detailRoute({
    root,
    param,
    idIn: anyId,
    what: 'model',
    summary: 'One model; slashes in its id are percent-encoded.',
    answer: modelItem,
    find: (id) => modelList.find(id),
    present: presentModelItem,
  }),
  adminRoute({
    method: 'POST',
    path: `${root}/:${param}/test`,
    summary: 'Sends one tiny request over a route of a model, for an owner, and reports what happened.',
    body: testBody,
    answer: testedModel,
    errors: ['not_found', 'too_many_requests'],
    handle: async ({ params, body, admin }) => {
      const owner = ownerNamed(body.owner_kind, body.owner_id);
      if (owner === undefined)
        return E.left(invalidRequest('`owner_id` must be a UUID where the owner is a user.', 'owner_id'));
      const { route_position: routePosition, family } = body;
      const tested = await testModel({ modelKey: params[param] ?? '', routePosition, owner, family }, admin);
      return E.isLeft(tested) ? tested : E.right(presentTest(tested.right));
    },
  }),
  listRoute({
    path: '/api/v1/admin/providers',
    summary: 'Providers, without anything that is secret, by id.',
    query: {},
    item: providerItem,
    find: async (_asked, page) => E.right(await modelList.providers(page)),
    present: presentProviderItem,
  }),
];
