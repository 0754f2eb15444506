import { providerMetadata } from '../../../domain/chat/chat-envelope.ts';
import { nonChatStopReason } from '../../../domain/messages/stop-reason.ts';
import { isObject, isString, type JsonObject } from '../../../domain/shared/json.ts';

/** The provider's key in `provider_metadata`, for what chat completions have no field for. */
export const namespace = 'cloud_b_platform';

/**
 * A reasoning block, or a piece of one, in the format of the platform's messages styles:
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

/** Metadata that only this platform has. */
export const ownMetadata = (members: JsonObject): JsonObject => providerMetadata(namespace, members);

/**
 * Members that describe the answer as a whole: the tier that served it, the response fields that the request asked for,
 * the guardrail's trace, the performance configuration, and the stop reason if chat has no equivalent of it.
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
    stop_reason: nonChatStopReason(stopReason),
  }),
});
