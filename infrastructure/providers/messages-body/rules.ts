import { unsentIn } from '../../../domain/compatibility/unsent-fields.ts';
import type { UpstreamBody } from '../../../domain/compatibility/upstream-bodies.ts';
import { takesStrictTools } from '../../../domain/reasoning/model-tier.ts';
import { messagesTier, type TieredRoute } from '../../../domain/reasoning/route-tier.ts';
import type { Platform } from '../../../domain/reasoning/thinking-plan.ts';
import type { Route } from '../../../domain/routing/model.ts';
import { isAbsent, isString, type JsonObject, membersOf, objectsOf } from '../../../domain/shared/json.ts';

/** The differences between upstreams that speak the messages body. */
export interface BodyRules {
  /** The platform whose column of the model-family policy applies. */
  readonly platform: Platform;
  /** `anthropic_version` of the body; `undefined` where the body names its model instead. */
  readonly version: string | undefined;
  /** Whether the body of a streamed call has `stream: true`. */
  readonly saysStream: boolean;
  /** Images and files from any source, images only as base64 data, or neither images nor documents. */
  readonly media: 'any' | 'base64' | 'none';
  /** Chat controls that are rejected whatever their value. */
  readonly rejected: readonly string[];
  /** Whether a missing `max_tokens` is rejected if the route sets no default. Otherwise it is filled in. */
  readonly needsLimit: boolean;
  /** Whether `response_format` with a schema becomes `output_config.format`. Otherwise it is rejected. */
  readonly takesSchemas: boolean;
  /** Whether a model takes `strict` on tools. */
  readonly supportsStrict: (route: StrictRoute) => boolean;
  /** Members that are copied from a chat body. */
  readonly copied: readonly string[];
  /** Members of a messages body that this upstream does not know, and that do not change the answer. */
  readonly dropped: readonly string[];
  /** The same for members of each tool. */
  readonly droppedOfTools: readonly string[];
  /** Whether the upstream takes `inference_geo`, the region in which a model must run. */
  readonly knowsRegions: boolean;
  /**
   * Where `anthropic-beta` values are sent, which of the caller's are allowed, each with its name upstream, and which
   * are required here, by bodies that need them, although Anthropic's own API requires none.
   */
  readonly betas: {
    readonly in: 'body' | 'header';
    readonly allowed: ReadonlyMap<string, string>;
    readonly required: readonly string[];
  };
}

/** The beta of tool search, as the platforms call it. */
export const toolSearch = 'tool-search-tool-2025-10-19';

/** The beta of web search, which platform A requires for it. */
export const webSearch = 'web-search-2025-03-05';

/** The beta of changes of tools between the turns, by reference. */
const toolChanges = 'mid-conversation-tool-changes-2026-07-01';

/** Values with the same name everywhere, plus those that have a different name on the platforms. */
const betaTable = (...values: readonly string[]): ReadonlyMap<string, string> =>
  new Map([
    ...values.map((value) => [value, value] as const),
    // https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
    ['advanced-tool-use-2025-11-20', toolSearch],
    [toolSearch, toolSearch],
    // Anthropic's own API takes definitions as well, which the platforms get by reference (rule 17.65).
    ['inline-tools-2026-09-15', toolChanges],
  ]);

/** The beta of efforts between the turns, and the name by which Claude Code knows it. */
const effortPerMessage = 'mid-conversation-output-config-2026-07-01';
const perTurnControl = 'per-turn-control-2026-07-01';

const hasEffortBetweenTurns = ({ messages }: JsonObject): boolean =>
  objectsOf(messages).some(({ output_config: config }) => !isAbsent(config));

const hasToolChange = ({ messages }: JsonObject): boolean =>
  objectsOf(messages).some(({ content }) =>
    objectsOf(content).some(({ type }) => type === 'tool_addition' || type === 'tool_removal'),
  );

/** What a body has if it needs a beta. Betas that are not in this table may be needed by any body. */
const needs: ReadonlyMap<string, (body: JsonObject) => boolean> = new Map([
  [
    toolSearch,
    ({ tools }) =>
      objectsOf(tools).some(
        ({ type, defer_loading: deferred }) =>
          deferred === true || (isString(type) && type.startsWith('tool_search_tool')),
      ),
  ],
  // https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/web-search
  [
    webSearch,
    ({ tools }) => objectsOf(tools).some(({ type }) => isString(type) && type.startsWith('web_search_')),
  ],
  [effortPerMessage, hasEffortBetweenTurns],
  [perTurnControl, hasEffortBetweenTurns],
  [toolChanges, hasToolChange],
  // https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
  [
    'mid-conversation-system-clear-at-2026-08-21',
    ({ messages }) => objectsOf(messages).some(({ clear_at: clearAt }) => !isAbsent(clearAt)),
  ],
  // https://code.claude.com/docs/en/auto-mode-classifier-billing
  ['dangerous-tool-use-2026-09-03', ({ safeguards }) => !isAbsent(safeguards)],
  // https://platform.claude.com/docs/en/build-with-claude/preserved-thinking#preserved-thinking-controls
  ['thinking-binding-controls-2026-08-01', ({ thinking }) => !isAbsent(membersOf(thinking)['block_binding'])],
  // https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
  ['thinking-display-updates-2026-08-18', ({ thinking }) => membersOf(thinking)['display'] === 'updates'],
]);

