import { type TokenUsage, tokenCount } from '../ledger/usage.ts';
import {
  isAbsent,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
  isObject,
  membersOf,
} from '../shared/json.ts';
import { maxCountedToolCalls } from '../shared/limits.ts';
import {
  type AdditionalUsage,
  commonModel,
  type Observation,
  observation,
  type StreamObserver,
  withBeside,
} from '../upstream/observation.ts';

/**
 * Usage from the fields of the messages family, summed as it is billed: input, cache read and cache write tokens are
 * the prompt. Input and output are required. An absent cache count is 0; a count that is present but not a token count
 * makes the usage missing.
 */
export function messagesBodyUsage(reported: Json | undefined): TokenUsage | undefined {
  if (!isObject(reported)) return undefined;
  const promptTokens = tokenCount(
    sum([
      tokenCount(reported['input_tokens']),
      tokenCount(reported['cache_read_input_tokens'] ?? 0),
      tokenCount(reported['cache_creation_input_tokens'] ?? 0),
    ]),
  );
  const completionTokens = tokenCount(reported['output_tokens']);
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  const totalTokens = tokenCount(promptTokens + completionTokens);
  return totalTokens === undefined ? undefined : { promptTokens, completionTokens, totalTokens };
}

const sum = (parts: readonly (number | undefined)[]): number | undefined =>
  parts.reduce<number | undefined>(
    (total, part) => (total === undefined || part === undefined ? undefined : total + part),
    0,
  );

/** The counts that are billed. */
const counts = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
] as const;

/** Other fields are not kept from one event to the next. */
const kept = [...counts, 'output_tokens_details', 'iterations'] as const;

/**
 * The usage that the provider bills in addition to the answer and reports only in `iterations`; `undefined` when there
 * was none.
 */
function usedBeside(reported: Json | undefined): AdditionalUsage | undefined {
  const rounds = Map.groupBy(objectsOf(membersOf(reported)['iterations']), ({ type }) => type);
  const compaction = usageOf(rounds.get('compaction'));
  const advice = rounds.get('advisor_message');
  const advisor = usageOf(advice);
  if (compaction === undefined && advisor === undefined) return undefined;
  return {
    ...(compaction === undefined ? {} : { compaction }),
    ...(advisor === undefined ? {} : { advisor: { model: commonModel(advice ?? []), ...advisor } }),
  };
}

type Rounds = readonly JsonObject[] | undefined;

/**
 * The total usage of these rounds, in the billed counts; `undefined` when there are no rounds or their counts are
 * unusable.
 */
function usageOf(rounds: Rounds): JsonObject | undefined {
  if (rounds === undefined) return undefined;
  const total = Object.fromEntries(
    counts.map((field) => [field, sum(rounds.map((round) => tokenCount(round[field] ?? 0))) ?? null]),
  );
  return messagesBodyUsage(total) === undefined ? undefined : total;
}

/** Adds the usage that the provider bills in addition to the answer. */
export const withAdditionalUsage = (seen: Observation, reported: Json | undefined): Observation =>
  withBeside(seen, usedBeside(reported));

/** The usage in `message_delta` replaces that of `message_start`, field by field; they are never added up. */
export function laterUsage(usage: Json | undefined, later: Json | undefined): Json | undefined {
  if (isAbsent(later)) return usage;
  if (!isObject(usage) || !isObject(later)) return later;
  return Object.fromEntries(kept.map((field) => [field, later[field] ?? usage[field]]));
}

/**
 * Whether a block is a tool call, of one of the caller's tools or of a hosted one: `tool_use`, `server_tool_use`,
 * `mcp_tool_use`.
 */
const isToolUse = (block: Json | undefined): boolean =>
  isObject(block) && isString(block['type']) && block['type'].endsWith('tool_use');

/** Observes a whole message of the messages family. */
export const observeMessage = (message: JsonObject): Observation =>
  withAdditionalUsage(
    observation(message['usage'], messagesBodyUsage, objectsOf(message['content']).filter(isToolUse).length),
    message['usage'],
  );

/**
 * Observes a messages stream of an upstream that speaks the messages family. The usage of `message_start` is a
 * placeholder until `message_delta` has reported its own, or `message_stop` shows that there is none. A stream that
 * breaks off before that has no usage.
 */
export class MessagesObserver implements StreamObserver {
  private usage: Json | undefined;
  private beside: AdditionalUsage | undefined;
  private final = false;
  private readonly calls = new Set<number>();

  see(event: JsonObject): void {
    const { type, message, usage } = event;
    if (type === 'message_start' && isObject(message)) this.begin(message);
    if (type === 'message_delta') {
      this.usage = laterUsage(this.usage, usage);
      this.beside = usedBeside(usage) ?? this.beside;
    }
    if (type === 'message_stop' || (type === 'message_delta' && !isAbsent(usage))) this.final = true;
    if (type === 'content_block_start' && isToolUse(event['content_block'])) this.count(event['index']);
  }

  /** A message that continues with calls of earlier code may have them when it begins. */
  private begin({ usage, content }: JsonObject): void {
    this.usage = laterUsage(this.usage, usage);
    for (const [index, block] of objectsOf(content).entries()) if (isToolUse(block)) this.count(index);
  }

  /** A block is identified by its index; a block without one arrives whole. */
  private count(index: Json | undefined): void {
    if (this.calls.size < maxCountedToolCalls) this.calls.add(numberOf(index) ?? -1 - this.calls.size);
  }

  observed(): Observation {
    const seen = observation(this.final ? this.usage : undefined, messagesBodyUsage, this.calls.size);
    return withBeside(seen, this.beside);
  }
}
