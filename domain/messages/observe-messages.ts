import { billedCounts, messagesBodyUsage } from '../ledger/messages-body-usage.ts';
import {
  isAbsent,
  isObject,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
} from '../shared/json.ts';
import { maxCountedToolCalls } from '../shared/limits.ts';
import {
  type AdditionalUsage,
  type Observation,
  observation,
  type StreamObserver,
  withBeside,
} from '../upstream/observation.ts';
import { usedBeside, withAdditionalUsage } from '../upstream/used-beside.ts';

/** Other fields are not kept from one event to the next. */
const kept = [...billedCounts, 'output_tokens_details', 'iterations'] as const;

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
