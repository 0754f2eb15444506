import type { McpPlace } from './mcp.ts';
import type { ApiFamily } from '../../domain/routing/model.ts';

/** The target of an agent, and its task. */
export interface Place {
  /** The gateway, such as `http://127.0.0.1:1234`. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly prompt: string;
  /** The MCP server that it uses; `url` is complete. */
  readonly mcp?: { readonly name: string; readonly url: string } | undefined;
}

/** How an agent is started: settings as files below its HOME, variables, and arguments. */
export interface Launch {
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  /** The arguments of the agent's own commands that are run first. */
  readonly before?: readonly (readonly string[])[];
}

/** One API family in which an agent calls the gateway. */
export interface Setup {
  readonly family: ApiFamily;
  /** The harness that the gateway must derive from its `User-Agent`. */
  readonly harness: string;
  readonly launch: (place: Place) => Launch;
}

/** A coding agent as npm installs it. */
export interface Agent {
  readonly name: string;
  readonly package: string;
  readonly version: string;
  /** The command, below `node_modules/.bin`. */
  readonly command: string;
  /** Packages whose install scripts put the command in its place. */
  readonly installScripts: readonly string[];
  readonly setups: readonly Setup[];
  /** A call of one of its own tools that reads a file, and runs without a confirmation. */
  readonly readFile: (file: string) => { readonly name: string; readonly arguments: object };
  /** The name of an MCP server's tool in its requests to models; absent if it is not tried with MCP. */
  readonly mcpTool?: (place: McpPlace) => string;
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

const addMcp = ({ name, url }: NonNullable<Place['mcp']>, key: string): readonly string[] =>
  `mcp add --transport http ${name} ${url} --header`.split(' ').concat(`Authorization: Bearer ${key}`);

const claudeCode: Agent = {
  name: 'claude-code',
  package: '@anthropic-ai/claude-code',
  version: '2.1.332',
  command: 'claude',
  installScripts: ['@anthropic-ai/claude-code'],
  readFile: (file) => ({ name: 'Read', arguments: { file_path: file } }),
  mcpTool: ({ name, tool }) => `mcp__${name}__${tool}`,
  setups: [
    {
      family: 'messages',
      harness: 'claude-code',
      launch: ({ url, key, model, prompt, mcp }) => ({
        files: {},
        before: mcp === undefined ? [] : [addMcp(mcp, key)],
        env: {
          ANTHROPIC_BASE_URL: url,
          ANTHROPIC_AUTH_TOKEN: key,
          CLAUDE_CODE_MAX_RETRIES: '2',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_TELEMETRY: '1',
          DISABLE_ERROR_REPORTING: '1',
          DISABLE_AUTOUPDATER: '1',
          // Otherwise a model must search for the tools of MCP servers before they are offered to it.
          ...(mcp === undefined ? {} : { ENABLE_TOOL_SEARCH: 'false' }),
        },
        args: [
          '--model',
          model,
          '-p',
          prompt,
          ...(mcp === undefined ? [] : ['--allowedTools', `mcp__${mcp.name}`]),
        ],
      }),
    },
  ],
};

const codex: Agent = {
  name: 'codex',
  package: '@openai/codex',
  version: '0.171.0',
  command: 'codex',
  installScripts: [],
  // The tool is in a namespace, `mcp__<name>`.
  mcpTool: ({ tool }) => tool,
  readFile: (file) => ({ name: 'exec_command', arguments: { cmd: `cat '${file}'` } }),
  setups: [
    {
      family: 'responses',
      harness: 'codex',
      launch: ({ url, key, model, prompt, mcp }) => ({
        files: {
          '.codex/config.toml': `model = ${JSON.stringify(model)}
model_provider = "gateway"

[model_providers.gateway]
name = "Gateway"
base_url = "${url}/v1"
env_key = "GATEWAY_API_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2

[analytics]
enabled = false

[otel]
exporter = "none"
${mcp === undefined ? '' : `\n[mcp_servers.${mcp.name}]\nurl = "${mcp.url}"\nbearer_token_env_var = "GATEWAY_API_KEY"\ndefault_tools_approval_mode = "approve"\n`}`,
        },
        env: { GATEWAY_API_KEY: key },
        args: ['exec', '--skip-git-repo-check', prompt],
      }),
    },
  ],
};

/** opencode derives the family from the provider's package. */
const opencodeSetup = (family: ApiFamily, npm: string): Setup => ({
  family,
  harness: 'opencode',
  launch: ({ url, key, model, prompt, mcp }) => ({
    files: {
      '.config/opencode/opencode.json': json({
        $schema: 'https://opencode.ai/config.json',
        provider: {
          gateway: {
            npm,
            name: 'Gateway',
            options: { baseURL: `${url}/v1`, apiKey: '{env:GATEWAY_API_KEY}' },
            models: { [model]: {} },
          },
        },
        ...(mcp === undefined
          ? {}
          : {
              mcp: {
                // The agent puts one `_` between the names of server and tool; this makes it two.
                [`${mcp.name}_`]: {
                  type: 'remote',
                  url: mcp.url,
                  headers: { Authorization: 'Bearer {env:GATEWAY_API_KEY}' },
                },
              },
            }),
      }),
    },
    env: {
      GATEWAY_API_KEY: key,
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    },
    args: ['run', '--pure', '-m', `gateway/${model}`, prompt],
  }),
});

const opencode: Agent = {
  name: 'opencode',
  package: 'opencode-ai',
  version: '1.18.33',
  command: 'opencode',
  installScripts: ['opencode-ai'],
  readFile: (file) => ({ name: 'read', arguments: { filePath: file } }),
  mcpTool: ({ name, tool }) => `${name}__${tool}`,
  setups: [
    opencodeSetup('chat_completions', '@ai-sdk/openai-compatible'),
    opencodeSetup('responses', '@ai-sdk/openai'),
    opencodeSetup('messages', '@ai-sdk/anthropic'),
  ],
};

/** Qwen Code derives the family from its authentication type; messages mode identifies as Claude Code 0.x. */
const qwenSetup = (
  family: ApiFamily,
  authType: string,
  variables: (place: Place) => Launch['env'],
): Setup => ({
  family,
  harness: 'qwen-code',
  launch: (place) => ({
    files: {
      '.qwen/settings.json': json({
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
      }),
    },
    env: variables(place),
    args: ['--auth-type', authType, '-m', place.model, place.prompt],
  }),
});

const openaiVariables = ({ url, key }: Place) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key });
const anthropicVariables = ({ url, key }: Place) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key });

const qwenCode: Agent = {
  name: 'qwen-code',
  package: '@qwen-code/qwen-code',
  version: '0.24.4',
  command: 'qwen',
  installScripts: [],
  readFile: (file) => ({ name: 'read_file', arguments: { file_path: file } }),
  setups: [
    qwenSetup('chat_completions', 'openai', openaiVariables),
    qwenSetup('responses', 'openai-responses', openaiVariables),
    qwenSetup('messages', 'anthropic', anthropicVariables),
  ],
};

/** The agents that are tried, with the tested versions. */
export const agents: readonly Agent[] = [claudeCode, codex, opencode, qwenCode];
