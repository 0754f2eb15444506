import type { Snippet } from '../../ui/snippets.tsx';

interface SnippetInput {
  /** The client's name for it: letters, digits and `-`. */
  readonly name: string;
  readonly url: string;
}

/**
 * What to paste into a client so that it finds an MCP server behind the gateway (docs/mcp.md). The key stays in the
 * environment, as `GATEWAY_API_KEY`.
 */
export const snippetsOf = ({ name, url }: SnippetInput): readonly Snippet[] => [
  {
    name: 'Claude Code',
    place: 'In a shell that has the key in GATEWAY_API_KEY.',
    text: `claude mcp add --transport http ${name} ${url} --header "Authorization: Bearer $GATEWAY_API_KEY"`,
  },
  {
    name: 'Codex',
    place: 'In ~/.codex/config.toml.',
    text: `[mcp_servers.${name}]\nurl = "${url}"\nbearer_token_env_var = "GATEWAY_API_KEY"`,
  },
  {
    name: 'opencode',
    place: 'In ~/.config/opencode/opencode.json.',
    text: JSON.stringify(
      {
        mcp: {
          // Models then see a tool as `<server>__<tool>`, because opencode puts one `_` between the two.
          [`${name}_`]: { type: 'remote', url, headers: { Authorization: 'Bearer {env:GATEWAY_API_KEY}' } },
        },
      },
      undefined,
      2,
    ),
  },
];
