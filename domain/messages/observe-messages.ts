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
import { maxCountedToolCalls, maxModelKeyChars } from '../shared/limits.ts';
import {
  type Observation,
  observation,
  type StreamObserver,
  type UsedBeside,
} from '../upstream/observation.ts';

/**
 * Usage in the messages family's words, summed as its bill does: input, cache read and cache write are the prompt. Input
 * and output must be told; what is not told of a cache is 0, and what is told and no token count makes the usage missing.
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
const kept = [...counts, 'output_tokens_details', 'iterations'] as const;

/** What the provider bills beside the answer, and counts in `iterations` alone; undefined where there was nothing. */
function usedBeside(reported: Json | undefined): UsedBeside | undefined {
  const rounds = Map.groupBy(objectsOf(membersOf(reported)['iterations']), ({ type }) => type);
  const compaction = usageOf(rounds.get('compaction'));
  const advice = rounds.get('advisor_message');
  const advisor = usageOf(advice);
  if (compaction === undefined && advisor === undefined) return undefined;
  return {
    ...(compaction === undefined ? {} : { compaction }),
    ...(advisor === undefined ? {} : { advisor: { model: modelOf(advice), ...advisor } }),
  };
}

type Rounds = readonly JsonObject[] | undefined;

/** What rounds used in all, in the bill's words. Undefined where there are none, or where their counts cannot be used. */
function usageOf(rounds: Rounds): JsonObject | undefined {
  if (rounds === undefined) return undefined;
  const total = Object.fromEntries(
    counts.map((field) => [field, sum(rounds.map((round) => tokenCount(round[field] ?? 0))) ?? null]),
  );
  return messagesBodyUsage(total) === undefined ? undefined : total;
}

function modelOf(rounds: Rounds): string | null {
  const [model, ...others] = new Set(rounds?.map((round) => round['model']));
  return isString(model) && others.length === 0 && model.length <= maxModelKeyChars ? model : null;
}

const withBeside = (seen: Observation, beside: UsedBeside | undefined): Observation =>
  beside === undefined ? seen : { ...seen, beside };

/** With what this usage tells that the provider bills beside the answer. */
export const withUsedBeside = (seen: Observation, reported: Json | undefined): Observation =>
  withBeside(seen, usedBeside(reported));

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
  withUsedBeside(
    observation(message['usage'], messagesBodyUsage, objectsOf(message['content']).filter(isToolUse).length),
    message['usage'],
  );

/**
 * Watches a messages stream in its own words beside the pipeline. The usage of `message_start` is a placeholder until
 * `message_delta` has told its own, or `message_stop` that there is none: a stream that is left before has no usage.
 */
export class MessagesObserver implements StreamObserver {
  private usage: Json | undefined;
  private beside: UsedBeside | undefined;
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

  /** A message that goes on with calls of earlier code may have them as it begins. */
  private begin({ usage, content }: JsonObject): void {
    this.usage = laterUsage(this.usage, usage);
    for (const [index, block] of objectsOf(content).entries()) if (isToolUse(block)) this.count(index);
  }

  /** A block is told by its index; one without comes whole. */
  private count(index: Json | undefined): void {
    if (this.calls.size < maxCountedToolCalls) this.calls.add(numberOf(index) ?? -1 - this.calls.size);
  }

  observed(): Observation {
    const seen = observation(this.final ? this.usage : undefined, messagesBodyUsage, this.calls.size);
    return withBeside(seen, this.beside);
  }
}
