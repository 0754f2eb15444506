import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { apiStyleNames, effortPlacements } from '../../domain/compatibility/cloud-b-style.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';

/** The paths, below the route, of the problems of one route to platform B. */
function faults(route: object): readonly string[] {
  const file = {
    providers: [
      { id: 'b', type: 'cloud_b_platform', region: 'us-east-1' },
      { id: 'chat', type: 'compat', base_url: 'http://127.0.0.1:1' },
    ],
    models: [{ id: 'm', routes: [{ provider: 'b', upstream_model: 'u', ...route }] }],
  };
  const loaded = parseConfig(JSON.stringify(file), {});
  if (E.isRight(loaded)) return [];
  return loaded.left.map(({ path }) => path.replace('models[0].routes[0].', ''));
}

const off = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, false]));
const style = (api_style: string, more: object = {}) => ({ cloud_b: { api_style, ...more } });
const path = { openai_base_path: '/openai/v1' };
const partial = off('responses', 'json_schema', 'embeddings');

describe('cloud_b', () => {
  it.each([
    ['runtime_unified', {}, partial],
    ['runtime_messages', {}, { ...partial, stream: false }],
    ['runtime_chat', path, partial],
    ['endpointb_responses', path, off('chat_completions', 'embeddings')],
    ['endpointb_chat', path, partial],
    ['endpointb_messages', {}, partial],
  ])('%s loads with the capabilities that it supports', (api_style, more, capabilities) => {
    expect(faults({ compatibility: style(api_style, more), capabilities })).toEqual([]);
  });

  it('the block is required on a route to platform B', () => {
    expect(faults({ capabilities: partial })).toEqual(['compatibility.cloud_b']);
  });

  it.each(['runtime_chat', 'endpointb_chat'])('openai_base_path is required for %s', (api_style) => {
    expect(faults({ compatibility: style(api_style), capabilities: partial })).toEqual([
      'compatibility.cloud_b.openai_base_path',
    ]);
  });

  it('openai_base_path is required for endpointb_responses', () => {
    const route = {
      compatibility: style('endpointb_responses'),
      capabilities: off('chat_completions', 'embeddings'),
    };
    expect(faults(route)).toEqual(['compatibility.cloud_b.openai_base_path']);
  });

  it.each(['runtime_unified', 'runtime_chat', 'endpointb_chat', 'endpointb_messages'])(
    '%s may not enable responses, json_schema or embeddings',
    (api_style) => {
      expect(faults({ compatibility: style(api_style, path) })).toEqual([
        'capabilities.embeddings',
        'capabilities.json_schema',
        'capabilities.responses',
      ]);
    },
  );

  it('endpointb_responses may not enable chat_completions or embeddings', () => {
    expect(faults({ compatibility: style('endpointb_responses', path) })).toEqual([
      'capabilities.chat_completions',
      'capabilities.embeddings',
    ]);
  });

  it('runtime_messages may not enable stream', () => {
    expect(faults({ compatibility: style('runtime_messages'), capabilities: partial })).toEqual([
      'capabilities.stream',
    ]);
  });

  it('the block is rejected on a route to another kind of provider', () => {
    expect(
      faults({ provider: 'chat', compatibility: style('runtime_unified'), capabilities: partial }),
    ).toEqual(['compatibility.cloud_b']);
  });

  const tierStyles = ['runtime_unified', 'runtime_messages', 'endpointb_messages'];
  const withThinking = apiStyleNames.flatMap((api_style) => [
    ...['previous', 'latest'].map((model_tier) => ({
      api_style,
      setting: { model_tier },
      accepted: tierStyles.includes(api_style),
    })),
    { api_style, setting: { model_tier: 'none' }, accepted: api_style === 'runtime_unified' },
    { api_style, setting: { model_tier: 'newest' }, accepted: false },
    ...effortPlacements.map((effort_placement) => ({
      api_style,
      setting: { effort_placement },
      accepted: api_style === 'runtime_unified',
    })),
    { api_style, setting: { effort_placement: 'beside' }, accepted: false },
  ]);
  it.each(withThinking)(
    'model_tier and effort_placement are accepted only for api_styles that use them: $api_style, $setting',
    ({ api_style, setting, accepted }) => {
      const capabilities = off('chat_completions', 'responses', 'json_schema', 'embeddings', 'stream');
      const found = faults({ compatibility: style(api_style, { ...path, ...setting }), capabilities });
      expect(found).toEqual(
        accepted ? [] : Object.keys(setting).map((key) => `compatibility.cloud_b.${key}`),
      );
    },
  );
});
