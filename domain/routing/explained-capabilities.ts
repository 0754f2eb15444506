import type { Capabilities, Capability } from './capabilities.ts';

/** One capability of a route, for whoever asks why a request does not take the route. */
export interface ExplainedCapability {
  /** What the route's `capabilities` say. */
  readonly configured: boolean;
  /** What routing goes by: both halves of `missingCapability`. */
  readonly effective: boolean;
  /** A sentence; undefined where the capability is effective. */
  readonly reason: string | undefined;
}

export type ExplainedCapabilities = Readonly<Record<Capability, ExplainedCapability>>;

/** What the provider's half comes to on one route, and the sentence for what it does not do. */
export interface ProviderHalf {
  readonly can: Capabilities;
  readonly why: (capability: Capability) => string;
}

/** Effective capability is the intersection of configured and supported; each false has its reasons (rule 49.2). */
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
