import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import { andThen, type Ending, seal } from '../../domain/shared/stream-machine.ts';
import { generateContentStream } from '../../infrastructure/providers/cloud-a/generate-content-stream.ts';
import { jsonArrayFrames } from '../../infrastructure/providers/wire/json-array.ts';
import { reportingSseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { type Framing, framed } from '../support/arbitraries/generate-content-streams.ts';
import { outputsOf } from '../support/machine-laws.ts';

export type Event = StreamEvent<JsonObject>;

export const about = { id: 'chatcmpl-7f3a', model: 'asked', createdSecs: 1_700_000_000 };
export const sanitise = (message: string): string => message.replaceAll('secret', '***');
const answers = seal(generateContentStream(about, sanitise));
export const machines = {
  sse: andThen(reportingSseFrames(sanitise), answers),
  array: andThen(jsonArrayFrames, answers),
};

export const failure = (message: string, code = ''): Event => ({
  kind: 'failed',
  error: {
    code: 'upstream_error',
    message,
    upstream: { status: 502, ...(code === '' ? {} : { labels: { code } }) },
  },
});

/** Values of `blockReason` of a prompt that was not blocked. */
export const noBlocks = [null, '', 0, 'BLOCK_REASON_UNSPECIFIED', 'BLOCKED_REASON_UNSPECIFIED'];

export const mebibyte = 1024 * 1024;

export const textOf = (event: object | string): string =>
  typeof event === 'string' ? event : JSON.stringify(event);

export const stream = (events: readonly (object | string)[], ending?: Ending, framing: Framing = 'sse') =>
  outputsOf(machines[framing], [framed(framing, events.map(textOf))], ending);

export const parts = (...of: readonly object[]) => ({
  candidates: [{ content: { role: 'model', parts: of } }],
});
export const text = (said: string) => parts({ text: said });
export const finish = (finishReason: unknown, more: object = {}) => ({
  candidates: [{ finishReason, ...more }],
});
export const call = (name: string, args?: object) => parts({ functionCall: { name, ...(args && { args }) } });

export const head = {
  id: 'chatcmpl-7f3a',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'asked',
};
export const chunk = (choices: readonly object[], terminal = false, more: object = {}): Event => ({
  kind: 'chunk',
  chunk: { ...head, choices, ...more } as JsonObject,
  wire: undefined,
  terminal,
});
export const delta = (of: object) => chunk([{ index: 0, delta: of, logprobs: null, finish_reason: null }]);
export const finished = (reason: string, terminal = true, index = 0) =>
  chunk([{ index, delta: {}, logprobs: null, finish_reason: reason }], terminal);
/** The same for a finish reason that chat does not have: the platform's own is in the metadata. */
export const finishedFor = (reason: string, own: object) =>
  chunk(
    [
      {
        index: 0,
        delta: { provider_metadata: { cloud_a_platform: own } },
        logprobs: null,
        finish_reason: reason,
      },
    ],
    true,
  );
export const done: Event = { kind: 'done' };

/** The finish reasons that were sent, in order. */
export const reasonsOf = (events: readonly Event[]) =>
  events
    .flatMap((event) =>
      event.kind === 'chunk'
        ? (event.chunk['choices'] as readonly JsonObject[]).map((choice) => choice['finish_reason'])
        : [],
    )
    .filter((reason) => reason !== null);

export const lastOf = (events: readonly Event[]) => events.at(-1);
