import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { ApiFamily } from '../../domain/routing/model.ts';
import { invalidRequest } from '../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { Pipeline, type PipelineOptions } from '../support/fakes/pipeline.ts';

const rowOf = async (options: PipelineOptions) => {
  const pipeline = await new Pipeline(options).serve();
  const { modelKey, resolvedModelKey, exposedToolCount, invokedToolCount, metadata } = pipeline.log ?? {};
  const [finished] = pipeline.finished;
  expect(pipeline.refusedWith).toBe('invalid_request');
  expect(finished).toMatchObject({ stream: metadata?.['stream'], exposedToolCount, invokedToolCount });
  return {
    modelKey,
    label: finished?.modelKey,
    resolvedModelKey,
    stream: metadata?.['stream'],
    tools: [exposedToolCount, invokedToolCount],
  };
};

const refused = (family: ApiFamily, asks: JsonObject) => rowOf({ family, asks });
const tools = [{ type: 'function' }, { type: 'web_search' }];
const known = { modelKey: 'fast', label: 'fast', resolvedModelKey: undefined };

describe('the log row of a request whose body is rejected', () => {
  it.each<[ApiFamily, JsonObject]>([
    ['chat_completions', { messages: [] }],
    ['messages', { max_tokens: -1 }],
    ['responses', { input: 7 }],
  ])('has its model, stream flag and tool counts: %s', async (family, wrong) => {
    expect(await refused(family, { ...wrong, stream: true, tools })).toEqual({
      ...known,
      stream: true,
      tools: [2, 0],
    });
    expect(await refused(family, wrong)).toEqual({ ...known, stream: false, tools: [0, 0] });
    expect(await refused(family, { tools: 'all' })).toEqual({
      ...known,
      stream: false,
      tools: [undefined, undefined],
    });
  });

  it('counts legacy functions of chat completions too', async () => {
    const functions = [{ name: 'f' }];
    const row = await refused('chat_completions', { messages: [], tools, functions });
    expect(row).toMatchObject({ tools: [3, 0] });
  });

  it.each<[ApiFamily, JsonObject]>([
    ['embeddings', { input: [] }],
    ['count_tokens', { messages: 'Hi' }],
  ])('has the model of %s, which has no stream and no tools', async (family, wrong) => {
    expect(await refused(family, { ...wrong, stream: true, tools })).toEqual({
      ...known,
      stream: false,
      tools: [undefined, undefined],
    });
  });

  it('has an unknown model, which is in no metric label', async () => {
    const row = await refused('chat_completions', { model: 'none', messages: [] });
    expect(row).toMatchObject({ modelKey: 'none', label: undefined });
  });

  it('has no model if the body has none or is not JSON', async () => {
    expect(await refused('chat_completions', { model: '' })).toMatchObject({ modelKey: undefined });
    const row = await rowOf({ request: { body: E.right('{"model":"fast"') } });
    expect(row).toMatchObject({ modelKey: undefined, stream: false, tools: [undefined, undefined] });
  });

  it('has the model, stream flag and tool counts of the body if a tag is invalid', async () => {
    const tags = E.left(invalidRequest('No.', 'x-gateway-tags'));
    const row = await rowOf({ asks: { stream: true, tools }, request: { tags } });
    expect(row).toEqual({ ...known, stream: true, tools: [2, 0] });
    const both = new Pipeline({ asks: { messages: [] }, request: { tags } });
    expect((await both.serve()).answer).toMatchObject({ error: { param: 'x-gateway-tags' } });
  });
});
