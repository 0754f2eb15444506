import { expect } from '@jest/globals';
import type { UsageFacts } from '../recordings/library.ts';
import type { Loose } from '../recordings/received.ts';
import { type Answer, type Ask, rehearsal, replayConfig } from '../recordings/rehearsal.ts';
import { aKey, type ConfigFile } from '../support/gateway.ts';
import type { Replay } from '../support/replay-upstream.ts';

/** A credential of the provider, because upstreams quote credentials in their error messages. */
export const upstreamToken = 'upstream-token-0123456789';

export const keys = { filled: aKey(), blocked: aKey(), nothing: aKey() };

const routed = (id: string, route: object) => ({
  id,
  routes: [{ provider: 'up', upstream_model: 'up', ...route }],
});
const without = (capability: string) =>
  routed(`no-${capability.replace('_', '-')}`, { capabilities: { [capability]: false } });

function config(url: string, key: string): ConfigFile {
  const base = replayConfig(url, key, ['up'], { auth: { mode: 'bearer', token: upstreamToken } });
  const owners = Object.keys(keys) as (keyof typeof keys)[];
  // 1000 input tokens cost 0.00015 USD: one and a half units of `amount_10000`.
  const amounts = { filled: 3, blocked: 1, nothing: 0 };
  return {
    ...base,
    models: [
      ...(base['models'] as object[]),
      ...['responses', 'stream', 'tools', 'vision', 'json_schema'].map(without),
      routed('renamed', { upstream_model: 'the/upstream-model' }),
      routed('omit', { compatibility: { compat: { empty_tools: 'omit', supports_store: false } } }),
      routed('history', { compatibility: { compat: { empty_tools: 'preserve_with_tool_history' } } }),
      routed('adapted', { extra_body: { text: { verbosity: 'low' }, store: false } }),
    ],
    users: [
      ...(base['users'] as object[]),
      ...owners.map((owner) => ({
        email: `${owner}@example.com`,
        budget: { cadence: 'daily', amount_10000: amounts[owner], hard_limit: true },
      })),
    ],
    api_keys: [
      ...(base['api_keys'] as object[]),
      ...owners.map((owner) => ({ name: owner, owner: `user:${owner}@example.com`, value: keys[owner] })),
    ],
  };
}

export const json = { 'content-type': 'application/json' };
export const sse = { 'content-type': 'text/event-stream; charset=utf-8' };

export const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 };
export const tokens: UsageFacts = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };

export const responseOf = (status: string, more: object = {}): Loose => ({
  id: 'resp_1',
  object: 'response',
  status,
  output: [],
  ...more,
});
export const answered = (more: object = {}): Replay => ({
  headers: json,
  body: JSON.stringify(responseOf('completed', { usage, ...more })),
});

/** An event as most upstreams send it. */
export const event = (type: string, payload: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...payload })}\n\n`;

export const created = event('response.created', { sequence_number: 0, response: responseOf('in_progress') });
export const delta = event('response.output_text.delta', { sequence_number: 1, delta: 'Grüße 😀' });
export const completed = event('response.completed', { response: responseOf('completed', { usage }) });
export const incomplete = event('response.incomplete', {
  response: responseOf('incomplete', { usage, incomplete_details: { reason: 'max_output_tokens' } }),
});
export const quota = { code: 'insufficient_quota', message: 'You exceeded your quota.' };
export const errorEvent = event('error', { sequence_number: 2, ...quota, param: null });
export const failedEvent = event('response.failed', { response: responseOf('failed', { error: quota }) });
export const done = 'data: [DONE]\n\n';

export const expectNothingSent = ({ after, upstream: seen }: Answer): void => {
  expect(seen).toBeUndefined();
  expect([...after.attempts, ...after.ledger]).toEqual([]);
};

export const passed = (answer: Answer): string => answer.bytes.toString();

export type Over = Partial<Ask>;

/** A gateway in front of an upstream that has `/v1/responses`. */
export function responsesScene() {
  const scene = rehearsal(config);
  const whole = (replay: Replay, over: Over = {}): Promise<Answer> =>
    scene.ask(replay, { model: 'up', stream: false, family: 'responses', ...over });
  const streamed = (body: string, over: Over = {}, replay: Partial<Replay> = {}): Promise<Answer> =>
    scene.ask({ headers: sse, body, ...replay }, { model: 'up', stream: true, family: 'responses', ...over });
  return { ...scene, whole, streamed };
}
