import type { Capabilities, Capability } from './capabilities.ts';

/** One capability of a route, explained to someone who asks why a request does not take the route. */
export interface ExplainedCapability {
  /** What the route's `capabilities` say. */
  readonly configured: boolean;
  /** What routing uses: both halves of `missingCapability`. */
  readonly effective: boolean;
  /** A sentence; `undefined` when the capability is effective. */
  readonly reason: string | undefined;
}

export type ExplainedCapabilities = Readonly<Record<Capability, ExplainedCapability>>;

/** What the provider supports on one route, and a sentence for what it does not. */
export interface ProviderHalf {
  readonly can: Capabilities;
  readonly why: (capability: Capability) => string;
}

/** A capability is effective when it is configured and supported. Each one that is not has its reasons (rule 49.2). */
export function explainedCapabilities(
  route: Capabilities,
  { can, why }: ProviderHalf,
): ExplainedCapabilities {
  const explained = (capability: Capability): ExplainedCapability => {
    const configured = route[capability];
    const reasons = [
      ...(configured ? [] : [`The route's \`capabilities\` set \`${capability}\` to false.`]),
      ...(can[capability] ? [] : [why(capability)]),
    ];
    return {
      configured,
      effective: configured && can[capability],
      reason: reasons.length === 0 ? undefined : reasons.join(' '),
    };
  };
  return {
    chat_completions: explained('chat_completions'),
    responses: explained('responses'),
    embeddings: explained('embeddings'),
    stream: explained('stream'),
    tools: explained('tools'),
    vision: explained('vision'),
    json_schema: explained('json_schema'),
  };
}
