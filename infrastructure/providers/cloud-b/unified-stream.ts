import { isUtf8 } from 'node:buffer';
import type { AnswerNames } from '../../../application/ports/upstream.ts';
import { chatChunk, writtenChunk } from '../../../domain/chat/chat-envelope.ts';
import {
  isDeeperThan,
  isObject,
  type JsonObject,
  parseExactObject,
  parseJson,
} from '../../../domain/shared/json.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { maxJsonDepth, maxUpstreamErrorBytes } from '../../../domain/shared/limits.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import type { Ending, StreamMachine } from '../../../domain/shared/stream-machine.ts';
import { callerStatus, prematureEnd, streamFailure } from '../../../domain/upstream/upstream-fault.ts';
import {
  codeLabels,
  upstreamFailure,
  failureInStream,
  type Sanitise,
} from '../../../domain/upstream/upstream-words.ts';
import { exceedsEventLimits } from '../wire/bounded-data.ts';
import type { EventFrame, FrameFault } from '../wire/event-stream.ts';
import { UnifiedBlocks } from './unified-blocks.ts';
import { stopOf } from './unified-finish.ts';
import { answerMembers } from './unified-metadata.ts';
import { chatUsage } from './unified-usage.ts';

type ChatEvent = StreamEvent<JsonObject>;

/** `open` until `messageStop`, then `stopped`; `over` after `done` or `failed`. */
interface AnswerState {
  phase: 'open' | 'stopped' | 'over';
  begun: boolean;
  readonly blocks: UnifiedBlocks;
  /** The failure that the stop reason reported. It is passed on with the usage, which comes later. */
  failure: GatewayError | undefined;
  /** Whether the stream ended inside a frame. */
  cut: boolean;
}

/**
 * Converse stream frames → chat chunks: `messageStart` emits the assistant role, `contentBlockDelta` emits text,
 * function-argument or reasoning-metadata deltas, `messageStop` emits the finish reason, `metadata.usage` emits a usage
 * chunk. Metadata comes after the stop, so `done` is emitted only at the end of the stream. Exception, malformed or
 * incomplete frames fail the stream, even after the stop. A connection reset between two frames does not, if it comes
 * after the stop (rule 35.22).
 */
export const unifiedStream = (
  names: AnswerNames,
  sanitise: Sanitise,
): StreamMachine<AnswerState, EventFrame, ChatEvent> => ({
  start: () => ({ phase: 'open', begun: false, blocks: new UnifiedBlocks(), failure: undefined, cut: false }),
  step: (answer, frame) => {
    if (answer.phase === 'over') return [answer, []];
    if (frame.kind === 'fault') return [answer, faulty(answer, frame.fault)];
    switch (frame.headers.get(':message-type') ?? '') {
      case 'event':
        return [answer, new ConverseAnswer(answer, names).event(frame)];
      case 'exception':
        return [answer, fail(answer, exception(frame, sanitise))];
      case 'error':
        return [answer, fail(answer, reportedError(frame.headers, sanitise))];
      default:
        return [answer, fail(answer, malformed)];
    }
  },
  end: (answer, ending) => endOf(answer, ending),
});

type Frame = EventFrame & { readonly kind: 'frame' };

/** An incomplete frame fails the stream at its end, because the reason is known only then. */
function faulty(answer: AnswerState, fault: FrameFault): readonly ChatEvent[] {
  if (fault !== 'cut') return fail(answer, malformed);
  answer.cut = true;
  return [];
}

function endOf(answer: AnswerState, ending: Ending): readonly ChatEvent[] {
  if (answer.phase === 'over') return [];
  if (answer.failure !== undefined) return fail(answer, answer.failure);
  return answer.phase === 'stopped' && !answer.cut ? [{ kind: 'done' }] : fail(answer, prematureEnd(ending));
}

function fail(answer: AnswerState, error: GatewayError, chunk?: JsonObject): readonly ChatEvent[] {
  answer.phase = 'over';
  return [{ kind: 'failed', error, ...(chunk === undefined ? {} : { chunk }) }];
}

const malformed = streamFailure('The upstream sent a malformed event.');

/** The exceptions of the service's API model, with the status that each has before anything was streamed. */
const exceptionStatuses: ReadonlyMap<string | undefined, number> = new Map([
  ['validationException', 400],
  ['modelTimeoutException', 408],
  ['throttlingException', 429],
  ['serviceUnavailableException', 503],
]);

function exception({ headers, payload }: Frame, sanitise: Sanitise): GatewayError {
  const type = headers.get(':exception-type');
  const value = parseJson(payload.toString('utf8', 0, maxUpstreamErrorBytes));
  const failure = upstreamFailure(value, unexplained(type, sanitise), sanitise);
  const status = callerStatus(exceptionStatuses.get(type) ?? 502);
  return failureInStream({ ...failure, ...codeLabels(type, sanitise) }, status);
}

