/** What a request may need from a route. The first three are API families, the others features. */
export const capabilities = [
  'chat_completions',
  'responses',
  'embeddings',
  'stream',
  'tools',
  'vision',
  'json_schema',
] as const;

export type Capability = (typeof capabilities)[number];
/** The request field that needs a capability, where it differs from the one in chat completions. */
export type CapabilityFields = Readonly<Partial<Record<Capability, string>>>;

export type Capabilities = Readonly<Record<Capability, boolean>>;

/** Defaults are permissive: routes of partial providers must set unsupported families to false. */
export const permissive: Capabilities = {
  chat_completions: true,
  responses: true,
  embeddings: true,
  stream: true,
  tools: true,
  vision: true,
  json_schema: true,
};

/** For a route that its provider does not know at all. */
export const noCapabilities: Capabilities = {
  chat_completions: false,
  responses: false,
  embeddings: false,
  stream: false,
  tools: false,
  vision: false,
  json_schema: false,
};

/**
 * The effective capabilities are the intersection of the route's `capabilities` and what the provider implementation
 * supports. Returns the first need that they do not meet, in the order in which the request lists its needs.
 */
export const missingCapability = (
  needs: readonly Capability[],
  route: Capabilities,
  provider: Capabilities,
): Capability | undefined => needs.find((need) => !(route[need] && provider[need]));
