import type { GatewayError } from '../shared/gateway-error.ts';
import { isDeeperThan, isObject, type JsonObject, parseJson } from '../shared/json.ts';
import { maxJsonDepth } from '../shared/limits.ts';
import type { TextFrame } from '../shared/text-frame.ts';
import type { StreamEvent } from '../shared/stream-event.ts';
import type { Ending, StreamMachine } from '../shared/stream-machine.ts';
import { prematureEnd, streamFailure } from '../upstream/upstream-fault.ts';
import { failureInStream, malformedEvent, type Sanitise } from '../upstream/upstream-words.ts';
import { sanitisedFailure, failedResponse } from './response-failure.ts';
import { judge } from './responses-event.ts';

/** A chunk is the payload of an event. Its `type` is its public event name. */
export type ResponsesEvent = StreamEvent<JsonObject>;

type Failed = ResponsesEvent & { kind: 'failed' };

/**
 * `open` until a terminal event, then `finished`. `failing` after the upstream reported its own failure, with the event
 * that will end the stream. `over` after `done` or `failed`.
 */
type Phase = 'open' | 'finished' | 'over' | { readonly failing: Failed };
type Running = Exclude<Phase, 'over'>;
type Step = readonly [Phase, readonly ResponsesEvent[]];

/**
 * Responses streams: `event: response.*` names and JSON payloads are preserved; `response.completed` and
 * `response.incomplete` are successful terminals; `response.failed`, `response.cancelled`, top-level errors,
 * conflicting status and type, chat-protocol mismatches and premature EOF surface as failures without `[DONE]`. One
 * final `data: [DONE]` follows only a valid completed or incomplete terminal event; the upstream's own one is
 * swallowed.
 */
export const responsesStream = (sanitise: Sanitise): StreamMachine<Phase, TextFrame, ResponsesEvent> => ({
  start: () => 'open',
  step: (phase, frame) => {
    if (phase === 'over') return [phase, []];
    if (frame.kind === 'oversize')
      return fault(phase, streamFailure('The upstream sent an event that is too large.'));
    if (frame.data === '') return [phase, []];
    if (frame.data.trim() === '[DONE]') return over(endOf(phase, { kind: 'eof' }));
    return stepPayload(phase, frame, sanitise);
  },
  end: (phase, ending) => (phase === 'over' ? [] : [endOf(phase, ending)]),
});

const over = (end: ResponsesEvent): Step => ['over', [end]];

/** Ends the stream with a fault that the gateway found, or with the upstream's own failure if it reported one. */
const fault = (phase: Running, error: GatewayError, chunk?: JsonObject): Step =>
  over(
    typeof phase === 'object'
      ? phase.failing
      : { kind: 'failed', error, ...(chunk === undefined ? {} : { chunk }) },
  );

/** After a terminal event, a reset or a truncated last frame is a success. Before it, every end is premature. */
function endOf(phase: Running, ending: Ending): ResponsesEvent {
  if (typeof phase === 'object') return phase.failing;
  if (phase === 'finished') return { kind: 'done' };
  return { kind: 'failed', error: prematureEnd(ending) };
}

type Frame = Extract<TextFrame, { kind: 'frame' }>;

const asCame = ({ wire, data }: Frame) => ({ wire, text: data });

function stepPayload(phase: Running, frame: Frame, sanitise: Sanitise): Step {
  const chunk = parseJson(frame.data);
  if (!isObject(chunk)) return fault(phase, failureInStream(malformedEvent(chunk, sanitise)));
  const judgement = judge(frame.event, chunk);
  if (judgement === 'failure') return failing(phase, chunk, frame, sanitise);
  // A failure is final. Only further reports of it are passed on.
  if (typeof phase === 'object')
    return judgement === 'error' ? failing(phase, chunk, frame, sanitise) : [phase, []];
  switch (judgement) {
    case 'event':
      return [phase, [{ kind: 'chunk', chunk, ...asCame(frame), terminal: false }]];
    case 'terminal':
      return ['finished', [{ kind: 'chunk', chunk, ...asCame(frame), terminal: true, held: true }]];
    case 'error':
      return over({ kind: 'failed', error: failureInStream(failedResponse(chunk, sanitise)), chunk });
    case 'conflict':
      return fault(phase, streamFailure('The upstream sent an event that contradicts itself.'), chunk);
    case 'chat':
      return fault(
        phase,
        streamFailure('The upstream answered a responses request with a chat stream.'),
        chunk,
      );
  }
}

/**
 * The upstream's own failure (`error`, `response.failed`, `response.cancelled`, or several in a row) is forwarded as it
 * came and counts as one failure; the gateway adds none of its own (rule 35.18). Messages that must not be shown are
 * the exception: they are rewritten.
 */
function failing(phase: Running, chunk: JsonObject, frame: Frame, sanitise: Sanitise): Step {
  if (isDeeperThan(chunk, maxJsonDepth))
    return fault(phase, streamFailure('The upstream sent an event that is nested too deeply.'));
  const rewritten = sanitisedFailure(chunk, frame.data, sanitise);
  const error = failureInStream(failedResponse(chunk, sanitise));
  return [
    typeof phase === 'object' ? phase : { failing: { kind: 'failed', error, alreadyShown: true } },
    [
      {
        kind: 'chunk',
        chunk: rewritten ?? chunk,
        ...(rewritten === undefined ? asCame(frame) : { wire: undefined, name: frame.event }),
        terminal: false,
        failing: true,
      },
    ],
  ];
}
