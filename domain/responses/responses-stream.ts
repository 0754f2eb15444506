import * as E from 'fp-ts/lib/Either.js';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isObject, type Json, type JsonObject } from '../shared/json.ts';
import type { SseFrame } from '../shared/sse-frame.ts';
import type { StreamEvent } from '../shared/stream-event.ts';
import type { Ending, StreamMachine } from '../shared/stream-machine.ts';
import { streamFailure } from '../upstream/upstream-fault.ts';
import { failureMessage, sanitisedFailure } from './response-failure.ts';
import { judge } from './responses-event.ts';

/** A chunk is the payload of an event; what names it in public is its `type`. */
export type ResponsesEvent = StreamEvent<JsonObject>;

type Failed = ResponsesEvent & { kind: 'failed' };

/**
 * `open` until a terminal event, then `finished`; `failing` once the upstream has told of its failure, with what will
 * be its end; `over` after `done` or `failed`.
 */
type Phase = 'open' | 'finished' | 'over' | { readonly failing: Failed };

/**
 * Responses streams: `event: response.*` names and JSON payloads are preserved; `response.completed` and
 * `response.incomplete` are successful terminals; `response.failed`, top-level errors, conflicting status and type,
 * chat-protocol mismatches and premature EOF surface as failures without `[DONE]`. One final `data: [DONE]` follows
 * only a valid completed or incomplete terminal event; the upstream's own one is swallowed.
 */
export const responsesStream = (
  sanitise: (message: string) => string,
): StreamMachine<Phase, SseFrame, ResponsesEvent> => ({
  start: () => 'open',
  step: (phase, frame) => {
    if (phase === 'over') return [phase, []];
    if (frame.kind === 'oversize') return over(failed('The upstream sent an event that is too large.'));
    if (frame.data === '') return [phase, []];
    if (frame.data.trim() === '[DONE]') return over(endOf(phase, { kind: 'eof' }));
    return stepPayload(phase, frame, sanitise);
  },
  end: (phase, ending) => (phase === 'over' ? [] : [endOf(phase, ending)]),
});

const over = (end: ResponsesEvent): readonly [Phase, readonly ResponsesEvent[]] => ['over', [end]];

const failed = (message: string, status?: number): Failed => ({
  kind: 'failed',
  error: streamFailure(message, status),
});

/** After a terminal event a reset or a cut last frame is a success; before it every end is premature. */
function endOf(phase: Exclude<Phase, 'over'>, ending: Ending): ResponsesEvent {
  if (typeof phase === 'object') return phase.failing;
  if (phase === 'finished') return { kind: 'done' };
  return ending.kind === 'fault'
    ? failed(ending.reason, ending.status)
    : failed('The upstream ended its stream before the answer was complete.');
}

type Frame = Extract<SseFrame, { kind: 'frame' }>;

function stepPayload(
  phase: Exclude<Phase, 'over'>,
  { data, event: name, wire }: Frame,
  sanitise: (message: string) => string,
): readonly [Phase, readonly ResponsesEvent[]] {
  const parsed = E.tryCatch(
    () => JSON.parse(data) as Json,
    () => undefined,
  );
  if (E.isLeft(parsed) || !isObject(parsed.right))
    return over(typeof phase === 'object' ? phase.failing : failed('The upstream sent a malformed event.'));
  const chunk = parsed.right;
  const judgement = judge(name, chunk);
  if (judgement === 'failure') return failing(phase, chunk, data, wire, sanitise);
  // A failure is final: what is not another word of it is not passed on.
  if (typeof phase === 'object') return [phase, []];
  switch (judgement) {
    case 'event':
      return [phase, [{ kind: 'chunk', chunk, wire, terminal: false }]];
    case 'terminal':
      return ['finished', [{ kind: 'chunk', chunk, wire, terminal: true, held: true }]];
    case 'error':
      return over({ ...failed(sanitise(failureMessage(chunk))), chunk });
    case 'conflict':
      return over({ ...failed('The upstream sent an event that contradicts itself.'), chunk });
    case 'chat':
      return over({ ...failed('The upstream answered a responses request with a chat stream.'), chunk });
  }
}

/**
 * An upstream `error`, `response.failed`, or one followed by the other, is forwarded as it came and counts as one
 * failure; the gateway adds none of its own (CONTRACT §4). Words that may not be shown are the exception.
 */
function failing(
  phase: Exclude<Phase, 'over'>,
  chunk: JsonObject,
  data: string,
  wire: Uint8Array,
  sanitise: (message: string) => string,
): readonly [Phase, readonly ResponsesEvent[]] {
  const rewritten = sanitisedFailure(chunk, data, sanitise);
  const error: GatewayError = streamFailure(sanitise(failureMessage(chunk)));
  const first: Failed = { kind: 'failed', error, told: true };
  return [
    typeof phase === 'object' ? phase : { failing: first },
    [
      {
        kind: 'chunk',
        chunk: rewritten ?? chunk,
        wire: rewritten === undefined ? wire : undefined,
        terminal: false,
        failing: true,
      },
    ],
  ];
}
