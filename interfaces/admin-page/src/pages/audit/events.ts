import type { ResponseData, QueryOf } from '../../api/client.ts';
import { wordOf } from '../../app/words.ts';

type Query = QueryOf<'/api/v1/admin/events'>;
export type AdminEvent = ResponseData<'/api/v1/admin/events'>['items'][number];

export const actions = [
  'budget.set',
  'budget.delete',
  'api_key.create',
  'api_key.update',
  'api_key.rotate',
  'api_key.revoke',
  'user.create',
  'user.update',
  'user.set_role',
  'user.sign_up',
  'team.create',
  'team.update',
  'team_member.set',
  'team_member.delete',
  'service_account.create',
  'service_account.update',
  'rate_limit.set',
  'rate_limit.delete',
  'model.test',
  'mail.test',
  'admin_token.create',
  'admin_token.revoke',
  'admin.create',
  'password.change',
  'second_factor.enrol',
  'second_factor.remove',
] as const satisfies readonly NonNullable<Query['action']>[];

export const targetKinds = [
  'user',
  'team',
  'service_account',
  'api_key',
  'admin_token',
  'model',
] as const satisfies readonly NonNullable<Query['target_kind']>[];

/** The query of the API for the address. An unknown word is rejected by the filter's name, as in the API. */
export function eventQuery({
  action: asked,
  target_kind: kind,
  ...others
}: Readonly<Record<string, string>>): Query {
  const action = wordOf('action', actions, asked);
  const targetKind = wordOf('target_kind', targetKinds, kind);
  return {
    ...others,
    ...(action === undefined ? {} : { action }),
    ...(targetKind === undefined ? {} : { target_kind: targetKind }),
  };
}
