import { describe, expect, it } from '@jest/globals';
import type { KeyOwner } from '../../domain/identity/caller.ts';
import { requestLog } from '../../infrastructure/logging.ts';
import { finished } from '../support/finished-request.ts';
import { memoryLog } from '../support/gateway.ts';

describe('the log line of a model request', () => {
  it.each<readonly [string, KeyOwner | undefined, object]>([
    ['a user', { kind: 'user', userId: 'u', requestLoggingEnabled: false }, { user_id: 'u' }],
    ['a team', { kind: 'team', teamId: 't' }, { team_id: 't' }],
    [
      'a service account, with the team that pays',
      { kind: 'service_account', serviceAccountId: 's', teamId: 't' },
      { team_id: 't', service_account_id: 's' },
    ],
    ['no caller', undefined, {}],
  ])('has the ids of the owner of its API key: %s', (_who, keyOwner, ids) => {
    const log = memoryLog();
    const caller = keyOwner && { apiKeyId: 'k', keyOwner, allowedModels: [] };
    requestLog(log)(finished({ caller }), undefined);
    const [line] = log.lines;
    const owner = Object.entries(line?.fields ?? {}).filter(([name]) =>
      ['user_id', 'team_id', 'service_account_id'].includes(name),
    );
    expect(Object.fromEntries(owner)).toEqual(ids);
  });
});
