import { type TokenUsage, tokenCount } from '../ledger/usage.ts';
import {
  isAbsent,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
  isObject,
} from '../shared/json.ts';
import { maxCountedToolCalls } from '../shared/limits.ts';
import { type Observation, observation, type StreamObserver } from '../upstream/observation.ts';

/**
 * Usage in the messages family's words, summed as its bill does: input, cache read and cache write are the prompt.
 * A part that is not reported counts as 0; one that is reported and is not a token count makes the usage missing.
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

/** What the bill counts. */
const counts = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
] as const;

/** What else upstreams tell is not kept from one event to the next. */
const kept = [...counts, 'output_tokens_details'] as const;

/**
 * What compaction on the provider's side used, in the bill's words: the provider bills it beside the answer, and counts
 * it in `iterations` alone. Undefined where there was none, or one whose counts cannot be used.
 */
function compactionUsage(reported: Json | undefined): JsonObject | undefined {
  const rounds = objectsOf(isObject(reported) ? reported['iterations'] : undefined).filter(
    ({ type }) => type === 'compaction',
  );
  if (rounds.length === 0) return undefined;
  const total = Object.fromEntries(
    counts.map((field) => [field, sum(rounds.map((round) => tokenCount(round[field] ?? 0))) ?? null]),
  );
  return messagesBodyUsage(total) === undefined ? undefined : total;
}

const withCompaction = (seen: Observation, compaction: JsonObject | undefined): Observation =>
  compaction === undefined ? seen : { ...seen, compaction };

/** What `message_delta` says of the usage replaces what `message_start` said, field by field; never a sum. */
export function laterUsage(usage: Json | undefined, later: Json | undefined): Json | undefined {
  if (isAbsent(later)) return usage;
  if (!isObject(usage) || !isObject(later)) return later;
  return Object.fromEntries(kept.map((field) => [field, later[field] ?? usage[field]]));
}

/**
 * Blocks that are tool calls, of the caller's own tools and of hosted ones: `tool_use`, `server_tool_use`,
 * `mcp_tool_use`.
 */
const isToolUse = (block: Json | undefined): boolean =>
  isObject(block) && isString(block['type']) && block['type'].endsWith('tool_use');

/** A whole message in its own words. */
export const observeMessage = (message: JsonObject): Observation =>
  withCompaction(
    observation(
      message['usage'],
      messagesBodyUsage,
      objectsOf(message['content']).filter((block) => isToolUse(block)).length,
    ),
    compactionUsage(message['usage']),
  );

/**
 * Watches a messages stream in its own words beside the pipeline. The usage of `message_start` is a placeholder until
 * `message_delta` has told its own, or `message_stop` that there is none: a stream that is left before has no usage.
 */
export class MessagesObserver implements StreamObserver {
  private usage: Json | undefined;
  private compaction: JsonObject | undefined;
  private final = false;
  private readonly calls = new Set<number>();

  see(event: JsonObject): void {
    const { type, message, usage } = event;
    if (type === 'message_start' && isObject(message)) this.usage = laterUsage(this.usage, message['usage']);
    if (type === 'message_delta') {
      this.usage = laterUsage(this.usage, usage);
      this.compaction = compactionUsage(usage) ?? this.compaction;
    }
    if (type === 'message_stop' || (type === 'message_delta' && !isAbsent(usage))) this.final = true;
    if (type === 'content_block_start' && isToolUse(event['content_block'])) this.count(event['index']);
  }

  /** A block is told by its index; one without comes whole. */
  private count(index: Json | undefined): void {
    if (this.calls.size < maxCountedToolCalls) this.calls.add(numberOf(index) ?? -1 - this.calls.size);
  }

  observed(): Observation {
    const seen = observation(this.final ? this.usage : undefined, messagesBodyUsage, this.calls.size);
    return withCompaction(seen, this.compaction);
  }
}
