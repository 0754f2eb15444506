import { describe, expect, it } from '@jest/globals';
import { mayUseModel, ownerOf, ownershipScopeKey, usableModels } from '../../../domain/identity/caller.ts';
import { aCaller, serviceAccountKey, teamKey, userKey } from '../../support/arbitraries/callers.ts';
import { steepGrowth, times } from '../../support/growth/growth.ts';

describe('budgets and spend belong to the owner of the key', () => {
  it.each([
    ['a user’s key', userKey(), { kind: 'user', userId: 'u1' }, 'user:u1'],
    ['a team’s key', teamKey, { kind: 'team', teamId: 't1' }, 'team:t1:actor:none'],
    [
      'a service account’s key: its team',
      serviceAccountKey,
      { kind: 'team', teamId: 't1' },
      'team:t1:actor:none',
    ],
  ])('%s', (_, keyOwner, owner, scope) => {
    expect(ownerOf(aCaller(keyOwner))).toEqual(owner);
    expect(ownershipScopeKey(ownerOf(aCaller(keyOwner)))).toBe(scope);
  });

  it('the logging setting of a user does not change the owner', () => {
    expect(ownerOf(aCaller(userKey(false)))).toEqual(ownerOf(aCaller(userKey(true))));
  });
});

describe('a key may use a model', () => {
  it.each([
    ['any model, if its list is empty', [], 'fast', true],
    ['that is on its list', ['slow', 'fast'], 'fast', true],
    ['unless it is not on its list', ['slow'], 'fast', false],
    ['unless a name on its list is only a prefix of the name', ['fast'], 'fast-2', false],
    ['unless the name differs in case', ['fast'], 'Fast', false],
    ['unless the name is empty', ['fast'], '', false],
  ])('%s', (_, allowedModels, model, allowed) => {
    expect(mayUseModel(aCaller(userKey(), allowedModels), model)).toBe(allowed);
  });
});

describe('the models that a key may use', () => {
  const models = new Map(['slow', 'fast', 'Fast'].map((id) => [id, id]));

  it.each([
    ['are all, if its list is empty', [], ['slow', 'fast', 'Fast']],
    ['are each listed once', ['fast', 'fast'], ['fast']],
    ['are none that does not exist', ['fast-2', 'fast', ''], ['fast']],
  ])('%s', (_, allowedModels, usable) => {
    expect(usableModels(aCaller(userKey(), allowedModels), models)).toEqual(usable);
  });

  it('are found in linear time', () => {
    const growth = steepGrowth((count) => {
      const ids = times(count, (index) => `model-${index}`);
      const all = new Map(ids.map((id) => [id, id]));
      const caller = aCaller(userKey(), ids.toReversed());
      return () => void usableModels(caller, all);
    });
    expect(growth).toBeUndefined();
  });
});
