import { expect } from '@jest/globals';
import { type ResponsesEvent, responsesStream } from '../../../domain/responses/responses-stream.ts';
import { andThen, type Ending, seal } from '../../../domain/shared/stream-machine.ts';
import { sseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { outputsOf } from '../../support/machine-laws.ts';

const sanitise = (message: string): string => message.replaceAll('hunter2', '[REDACTED]');
export const machine = andThen(sseFrames, seal(responsesStream(sanitise)));

export type Chunk = ResponsesEvent & { kind: 'chunk' };
export type Failed = ResponsesEvent & { kind: 'failed' };

export const failure = (message: string, status = 502): Failed => ({
  kind: 'failed',
  error: { code: 'upstream_error', message, upstream: { status } },
});
export const reset: Ending = { kind: 'fault', reason: 'The connection to the upstream broke.' };

/** An event with its name before its data, as most upstreams send it. */
export const event = (payload: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`;

export const response = (status: string | undefined, more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  ...(status === undefined ? {} : { status }),
  output: [],
  ...more,
});

export const created = event({
  type: 'response.created',
  sequence_number: 0,
  response: response('in_progress'),
});
export const delta = event({ type: 'response.output_text.delta', sequence_number: 1, delta: 'Hello' });
export const usage = { input_tokens: 3, output_tokens: 5, total_tokens: 8 };
export const completed = event({ type: 'response.completed', response: response('completed', { usage }) });
export const quota = { code: 'insufficient_quota', message: 'You exceeded your quota.' };
export const errorEvent = event({ type: 'error', sequence_number: 2, ...quota, param: null });
export const failedEvent = event({ type: 'response.failed', response: response('failed', { error: quota }) });

export const eventsOf = (blocks: readonly string[], ending?: Ending): readonly ResponsesEvent[] =>
  outputsOf(machine, [Buffer.from(blocks.join(''))], ending);

export const wireOf = (chunks: readonly ResponsesEvent[]): string =>
  chunks
    .filter((each): each is Chunk => each.kind === 'chunk')
    .map(({ wire }) => Buffer.from(wire ?? 'rewritten').toString())
    .join('');

/** The chunks as text, and the last event. */
export const endOf = (blocks: readonly string[], ending?: Ending): [string, ResponsesEvent | undefined] => {
  const events = eventsOf(blocks, ending);
  expect(events.slice(0, -1).every(({ kind }) => kind === 'chunk')).toBe(true);
  return [wireOf(events), events.at(-1)];
};

export const upstreamDone = 'data: [DONE]\n\n';
