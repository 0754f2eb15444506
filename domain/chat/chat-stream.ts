import {
  isAbsent,
  isDeeperThan,
  isObject,
  isString,
  type JsonObject,
  mapObjects,
  objectsOf,
  parseExact,
  parseJson,
  without,
} from '../shared/json.ts';
import { maxJsonDepth } from '../shared/limits.ts';
import type { TextFrame } from '../shared/text-frame.ts';
import type { StreamEvent } from '../shared/stream-event.ts';
import { type StreamMachine } from '../shared/stream-machine.ts';
import { prematureEnd, streamFailure } from '../upstream/upstream-fault.ts';
import { upstreamFailure, failureInStream } from '../upstream/upstream-words.ts';
import {
  hasThinkingContent,
  movableReasoning,
  withCanonicalReasoning,
  withoutThinkingContent,
} from './reasoning-fields.ts';

/** A chunk is the public chat chunk itself; it is terminal when a choice has a non-empty `finish_reason`. */
export type ChatEvent = StreamEvent<JsonObject>;

/** What the rules need to know of the upstream that speaks. */
export interface ChatStreamOptions {
  /** Reasoning metadata namespace: `compat`, `cloud_a_platform`, `cloud_b_platform`. */
  readonly namespace: string;
  /** Makes an upstream's own words fit for the caller. */
  readonly sanitise: (message: string) => string;
}

/** `open` until a finish reason was seen, then `finished`; `over` after `done` or `failed`. */
type Phase = 'open' | 'finished' | 'over';

/**
 * Chat-completions streams (SSE), as the specification has them (rules 18.1, 18.4):
 * - one final `data: [DONE]` is appended only after an upstream `[DONE]` or a chunk with non-empty string
 *   `finish_reason`;
 * - malformed streams, top-level errors and EOF before terminal semantics produce structured SSE error chunks,
 *   with no `[DONE]` afterward.
 * After a finish reason a reset or a cut last frame is a success, while a complete malformed frame or an
 * `error` is a failure (rules 35.20, 35.21).
 */
export const chatStream = (options: ChatStreamOptions): StreamMachine<Phase, TextFrame, ChatEvent> => ({
  start: () => 'open',
  step: (phase, frame) => {
    if (phase === 'over') return [phase, []];
    if (frame.kind === 'oversize') return over(fail('The upstream sent an event that is too large.'));
    if (frame.data === '') return [phase, []];
    if (frame.data.trim() === '[DONE]') return over({ kind: 'done' });
    const event = chunkEvent(frame.data, frame.wire, frame.event, options);
    if (event.kind === 'failed') return over(event);
    return [event.terminal ? 'finished' : phase, [event]];
  },
  end: (phase, ending) => {
    if (phase === 'over') return [];
    return [phase === 'finished' ? { kind: 'done' } : { kind: 'failed', error: prematureEnd(ending) }];
  },
});

const over = (event: ChatEvent): readonly [Phase, readonly ChatEvent[]] => ['over', [event]];

const fail = (message: string): ChatEvent & { kind: 'failed' } => ({
  kind: 'failed',
  error: streamFailure(message),
});

type ChunkEvent = Extract<ChatEvent, { kind: 'chunk' | 'failed' }>;

function chunkEvent(
  data: string,
  wire: Uint8Array,
  name: string | undefined,
  options: ChatStreamOptions,
): ChunkEvent {
  const chunk = parseJson(data);
  if (!isObject(chunk)) return fail('The upstream sent a malformed event.');
  if (!isAbsent(chunk['error']) || name === 'error') {
    const told = upstreamFailure(chunk, 'The upstream reported an error.', options.sanitise);
    return { kind: 'failed', error: failureInStream(told), chunk };
  }
  const choices = objectsOf(chunk['choices']);
  const terminal = choices.some(
    (choice) => isString(choice['finish_reason']) && choice['finish_reason'] !== '',
  );
  if (!needsRule(chunk, choices)) return { kind: 'chunk', chunk, wire, text: data, terminal };
  if (isDeeperThan(chunk, maxJsonDepth)) return fail('The upstream sent an event that is nested too deeply.');
  const ruled = applyRules(parseExact(data) as JsonObject, options.namespace);
  return { kind: 'chunk', chunk: ruled, wire: undefined, terminal };
}

const needsRule = (chunk: JsonObject, choices: readonly JsonObject[]): boolean =>
  choices.some((choice) => {
    const delta = choice['delta'];
    return (
      (isAbsent(chunk['usage']) && !isAbsent(choice['usage'])) ||
      (isObject(delta) && (movableReasoning(delta) !== undefined || hasThinkingContent(delta)))
    );
  });

const applyRules = (chunk: JsonObject, namespace: string): JsonObject =>
  withCleanDeltas(withPromotedUsage(chunk), namespace);

/**
 * `choices[*].usage` is promoted to top-level `usage` when top-level is absent: moved, not copied; of several
 * choices the first non-null usage counts.
 */
function withPromotedUsage(chunk: JsonObject): JsonObject {
  if (!isAbsent(chunk['usage'])) return chunk;
  const usage = objectsOf(chunk['choices'])
    .map((choice) => choice['usage'])
    .find((each) => !isAbsent(each));
  if (usage === undefined) return chunk;
  return { ...chunk, choices: mapObjects(chunk['choices'], (choice) => without(choice, 'usage')), usage };
}

const withCleanDeltas = (chunk: JsonObject, namespace: string): JsonObject => ({
  ...chunk,
  choices: mapObjects(chunk['choices'], (choice) => {
    const delta = choice['delta'];
    if (!isObject(delta)) return choice;
    return { ...choice, delta: withCanonicalReasoning(withoutThinkingContent(delta, namespace)) };
  }),
});
