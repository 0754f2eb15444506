import { promptDetails } from '../../../domain/chat/prompt-details.ts';
import { tokenCount } from '../../../domain/ledger/usage.ts';
import { isAbsent, isObject, type Json, type JsonObject, membersOf } from '../../../domain/shared/json.ts';
import { messagesBodyUsage } from '../../../domain/messages/observe-messages.ts';

/**
 * The usage in chat's words, with what was read from a cache and written to one beside the whole prompt, and what was
 * thought beside the whole output. Rounds stay as they are, because some are billed beside the answer (rules 38.14,
 * 38.15). Undefined: none was reported; counts that cannot be used are null.
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