/**
 * Whether a body can do without a beta. Claude Code asks every model for some, also where it needs none of them, and
 * platforms reject a beta that the model does not have.
 */
export const isIdleBeta = (beta: string, body: JsonObject): boolean => needs.get(beta)?.(body) === false;

/** https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai and the pages of each feature. */
const platformABetas = betaTable(
  'compact-2026-01-12',
  'compact-2026-09-04',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dangerous-tool-use-2026-09-03',
  'interleaved-thinking-2025-05-14',
  effortPerMessage,
  'mid-conversation-system-clear-at-2026-08-21',
  // https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
  toolChanges,
  perTurnControl,
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  webSearch,
);

/**
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
 */
const platformBBetas = [
  'compact-2026-01-12',
  'compact-2026-09-04',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dangerous-tool-use-2026-09-03',
  'effort-2025-11-24',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  effortPerMessage,
  'mid-conversation-system-clear-at-2026-08-21',
  toolChanges,
  'output-128k-2025-02-19',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
] as const;

/** Invoke knows efforts between the turns by one name only. */
const invokeBetas = new Map([...betaTable(...platformBBetas), [perTurnControl, effortPerMessage]]);

/** Platform B's messages endpoint also takes the value by which a coding agent identifies itself. */
const endpointbBetas = betaTable(...platformBBetas, perTurnControl, 'claude-code-20250219', webSearch);

const ofTools = 'tools[].';

const unsentOfTools = (body: UpstreamBody): readonly string[] =>
  unsentIn(body, 'messages').flatMap((field) =>
    field.startsWith(ofTools) ? field.slice(ofTools.length) : [],
  );

/** Native members that chat has no equivalent of. */
const nativeMembers = ['context_management', 'container'] as const;

/** The fields of a route that decide whether its tools may be strict. */
type StrictRoute = TieredRoute & Pick<Route, 'capabilities'>;

/**
 * Platform A rejects `strict` in projects that are not allowed to use structured outputs, which is its default; their
 * routes have no `json_schema` either (rule 17.41).
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/structured_outputs
 */
const withSchemas = ({ upstreamModel, capabilities }: StrictRoute): boolean =>
  capabilities.json_schema && takesStrictTools(upstreamModel);

/** Platform B: latest-generation models omit the unsupported strict field, whatever API they are called by. */
const unlessLatest = (route: TieredRoute): boolean => messagesTier(route) !== 'latest';

/** Platform A: raw-predict and stream-raw-predict; image and document blocks are unsupported. */
export const rawPredictRules: BodyRules = {
  platform: 'a',
  version: 'vertex-2023-10-16',
  saysStream: true,
  media: 'none',
  rejected: [],
  needsLimit: false,
  takesSchemas: true,
  supportsStrict: withSchemas,
  copied: nativeMembers,
  dropped: unsentIn('raw_predict', 'messages'),
  droppedOfTools: unsentOfTools('raw_predict'),
  knowsRegions: false,
  betas: { in: 'body', allowed: platformABetas, required: [webSearch] },
};

/** Platform B, invoke: no streaming; penalties, `n`, `seed`, `parallel_tool_calls`, `response_format` rejected. */
export const invokeRules: BodyRules = {
  platform: 'b',
  version: 'bedrock-2023-05-31',
  saysStream: false,
  media: 'base64',
  rejected: ['presence_penalty', 'frequency_penalty', 'n', 'seed', 'parallel_tool_calls', 'response_format'],
  needsLimit: true,
  takesSchemas: false,
  supportsStrict: unlessLatest,
  copied: [...nativeMembers, 'metadata'],
  dropped: unsentIn('invoke', 'messages'),
  droppedOfTools: unsentOfTools('invoke'),
  knowsRegions: false,
  betas: { in: 'body', allowed: invokeBetas, required: [] },
};

/** Platform B, `endpointb_messages`: the messages API itself; the body names the model. */
export const endpointbRules: BodyRules = {
  platform: 'b',
  version: undefined,
  saysStream: true,
  media: 'any',
  rejected: [],
  needsLimit: false,
  takesSchemas: false,
  supportsStrict: unlessLatest,
  copied: nativeMembers,
  dropped: unsentIn('endpointb_messages', 'messages'),
  droppedOfTools: unsentOfTools('endpointb_messages'),
  knowsRegions: true,
  betas: { in: 'header', allowed: endpointbBetas, required: [] },
};
