import type { Capabilities } from '../routing/capabilities.ts';
import type { ApiFamily, Compatibility, FamilySupport } from '../routing/model.ts';

/** The APIs of platform B. Each route selects one explicitly. */
export const apiStyleNames = [
  'runtime_unified',
  'runtime_messages',
  'runtime_chat',
  'endpointb_responses',
  'endpointb_chat',
  'endpointb_messages',
] as const;

export type ApiStyle = (typeof apiStyleNames)[number];

export interface StyleRules {
  /** The host, which also decides the signing name: the runtime styles use one, the endpointb styles the other. */
  readonly host: 'runtime' | 'endpointb';
  /** `openai_base_path` is required for the chat-style styles. */
  readonly needsBasePath: boolean;
  /** How each family is served. A family that is not listed is not served. */
  readonly takes: Partial<Record<ApiFamily, FamilySupport>>;
  readonly streams: boolean;
}

/**
 * Rules: only `endpointb_responses` routes may enable `responses` and `json_schema`, and they must set
 * `chat_completions` to false; `runtime_messages` has no streaming path; no style has embeddings.
 */
export const apiStyles = {
  runtime_unified: {
    host: 'runtime',
    needsBasePath: false,
    takes: { chat_completions: 'translated', count_tokens: 'translated' },
    streams: true,
  },
  runtime_messages: {
    host: 'runtime',
    needsBasePath: false,
    takes: { chat_completions: 'translated', messages: 'translated', count_tokens: 'translated' },
    streams: false,
  },
  runtime_chat: {
    host: 'runtime',
    needsBasePath: true,
    takes: { chat_completions: 'as_written' },
    streams: true,
  },
  endpointb_responses: {
    host: 'endpointb',
    needsBasePath: true,
    takes: { responses: 'as_written' },
    streams: true,
  },
  endpointb_chat: {
    host: 'endpointb',
    needsBasePath: true,
    takes: { chat_completions: 'as_written' },
    streams: true,
  },
  endpointb_messages: {
    host: 'endpointb',
    needsBasePath: false,
    takes: { chat_completions: 'translated', messages: 'translated', count_tokens: 'translated' },
    streams: true,
  },
} as const satisfies Record<ApiStyle, StyleRules>;

/** The `cloud_b` block of a route to platform B. */
export interface CloudBBlock {
  readonly style: ApiStyle;
  /** The path before `/chat/completions` and `/responses`. */
  readonly basePath: string;
  /** `undefined`: decided by the model's family. */
  readonly supportsStrictTools: boolean | undefined;
  /** Where `runtime_unified` writes an effort: inside `thinking`, or beside it. */
  readonly effortPlacement: EffortPlacement;
}

export const effortPlacements = ['thinking', 'output_config'] as const;

export type EffortPlacement = (typeof effortPlacements)[number];

/**
 * The block of a route to platform B. The configuration guarantees that such a route has a block with a known style;
 * for other routes the result is `undefined`.
 */
export function cloudBBlock({ cloud_b: block }: Compatibility): CloudBBlock | undefined {
  const style = apiStyleNames.find((name) => name === block?.['api_style']);
  if (style === undefined) return undefined;
  const strict = block?.['supports_strict_tools'];
  const basePath = block?.['openai_base_path'];
  return {
    style,
    basePath: typeof basePath === 'string' ? basePath : '',
    supportsStrictTools: typeof strict === 'boolean' ? strict : undefined,
    effortPlacement:
      effortPlacements.find((placement) => placement === block?.['effort_placement']) ?? 'thinking',
  };
}

/** The capabilities of a style: the other half of the effective capability. */
export function styleCapabilities(style: ApiStyle): Capabilities {
  const { takes, streams }: StyleRules = apiStyles[style];
  return {
    chat_completions: takes.chat_completions !== undefined,
    responses: takes.responses !== undefined,
    embeddings: false,
    stream: streams,
    tools: true,
    vision: true,
    json_schema: style === 'endpointb_responses',
  };
}

/** The capabilities that a route claims although its style rules them out, each with the reason. */
export function styleProblems(
  style: ApiStyle,
  claimed: Capabilities,
): readonly (readonly [keyof Capabilities, string])[] {
  const onlyResponses = 'must be false: only endpointb_responses routes may enable it';
  const problems: readonly (readonly [keyof Capabilities, boolean, string])[] = [
    ['responses', style === 'endpointb_responses', onlyResponses],
    ['json_schema', style === 'endpointb_responses', onlyResponses],
    ['chat_completions', style !== 'endpointb_responses', 'must be false on endpointb_responses routes'],
    ['embeddings', false, 'must be false: platform B has no embeddings'],
    [
      'stream',
      apiStyles[style].streams,
      'must be false: runtime_messages has no streaming path (use runtime_unified or endpointb_messages)',
    ],
  ];
  return problems.flatMap(([name, may, reason]) => (claimed[name] && !may ? [[name, reason] as const] : []));
}
