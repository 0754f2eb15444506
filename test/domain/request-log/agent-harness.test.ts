import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { agentHarness, boundedUserAgent } from '../../../domain/request-log/agent-harness.ts';
import { maxUserAgentChars } from '../../../domain/shared/limits.ts';

const key = (userAgent: string | undefined): string => agentHarness(userAgent).key;

describe('the agent harness of a real User-Agent', () => {
  it.each([
    ['Claude Code', 'claude-cli/2.1.332 (external, sdk-cli)', 'claude-code'],
    ['Claude Code, interactive', 'claude-cli/2.1.332 (external, cli)', 'claude-code'],
    ['Claude Code, model discovery', 'claude-code/2.1.332', 'claude-code'],
    ['Claude Code, start-up probe', 'Bun/1.4.4', 'other'],
    ['Codex', 'codex_exec/0.171.0 (Debian 12.0.0; x86_64) xterm (codex_exec; 0.171.0)', 'codex'],
    ['Codex, interactive', 'codex_cli_rs/0.171.0 (Debian 12.0.0; x86_64) xterm', 'codex'],
    ['Codex, terminal page', 'codex-tui/0.171.0', 'codex'],
    ['opencode', 'opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14', 'opencode'],
    ['Qwen Code, chat', 'QwenCode/0.24.4 (linux; x64)', 'qwen-code'],
    ['Qwen Code, posing as Claude Code', 'claude-cli/0.24.4 (external, cli)', 'qwen-code'],
    ['pi', 'pi/1.6.0 (linux; node/v26.10.0; x64)', 'pi'],
    ['pi before 1.0, chat', 'OpenAI/JS 6.26.0', 'openai_sdk'],
    ['pi before 1.0, messages', 'Anthropic/JS 0.91.1', 'anthropic_sdk'],
    ['Continue, chat', 'ls/JS 5.23.2', 'other'],
    ['Continue, messages', 'node-fetch', 'other'],
    ['Copilot, chat', 'OpenAI/JS 5.20.1', 'openai_sdk'],
    ['Copilot, messages', 'Anthropic/JS 0.94.0', 'anthropic_sdk'],
    ['Cline', 'ai-sdk/openai-compatible/3.0.37 ai-sdk/provider-utils/5.0.30 runtime/bun/1.3.13', 'ai-sdk'],
    ['Gemini CLI', 'GeminiCLI-tui/0.61.0/gemini-2.5-pro (linux; x64; terminal)', 'gemini-cli'],
    ['the OpenAI SDK', 'OpenAI/JS 7.59.0', 'openai_sdk'],
    ['the Anthropic SDK', 'Anthropic/JS 1.14.0', 'anthropic_sdk'],
    ['the Anthropic SDK, an older one', 'Anthropic/JS 0.137.0', 'anthropic_sdk'],
    ['the OpenAI SDK of Python', 'OpenAI/Python 2.8.1', 'openai_sdk'],
    ['the OpenAI SDK of Python, asynchronous', 'AsyncOpenAI/Python 2.8.1', 'openai_sdk'],
    ['the OpenAI SDK of Python, Azure', 'AzureOpenAI/Python 2.8.1', 'openai_sdk'],
    ['the OpenAI SDK of Python, Azure, asynchronous', 'AsyncAzureOpenAI/Python 2.8.1', 'openai_sdk'],
    ['the OpenAI SDK of Python, its module', '_ModuleClient/Python 2.8.1', 'openai_sdk'],
    ['the OpenAI SDK of Python, its module, Azure', '_AzureModuleClient/Python 2.8.1', 'openai_sdk'],
    ['the OpenAI SDK of Bedrock', 'BedrockOpenAI/JS 7.55.0', 'openai_sdk'],
    ['the OpenAI SDK of Go', 'OpenAI/Go 3.8.1', 'openai_sdk'],
    ['the OpenAI SDK of Java', 'OpenAIClientImpl/Java 4.8.0', 'openai_sdk'],
    ['the OpenAI SDK of Java, asynchronous', 'OpenAIClientAsyncImpl/Java 4.8.0', 'openai_sdk'],
    ['the OpenAI SDK of Ruby', 'OpenAI::Client/Ruby 0.34.1', 'openai_sdk'],
    ['the OpenAI SDK of .NET', 'OpenAI/2.7.0 (.NET 9.0.0; Debian 12)', 'openai_sdk'],
    ['the Anthropic SDK of Python', 'Anthropic/Python 0.75.0', 'anthropic_sdk'],
    ['the Anthropic SDK of Python, asynchronous', 'AsyncAnthropic/Python 0.75.0', 'anthropic_sdk'],
    ['the Anthropic SDK, Bedrock', 'AnthropicBedrock/JS 0.26.0', 'anthropic_sdk'],
    ['the Anthropic SDK, Bedrock, asynchronous', 'AsyncAnthropicBedrock/Python 0.75.0', 'anthropic_sdk'],
    ['the Anthropic SDK, Mantle', 'AsyncAnthropicBedrockMantle/Python 0.90.0', 'anthropic_sdk'],
    ['the Anthropic SDK, Vertex', 'AnthropicVertex/Python 0.75.0', 'anthropic_sdk'],
    ['the Anthropic SDK, Vertex, asynchronous', 'AsyncAnthropicVertex/Python 0.75.0', 'anthropic_sdk'],
    ['the Anthropic SDK, Foundry', 'AnthropicFoundry/JS 0.2.0', 'anthropic_sdk'],
    ['the Anthropic SDK of Go', 'Anthropic/Go 1.19.0', 'anthropic_sdk'],
    ['the Anthropic SDK of Java', 'AnthropicClientImpl/Java 2.11.0', 'anthropic_sdk'],
    ['the Anthropic SDK of Java, asynchronous', 'AnthropicClientAsyncImpl/Java 2.11.0', 'anthropic_sdk'],
    ['the Anthropic SDK of Ruby', 'Anthropic::Client/Ruby 1.16.0', 'anthropic_sdk'],
    [
      'the Anthropic SDK of Ruby, Bedrock',
      'Anthropic::Helpers::Bedrock::Client/Ruby 1.16.0',
      'anthropic_sdk',
    ],
    ['the Anthropic SDK, AWS', 'AsyncAnthropicAWS/Python 0.90.0', 'anthropic_sdk'],
    ['the Anthropic SDK of C#', 'AnthropicClient/C# 12.3.0', 'anthropic_sdk'],
    ['the AI SDK, whole', 'ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/24', 'ai-sdk'],
    ['the AI SDK, streamed', 'ai-sdk-openai/4.0.118 ai-sdk-provider-utils/5.0.81', 'ai-sdk'],
    ['the AI SDK, compatible', 'ai-sdk-openai-compatible/3.0.92 ai-sdk-provider-utils/5.0.81', 'ai-sdk'],
    ['the AI SDK, messages', 'ai-sdk-anthropic/4.0.105 ai-sdk-provider-utils/5.0.81', 'ai-sdk'],
    ['LangChain, openai', 'langchainjs-openai/1.0.0 ((node/v24.21.0; linux; x64))', 'langchain'],
    ['LangChain, anthropic', 'Anthropic/JS 0.122.0', 'anthropic_sdk'],
    ['OpenAI Agents', 'Agents/JavaScript 0.20.0', 'openai-agents'],
  ])('%s', (_, userAgent, harness) => {
    expect(key(userAgent)).toBe(harness);
  });
});

