import {
  isAbsent,
  isDeeperThan,
  isObject,
  type JsonObject,
  mapObjects,
  numberOf,
  objectsOf,
  parseExactObject,
  parseJson,
  without,
} from '../shared/json.ts';
import { maxJsonDepth } from '../shared/limits.ts';
import type { TextFrame } from '../shared/text-frame.ts';
import type { StreamEvent } from '../shared/stream-event.ts';
import { type StreamMachine } from '../shared/stream-machine.ts';
import { prematureEnd, streamFailure } from '../upstream/upstream-fault.ts';
import {
  upstreamFailure,
  failureInStream,
  malformedEvent,
  type Sanitise,
} from '../upstream/upstream-words.ts';
import {
  hasThinkingContent,
  movableReasoning,
  withCanonicalReasoning,
  withoutThinkingContent,
} from '../reasoning/reasoning-fields.ts';
import type { MarkedThoughts } from './marked-thoughts.ts';
import { StreamedChoices } from './streamed-choices.ts';
import { reportedFailure } from './chat-failure.ts';

/** A chunk is the public chat chunk itself. It is terminal when the last open choice has a `finish_reason`. */
export type ChatEvent = StreamEvent<JsonObject>;

/** What the rules need to know about the upstream. */
export interface ChatStreamOptions {
  /** The namespace of reasoning metadata: `compat` or `cloud_b_platform`. */
  readonly namespace: string;
  /** Makes an upstream's error message safe to show to the caller. */
  readonly sanitise: Sanitise;
}

/** The choices seen so far; `over` after `done` or `failed`. */
type Phase = StreamedChoices | 'over';

/**
 * Chat-completions streams (SSE), as the specification has them (rules 18.1, 18.4):
 * - one final `data: [DONE]` is appended only after an upstream `[DONE]` or a chunk with a non-empty string
 *   `finish_reason`;
 * - malformed streams, top-level errors, errors reported in a choice, and EOF before terminal semantics produce
 *   structured SSE error chunks, with no `[DONE]` afterwards.
 * After a finish reason, a reset or a truncated last frame is a success, while a complete malformed frame or an `error`
 * is a failure (rules 35.20, 35.21).
 */
export const chatStream = (options: ChatStreamOptions): StreamMachine<Phase, TextFrame, ChatEvent> => ({
  start: () => new StreamedChoices(),
  step: (phase, frame) => {
    if (phase === 'over') return [phase, []];
    if (frame.kind === 'oversize') return over(fail('The upstream sent an event that is too large.'));
    if (frame.data === '') return [phase, []];
    if (frame.data.trim() === '[DONE]') return over({ kind: 'done' });
    const event = chunkEvent(frame, phase, options);
    return event.kind === 'failed' ? over(event) : [phase, [event]];
  },
  end: (phase, ending) => {
    if (phase === 'over') return [];
    return [phase.finished ? { kind: 'done' } : { kind: 'failed', error: prematureEnd(ending) }];
  },
});

const over = (event: ChatEvent): readonly [Phase, readonly ChatEvent[]] => ['over', [event]];

const fail = (message: string): ChatEvent & { kind: 'failed' } => ({
  kind: 'failed',
  error: streamFailure(message),
});

type ChunkEvent = Extract<ChatEvent, { kind: 'chunk' | 'failed' }>;

function chunkEvent(
  { data, wire, event: name }: TextFrame & { kind: 'frame' },
  seen: StreamedChoices,
  options: ChatStreamOptions,
): ChunkEvent {
  const chunk = parseJson(data);
  if (!isObject(chunk))
    return { kind: 'failed', error: failureInStream(malformedEvent(chunk, options.sanitise)) };
  const failure = reportedFailure(chunk) ?? (name === 'error' ? chunk : undefined);
  if (failure !== undefined) {
    const reported = upstreamFailure(failure, 'The upstream reported an error.', options.sanitise);
    return { kind: 'failed', error: failureInStream(reported), chunk };
  }
  const choices = objectsOf(chunk['choices']);
  const seenIn = seen.see(choices);
  if (!needsRule(chunk, choices, seen.thoughts)) return { kind: 'chunk', chunk, wire, text: data, ...seenIn };
  if (isDeeperThan(chunk, maxJsonDepth)) return fail('The upstream sent an event that is nested too deeply.');
  const ruled = applyRules(parseExactObject(data), options.namespace, seen.thoughts);
  return { kind: 'chunk', chunk: ruled, wire: undefined, ...seenIn };
}

const needsRule = (chunk: JsonObject, choices: readonly JsonObject[], thoughts: MarkedThoughts): boolean =>
  choices.some(
    ({ index, usage, delta, message }) =>
      (isAbsent(chunk['usage']) && !isAbsent(usage)) ||
      (isObject(delta) &&
        (movableReasoning(delta) !== undefined ||
          hasThinkingContent(delta) ||
          thoughts.concern(numberOf(index) ?? 0, delta))) ||
      (isObject(message) && hasThinkingContent(message)),
  );

const applyRules = (chunk: JsonObject, namespace: string, thoughts: MarkedThoughts): JsonObject =>
  withCleanDeltas(
    withPromotedUsage({
      ...chunk,
      choices: mapObjects(chunk['choices'], (choice) => thoughts.withParts(choice)),
    }),
    namespace,
  );

/**
 * `choices[*].usage` is promoted to the top-level `usage` when that is absent. It is moved, not copied; with several
 * choices, the first non-null usage counts.
 */
function withPromotedUsage(chunk: JsonObject): JsonObject {
  if (!isAbsent(chunk['usage'])) return chunk;
  const usage = objectsOf(chunk['choices'])
    .map((choice) => choice['usage'])
    .find((each) => !isAbsent(each));
  if (usage === undefined) return chunk;
  return { ...chunk, choices: mapObjects(chunk['choices'], (choice) => without(choice, 'usage')), usage };
}

/** Some upstreams stream the whole message in one chunk, so thinking is removed from its content too. */
const withCleanDeltas = (chunk: JsonObject, namespace: string): JsonObject => ({
  ...chunk,
  choices: mapObjects(chunk['choices'], (choice) => {
    const { delta, message } = choice;
    return {
      ...choice,
      ...(isObject(delta) && { delta: withCanonicalReasoning(withoutThinkingContent(delta, namespace)) }),
      ...(isObject(message) && { message: withoutThinkingContent(message, namespace) }),
    };
  }),
});
