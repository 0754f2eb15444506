import { maxUserAgentChars } from '../shared/limits.ts';

/** Self-reported by the `User-Agent`; not an authenticated identity. */
export interface AgentHarness {
  readonly key: string;
  readonly label: string;
}

const rows: readonly (readonly [pattern: RegExp, key: string, label: string])[] = [
  [/^codex[_-]/, 'codex', 'Codex'],
  [/^opencode\//, 'opencode', 'opencode'],
  [/^pi\//, 'pi', 'pi'],
  [/^QwenCode\//, 'qwen-code', 'Qwen Code'],
  [/^GeminiCLI/, 'gemini-cli', 'Gemini CLI'],
  // Qwen Code's messages mode poses as Claude Code; its major version is 0.
  [/^claude-cli\/0+(?!\d)/, 'qwen-code', 'Qwen Code'],
  [/^claude-cli\/\d+/, 'claude-code', 'Claude Code'],
  [/^claude-code\//, 'claude-code', 'Claude Code'],
  [/^Agents\//, 'openai-agents', 'OpenAI Agents SDK'],
  [/langchainjs/, 'langchain', 'LangChain'],
  [/(?:^| )ai-sdk|^ai\//, 'ai-sdk', 'Vercel AI SDK'],
  // The official SDKs send the class of their client: `AsyncOpenAI/Python`, `AzureOpenAI/JS`, `OpenAIClientImpl/Java`.
  [
    /^(?:Async)?(?:Azure|Bedrock)?OpenAI(?:Client(?:Async)?(?:Impl)?|(?:::\w+)*::Client)?\//,
    'openai_sdk',
    'OpenAI SDK',
  ],
  // The client that the Python module's own functions use when the caller creates none.
  [/^_(?:Azure)?ModuleClient\/Python /, 'openai_sdk', 'OpenAI SDK'],
  [
    /^(?:Async)?Anthropic(?:AWS|Bedrock|BedrockMantle|Foundry|Vertex)?(?:Client(?:Async)?(?:Impl)?|(?:::\w+)*::Client)?\//,
    'anthropic_sdk',
    'Anthropic SDK',
  ],
];

const other: AgentHarness = { key: 'other', label: 'Other' };
const unknown: AgentHarness = { key: 'unknown', label: 'Unknown' };

/** The first match wins; `unknown` without a `User-Agent`, `other` when no row matches. */
export function agentHarness(userAgent: string | undefined): AgentHarness {
  if (userAgent === undefined || userAgent === '') return unknown;
  const row = rows.find(([pattern]) => pattern.test(userAgent));
  return row === undefined ? other : { key: row[1], label: row[2] };
}

export const boundedUserAgent = (userAgent: string | undefined): string | undefined =>
  userAgent?.slice(0, maxUserAgentChars);
