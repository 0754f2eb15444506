import type { Snippet } from '../../ui/snippets.tsx';

interface SnippetInput {
  /** Without a trailing slash. */
  readonly origin: string;
  readonly key: string;
  readonly model: string;
}

/** Quoted for shells. */
const shell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** Quoted for JSON, TOML, Python and TypeScript. */
const quoted = (text: string): string => JSON.stringify(text);
const json = (value: object): string => JSON.stringify(value, undefined, 2);

/** Where to paste a key: each client with the base URL that it expects (docs/clients). */
export const snippetsOf = (given: SnippetInput): readonly Snippet[] => [
  curl(given),
  openAiPython(given),
  openAiTypeScript(given),
  anthropicPython(given),
  anthropicTypeScript(given),
  claudeCode(given),
  codex(given),
  opencode(given),
  environment(given),
];

const curl = ({ origin, key, model }: SnippetInput): Snippet => ({
  name: 'curl',
  place: 'In a shell.',
  text: [
    `curl ${origin}/v1/chat/completions \\`,
    `  -H ${shell(`authorization: Bearer ${key}`)} \\`,
    "  -H 'content-type: application/json' \\",
    `  -d ${shell(JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }))}`,
  ].join('\n'),
});

const openAiPython = ({ origin, key, model }: SnippetInput): Snippet => ({
  name: 'OpenAI Python',
  place: 'pip install openai',
  text: `from openai import OpenAI

client = OpenAI(base_url=${quoted(`${origin}/v1`)}, api_key=${quoted(key)})
answer = client.chat.completions.create(
    model=${quoted(model)},
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
});

const openAiTypeScript = ({ origin, key, model }: SnippetInput): Snippet => ({
  name: 'OpenAI TypeScript',
  place: 'npm install openai',
  text: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${quoted(`${origin}/v1`)}, apiKey: ${quoted(key)} });
const answer = await client.chat.completions.create({
  model: ${quoted(model)},
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0]?.message.content);`,
});

const anthropicPython = ({ origin, key, model }: SnippetInput): Snippet => ({
  name: 'Anthropic Python',
  place: 'pip install anthropic. The base URL has no /v1.',
  text: `from anthropic import Anthropic

client = Anthropic(base_url=${quoted(origin)}, api_key=${quoted(key)})
answer = client.messages.create(
    model=${quoted(model)},
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content)`,
});

const anthropicTypeScript = ({ origin, key, model }: SnippetInput): Snippet => ({
  name: 'Anthropic TypeScript',
  place: 'npm install @anthropic-ai/sdk. The base URL has no /v1.',
  text: `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: ${quoted(origin)}, apiKey: ${quoted(key)} });
const answer = await client.messages.create({
  model: ${quoted(model)},
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.content);`,
});

const claudeCode = ({ origin, key, model }: SnippetInput): Snippet => ({
  name: 'Claude Code',
  place: 'In ~/.claude/settings.json. The base URL has no /v1.',
  text: json({
    model,
    env: { ANTHROPIC_BASE_URL: origin, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_DEFAULT_HAIKU_MODEL: model },
  }),
});

const codex = ({ origin, key, model }: SnippetInput): Snippet => ({
  name: 'Codex',
  place:
    'In ~/.codex/config.toml; the last line goes into a shell. The model needs a route with the capability responses.',
  text: `model = ${quoted(model)}
model_provider = "gateway"
model_context_window = 128000

[model_providers.gateway]
name = "Gateway"
base_url = ${quoted(`${origin}/v1`)}
env_key = "GATEWAY_API_KEY"
wire_api = "responses"

# export GATEWAY_API_KEY=${shell(key)}`,
});

const opencode = ({ origin, key, model }: SnippetInput): Snippet => ({
  name: 'opencode',
  place: 'In ~/.config/opencode/opencode.json.',
  text: json({
    model: `gateway/${model}`,
    provider: {
      gateway: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Gateway',
        options: { baseURL: `${origin}/v1`, apiKey: key },
        models: { [model]: { limit: { context: 128_000, output: 32_000 } } },
      },
    },
  }),
});

const environment = ({ origin, key }: SnippetInput): Snippet => ({
  name: 'Environment',
  place: 'What most clients read. Those of Anthropic want a base URL without /v1.',
  text: [
    `export GATEWAY_API_KEY=${shell(key)}`,
    `export OPENAI_BASE_URL=${shell(`${origin}/v1`)}`,
    `export OPENAI_API_KEY=${shell(key)}`,
    `export ANTHROPIC_BASE_URL=${shell(origin)}`,
    `export ANTHROPIC_AUTH_TOKEN=${shell(key)}`,
  ].join('\n'),
});