function reportedError(headers: ReadonlyMap<string, string>, sanitise: Sanitise): GatewayError {
  const words = headers.get(':error-message') ?? '';
  const code = headers.get(':error-code');
  const message = words === '' ? unexplained(code, sanitise) : sanitise(words);
  return failureInStream({ message, ...codeLabels(code, sanitise) });
}

const unexplained = (name: string | undefined, sanitise: Sanitise): string =>
  name === undefined || name === ''
    ? 'The upstream reported an error.'
    : `The upstream reported an error (${sanitise(name)}).`;

const known: ReadonlySet<string> = new Set([
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
  'metadata',
]);

/** The event in a payload, with every digit of its numbers; `undefined` if it is malformed. */
function payloadOf(payload: Buffer): JsonObject | undefined {
  if (!isUtf8(payload)) return undefined;
  const text = payload.toString('utf8');
  if (exceedsEventLimits(text)) return undefined;
  const value = parseJson(text);
  if (!isObject(value) || isDeeperThan(value, maxJsonDepth)) return undefined;
  return parseExactObject(text);
}

/** Translates events of an answer to chat chunks. */
class ConverseAnswer {
  private readonly answer: AnswerState;
  private readonly names: AnswerNames;

  constructor(answer: AnswerState, names: AnswerNames) {
    this.answer = answer;
    this.names = names;
  }

  /** Unknown events are skipped. */
  event({ headers, payload }: Frame): readonly ChatEvent[] {
    const type = headers.get(':event-type');
    if (type === undefined) return fail(this.answer, malformed);
    if (!known.has(type)) return [];
    const event = payloadOf(payload);
    if (event === undefined) return fail(this.answer, malformed);
    if (type === 'metadata') return this.metadata(event);
    return this.answer.phase === 'stopped' ? this.afterStop(type, event) : this.within(type, event);
  }

  private within(type: string, event: JsonObject): readonly ChatEvent[] {
    const { answer } = this;
    switch (type) {
      case 'messageStart':
        return event['role'] === 'assistant' ? this.begin() : fail(answer, malformed);
      case 'contentBlockStart':
        return this.deltas(answer.blocks.start(event));
      case 'contentBlockDelta':
        return this.deltas(answer.blocks.delta(event));
      case 'contentBlockStop':
        return this.deltas(answer.blocks.stop(event));
      default:
        return this.stop(event);
    }
  }

  /**
   * Content after the stop is malformed, because callers already have the end, and would lose it. Empty content is not.
   */
  private afterStop(type: string, event: JsonObject): readonly ChatEvent[] {
    if (type === 'contentBlockStop' || type === 'messageStop') return [];
    const isEmpty = type === 'contentBlockDelta' && this.answer.blocks.delta(event)?.length === 0;
    return isEmpty ? [] : fail(this.answer, malformed);
  }

  /** The role is sent once, before everything else, even if the upstream omits `messageStart`. */
  private begin(): readonly ChatEvent[] {
    if (this.answer.begun) return [];
    this.answer.begun = true;
    return [this.chunk({ role: 'assistant', content: '' }, null)];
  }

  private deltas(deltas: readonly JsonObject[] | undefined): readonly ChatEvent[] {
    if (deltas === undefined) return fail(this.answer, malformed);
    if (deltas.length === 0) return [];
    return [...this.begin(), ...deltas.map((delta) => this.chunk(delta, null))];
  }

  private stop(event: JsonObject): readonly ChatEvent[] {
    const { answer } = this;
    const stop = stopOf(event['stopReason'], answer.blocks.called());
    if (stop.kind === 'unknown') return fail(answer, malformed);
    answer.phase = 'stopped';
    if (stop.kind === 'failed') {
      answer.failure = streamFailure(stop.message);
      return [];
    }
    return [
      ...this.begin(),
      ...this.deltas(answer.blocks.rest()),
      this.chunk({}, stop.reason, answerMembers(event)),
    ];
  }

  private metadata(event: JsonObject): readonly ChatEvent[] {
    const { answer } = this;
    const usage = chatUsage(event['usage']);
    const members = { ...(usage === undefined ? {} : { usage }), ...answerMembers(event) };
    if (Object.keys(members).length === 0) return [];
    const chunk = chatChunk(this.names, [], members);
    if (answer.failure !== undefined) return fail(answer, answer.failure, chunk);
    return [writtenChunk(chunk, false)];
  }

  private chunk(delta: JsonObject, reason: string | null, members: JsonObject = {}): ChatEvent {
    const choice = { index: 0, delta, logprobs: null, finish_reason: reason };
    return writtenChunk(chatChunk(this.names, [choice], members), reason !== null);
  }
}