describe('the first match wins', () => {
  it.each([
    ['claude-cli/0', 'qwen-code'],
    ['claude-cli/0.1', 'qwen-code'],
    ['claude-cli/0 (external, cli)', 'qwen-code'],
    ['claude-cli/1.0.0', 'claude-code'],
    ['claude-cli/10.0.0', 'claude-code'],
    ['claude-cli/dev', 'other'],
    ['my ai-sdk/1', 'ai-sdk'],
    ['myai-sdk/1', 'other'],
    ['myai/7', 'other'],
    ['opencode/1 langchainjs', 'opencode'],
    ['Mozilla/5.0 (X11; Linux x86_64)', 'other'],
    ['Mozilla/5.0 opencode/1', 'other'],
    ['curl/8.5.0', 'other'],
    ['python-requests/2.32', 'other'],
    ['codex', 'other'],
    ['api/1.0', 'other'],
    ['pip/25.0', 'other'],
    ['MyOpenAI/1', 'other'],
    ['OpenAIx/1', 'other'],
    ['AsyncOpenAI', 'other'],
    ['my AsyncOpenAI/Python 2.8.1', 'other'],
    ['AnthropicVertexes/1', 'other'],
    ['ModuleClient/Python 1', 'other'],
    [' codex_exec/1', 'other'],
  ])('%s', (userAgent, harness) => {
    expect(key(userAgent)).toBe(harness);
  });

  it.each([[undefined], ['']])('a User-Agent of %p is unknown', (userAgent) => {
    expect(agentHarness(userAgent)).toEqual({ key: 'unknown', label: 'Unknown' });
  });

  it.each([
    ['codex_exec/1', 'codex', 'Codex'],
    ['opencode/1', 'opencode', 'opencode'],
    ['pi/1', 'pi', 'pi'],
    ['QwenCode/1', 'qwen-code', 'Qwen Code'],
    ['claude-cli/0.1', 'qwen-code', 'Qwen Code'],
    ['GeminiCLI', 'gemini-cli', 'Gemini CLI'],
    ['claude-cli/1', 'claude-code', 'Claude Code'],
    ['claude-code/1', 'claude-code', 'Claude Code'],
    ['Agents/1', 'openai-agents', 'OpenAI Agents SDK'],
    ['langchainjs', 'langchain', 'LangChain'],
    ['ai/1', 'ai-sdk', 'Vercel AI SDK'],
    ['OpenAI/JS', 'openai_sdk', 'OpenAI SDK'],
    ['Anthropic/JS', 'anthropic_sdk', 'Anthropic SDK'],
    ['curl/8', 'other', 'Other'],
  ])('%s has the key %s and the label %s', (userAgent, harness, label) => {
    expect(agentHarness(userAgent)).toEqual({ key: harness, label });
  });

  it('any User-Agent has a short harness key', () => {
    fc.assert(
      fc.property(fc.string(), (userAgent) => {
        expect(key(userAgent)).toMatch(/^[a-z_-]{1,20}$/);
      }),
    );
  });
});

describe('the stored User-Agent is cut to its maximum length', () => {
  it.each([
    [undefined, undefined],
    ['', 0],
    ['a'.repeat(maxUserAgentChars), maxUserAgentChars],
    ['a'.repeat(maxUserAgentChars + 1), maxUserAgentChars],
    ['a'.repeat(30_000), maxUserAgentChars],
  ])('%#', (userAgent, length) => {
    expect(boundedUserAgent(userAgent)?.length).toBe(length);
  });
});
