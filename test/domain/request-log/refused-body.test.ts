import { describe, expect, it } from '@jest/globals';
import { summaryOfRefused } from '../../../domain/request-log/refused-body.ts';
import type { ApiFamily } from '../../../domain/routing/model.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';

const withTools: readonly ApiFamily[] = ['chat_completions', 'messages', 'responses'];
const withoutTools: readonly ApiFamily[] = ['embeddings', 'count_tokens'];
const two = [{ name: 'a' }, { name: 'b' }];

describe('the log row of a refused body', () => {
  it.each<[Json | undefined, string | undefined]>([
    ['fast', 'fast'],
    ['', undefined],
    [7, undefined],
    [null, undefined],
    [undefined, undefined],
  ])('with the model %j has the model %j', (model, logged) => {
    const body: JsonObject = model === undefined ? {} : { model };
    for (const family of [...withTools, ...withoutTools])
      expect(summaryOfRefused(family, body).model).toBe(logged);
  });

  it.each(withTools)('counts the tools of %s, of which null and absence are none', (family) => {
    const count = (body: JsonObject) => summaryOfRefused(family, body).exposedToolCount;
    expect([count({}), count({ tools: null }), count({ tools: [] }), count({ tools: two })]).toEqual([
      0, 0, 0, 2,
    ]);
    for (const tools of ['two', {}, 2]) expect(count({ tools })).toBeUndefined();
  });

  it('counts the legacy functions of chat completions only, beside tools', () => {
    const count = (family: ApiFamily, body: JsonObject) => summaryOfRefused(family, body).exposedToolCount;
    expect(count('chat_completions', { functions: two })).toBe(2);
    expect(count('chat_completions', { tools: two, functions: [{}] })).toBe(3);
    expect(count('chat_completions', { tools: two, functions: 'all' })).toBeUndefined();
    for (const family of ['messages', 'responses'] as const)
      expect(count(family, { functions: two })).toBe(0);
  });

  it.each(withTools)('of %s is a stream only if `stream` is true', (family) => {
    expect(summaryOfRefused(family, { stream: true }).stream).toBe(true);
    for (const stream of [false, 'true', 1, null])
      expect(summaryOfRefused(family, { stream }).stream).toBe(false);
  });

  it.each(withoutTools)('of %s has no number of tools, and is never a stream', (family) => {
    expect(summaryOfRefused(family, { model: 'fast', stream: true, tools: two })).toEqual({
      model: 'fast',
      stream: false,
      exposedToolCount: undefined,
    });
  });
});
