/**
 * A system text without the line that Claude Code sends as its first block, for Anthropic's own servers: its version and
 * a hash (rule 17.43). Platforms refuse it (`x-anthropic-billing-header is a reserved keyword`,
 * https://github.com/anthropics/claude-code/issues/24168), and as the hash changes at the very beginning of the prompt,
 * upstreams that cache prompts would find none of them again (https://github.com/vllm-project/vllm/pull/36829).
 */
export const withoutAttribution = (text: string): string =>
  text.replace(/^x-anthropic-billing-header:[^\n]*\n?/, '');
