import { providerMetadata } from '../../../domain/chat/chat-envelope.ts';
import { stopBeyondChat } from '../../../domain/messages/stop-reason.ts';
import { isObject, isString, type JsonObject } from '../../../domain/shared/json.ts';

/** The provider's place under `provider_metadata`, for what chat completions have no field for. */
const namespace = 'cloud_b_platform';

/**
 * A reasoning block, or a piece of one, in the shape that the platform's messages styles give it:
 * `{type: thinking, thinking, signature}` or `{type: redacted_thinking, data}`.
 */
export function reasoningBlock({ text, signature, redactedContent }: JsonObject): JsonObject | undefined {
  if (isString(redactedContent)) return { type: 'redacted_thinking', data: redactedContent };
  if (!isString(text) && !isString(signature)) return undefined;
  return {
    type: 'thinking',
    ...(isString(text) ? { thinking: text } : {}),
    ...(isString(signature) ? { signature } : {}),
  };
}

/** What only this platform has. */
export const ownMetadata = (members: JsonObject): JsonObject => providerMetadata(namespace, members);

/**
 * What belongs to the answer as a whole: the tier that served it, what callers asked for in the request, what the route
 * did, and why the model stopped, where chat has no word for it.
 */
export const answerMembers = ({
  additionalModelResponseFields,
  trace,
  performanceConfig,
  stopReason,
  serviceTier,
}: JsonObject): JsonObject => ({
  ...(isObject(serviceTier) && isString(serviceTier['type']) ? { service_tier: serviceTier['type'] } : {}),
  ...ownMetadata({
    additionalModelResponseFields,
    trace,
    performanceConfig,
    stop_reason: stopBeyondChat(stopReason),
  }),
});
