import { promptDetails } from '../../../domain/chat/prompt-details.ts';
import { tokenCount } from '../../../domain/ledger/usage.ts';
import { isAbsent, isObject, type Json, type JsonObject, membersOf } from '../../../domain/shared/json.ts';
import { messagesBodyUsage } from '../../../domain/ledger/messages-body-usage.ts';

/**
 * The usage in the format of chat. Cache reads and writes are details of the whole prompt, and thinking tokens are
 * details of the whole output. `iterations` stay as they are, because some are billed separately from the answer
 * (rules 38.14, 38.15). `undefined` if no usage was reported; unusable counts are null.
 */
export function chatUsage(reported: Json | undefined): JsonObject | undefined {
  if (isAbsent(reported)) return undefined;
  const {
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens_details: details,
    iterations,
  } = membersOf(reported);
  const rounds = isAbsent(iterations) ? {} : { iterations };
  const usage = messagesBodyUsage(reported);
  if (usage === undefined)
    return { prompt_tokens: null, completion_tokens: null, total_tokens: null, ...rounds };
  const thought = isObject(details) ? tokenCount(details['thinking_tokens']) : undefined;
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    ...promptDetails(tokenCount(read), tokenCount(written)),
    ...(thought === undefined ? {} : { completion_tokens_details: { reasoning_tokens: thought } }),
    ...rounds,
  };
}
