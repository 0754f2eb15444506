import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { RequestLogFilter, RequestLogs } from '../../../application/ports/request-logs.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { type AdminRoute, listRoute } from './admin-route.ts';
import { detailRoute } from './detail-route.ts';
import { choiceInput, optionalInput, type ValuesOf } from './inputs.ts';
import { flagParam, instantParam, nameParam, requestIdText, sha256, uuid, integerParam } from './query.ts';
import {
  presentDetail,
  presentLog,
  pricingStatuses,
  requestLogBody,
  requestLogDetailBody,
} from './request-log-bodies.ts';

export interface RequestLogRoutePorts {
  readonly requestLogs: RequestLogs;
}

const root = '/api/v1/admin/observability/request-logs';

const statusCode = optionalInput(integerParam(100, 599));

const filters = {
  request_id: requestIdText,
  request_id_sha256: sha256,
  model_key: nameParam,
  not_model_key: nameParam,
  provider_key: nameParam,
  not_provider_key: nameParam,
  status_code: statusCode,
  not_status_code: statusCode,
  error_code: nameParam,
  not_error_code: nameParam,
  failed: flagParam,
  pricing_status: optionalInput(choiceInput(pricingStatuses)),
  in_ledger: flagParam,
  owner_kind: optionalInput(choiceInput(['user', 'team'])),
  user_id: uuid,
  not_user_id: uuid,
  team_id: nameParam,
  not_team_id: nameParam,
  service_account_id: nameParam,
  not_service_account_id: nameParam,
  api_key_id: uuid,
  not_api_key_id: uuid,
  service: nameParam,
  not_service: nameParam,
  component: nameParam,
  not_component: nameParam,
  env: nameParam,
  not_env: nameParam,
  agent_harness_key: nameParam,
  not_agent_harness_key: nameParam,
  tag_key: nameParam,
  tag_value: nameParam,
  from: instantParam,
  to: instantParam,
};

/** Retained request logs: pages of summary rows, and one row with everything that belongs to it. */
export const requestLogRoutes = ({ requestLogs }: RequestLogRoutePorts): readonly AdminRoute[] => [
  listRoute({
    fromReplica: true,
    path: root,
    summary: 'Request logs as they are retained, newest first.',
    query: filters,
    item: requestLogBody,
    find: async (asked, page) => {
      const filter = filterOf(asked);
      return E.isLeft(filter) ? filter : E.right(await requestLogs.page(filter.right, page));
    },
    present: presentLog,
  }),
  detailRoute({
    fromReplica: true,
    root,
    param: 'request_log_id',
    what: 'request log',
    summary: 'One request log with its payload and its attempts.',
    answer: requestLogDetailBody,
    find: (id) => requestLogs.find(id),
    present: presentDetail,
  }),
];

/** `tag_key` with `tag_value` selects one bespoke tag. Neither is valid alone. */
function filterOf(given: ValuesOf<typeof filters>): Either<GatewayError, RequestLogFilter> {
  const { tag_key: key, tag_value: value, ...asked } = given;
  if (key === undefined && value !== undefined) return E.left(halfATag('tag_key', 'tag_value'));
  if (key !== undefined && value === undefined) return E.left(halfATag('tag_value', 'tag_key'));
  return E.right({
    requestId: asked.request_id,
    longRequestIdSha256: asked.request_id_sha256,
    apiKeyId: asked.api_key_id,
    userId: asked.user_id,
    serviceAccountId: asked.service_account_id,
    teamId: asked.team_id,
    modelKey: asked.model_key,
    providerKey: asked.provider_key,
    statusCode: asked.status_code,
    errorCode: asked.error_code,
    failed: asked.failed,
    pricingStatus: asked.pricing_status,
    inLedger: asked.in_ledger,
    ownerKind: asked.owner_kind,
    service: asked.service,
    component: asked.component,
    env: asked.env,
    agentHarnessKey: asked.agent_harness_key,
    tag: key === undefined || value === undefined ? undefined : { key, value },
    except: {
      apiKeyId: asked.not_api_key_id,
      userId: asked.not_user_id,
      serviceAccountId: asked.not_service_account_id,
      teamId: asked.not_team_id,
      modelKey: asked.not_model_key,
      providerKey: asked.not_provider_key,
      statusCode: asked.not_status_code,
      errorCode: asked.not_error_code,
      service: asked.not_service,
      component: asked.not_component,
      env: asked.not_env,
      agentHarnessKey: asked.not_agent_harness_key,
    },
    from: asked.from,
    until: asked.to,
  });
}

const halfATag = (missing: string, given: string): GatewayError =>
  invalidRequest(`\`${given}\` needs \`${missing}\` beside it.`, missing);
