import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { thoughtIn } from './platform-openai.ts';
import { pixel, pixelUrl, placeSchema, resultOf, toolNames, toolParameters } from './scenario.ts';

/** The options of a conversation; if none is set, a client sends only what is required. */
export interface Setting {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: boolean;
  readonly thinking?: boolean;
  /** The answer follows `placeSchema`. */
  readonly schema?: boolean;
  /** The user's message starts with an image. */
  readonly image?: boolean;
  /** Prompt caching is on: marks on system prompt, tools, user's message and tool results; or a cache key. */
  readonly caching?: boolean;
  /** The metadata member with a platform's reasoning in chat completions; undefined: a field of the host. */
  readonly namespace?: string | undefined;
}

/** An answer of any family. */
export interface Answer {
  readonly text: string;
  readonly thought: string;
  /** Tool calls: name and input. */
  readonly calls: readonly (readonly [string, unknown])[];
  /** Prompt tokens in total, and how many of them were read from a cache and written to one. */
  readonly prompt: number | undefined;
  readonly read: number | undefined;
  readonly written: number | undefined;
  /** The end reason, as the family names it. */
  readonly end: string | null | undefined;
}

/** A conversation of a client, which sends back the answers as its library represents them. */
export interface Conversation {
  readonly say: (text: string) => Promise<Answer>;
  /** Sends a result for each tool call of the last answer. */
  readonly handResults: () => Promise<Answer>;
}

const ephemeral = { cache_control: { type: 'ephemeral' as const } };
const system = 'Be brief.';
/** The caller's key for prompt caching. */
export const cacheKey = 'simulated-cache-key';

/** The first block of Claude Code's system prompt. */
const attribution = {
  type: 'text' as const,
  text: 'x-anthropic-billing-header: cc_version=2.1.329.136; cc_entrypoint=cli;',
};

/** Adds a mark if caching is on. */
const marker =
  (caching: boolean | undefined) =>
  <T extends object>(part: T): T =>
    caching === true ? { ...part, ...ephemeral } : part;

/** The `openai` client's chat completions; marks have the form that aggregating routers defined. */
export function chatConversation(client: OpenAI, setting: Setting): Conversation {
  const { model, stream, tools, thinking, schema, image, caching, namespace } = setting;
  const marked = marker(caching);
  const part = (text: string) => marked({ type: 'text' as const, text });
  const picture = { type: 'image_url' as const, image_url: { url: pixelUrl } };
  const messages: OpenAI.ChatCompletionMessageParam[] =
    caching === true ? [{ role: 'system', content: [part(system)] }] : [];
  let calls: readonly OpenAI.ChatCompletionMessageToolCall[] = [];

  const offered = toolNames.map((name, index) => {
    const tool = { type: 'function' as const, function: { name, parameters: toolParameters } };
    return index === 0 ? tool : marked(tool);
  });
  const body = () => ({
    model,
    messages,
    ...(tools === true ? { tools: offered } : {}),
    ...(thinking === true ? { reasoning_effort: 'high' as const } : {}),
    ...(schema === true
      ? {
          response_format: {
            type: 'json_schema' as const,
            json_schema: { name: 'place', strict: true, schema: placeSchema },
          },
        }
      : {}),
  });

  async function answer(): Promise<Answer> {
    let thought = '';
    let completion: OpenAI.ChatCompletion;
    if (stream === true) {
      const helper = client.chat.completions.stream({ ...body(), stream_options: { include_usage: true } });
      helper.on('chunk', ({ choices }) => {
        thought += thoughtIn(choices[0]?.delta ?? {}, namespace);
      });
      completion = await helper.finalChatCompletion();
    } else {
      completion = await client.chat.completions.create(body());
      thought = thoughtIn(completion.choices[0]?.message ?? {}, namespace);
    }
    const { message, finish_reason: end } = completion.choices[0]!;
    messages.push(message);
    calls = message.tool_calls ?? [];
    const details: { cached_tokens?: number; cache_write_tokens?: number } =
      completion.usage?.prompt_tokens_details ?? {};
    return {
      text: message.content ?? '',
      thought,
      calls: calls.map((call) =>
        call.type === 'function'
          ? [call.function.name, JSON.parse(call.function.arguments)]
          : [call.type, ''],
      ),
      prompt: completion.usage?.prompt_tokens,
      read: details.cached_tokens,
      written: details.cache_write_tokens,
      end,
    };
  }

  return {
    say: (text) => {
      const parts = image === true ? [picture, part(text)] : [part(text)];
      messages.push({ role: 'user', content: image === true || caching === true ? parts : text });
      return answer();
    },
    handResults: () => {
      for (const call of calls) {
        const text = resultOf(call.type === 'function' ? call.function.name : call.type);
        const content = caching === true ? [part(text)] : text;
        messages.push({ role: 'tool', tool_call_id: call.id, content });
      }
      return answer();
    },
  };
}

/** The `openai` client's responses, which are not stored at the provider if they reason. */
export function responsesConversation(client: OpenAI, setting: Setting): Conversation {
  const { model, stream, tools, thinking, schema, image, caching } = setting;
  const input: OpenAI.Responses.ResponseInput = [];
  let calls: readonly Pick<OpenAI.Responses.ResponseFunctionToolCall, 'name' | 'arguments' | 'call_id'>[] =
    [];
  const offered = toolNames.map((name) => ({
    type: 'function' as const,
    name,
    parameters: toolParameters,
    strict: true,
  }));
  const format = { type: 'json_schema' as const, name: 'place', strict: true, schema: placeSchema };
  const body = () => ({
    model,
    input,
    ...(tools === true ? { tools: offered } : {}),
    ...(thinking === true
      ? {
          reasoning: { effort: 'high' as const, summary: 'auto' as const },
          include: ['reasoning.encrypted_content' as const],
          store: false,
        }
      : {}),
    ...(schema === true ? { text: { format } } : {}),
    ...(caching === true ? { prompt_cache_key: cacheKey } : {}),
  });

  async function answer(): Promise<Answer> {
    const response =
      stream === true
        ? await client.responses.stream(body()).finalResponse()
        : await client.responses.create(body());
    input.push(...(response.output as OpenAI.Responses.ResponseInput));
    calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
    const details: { cached_tokens?: number; cache_write_tokens?: number } =
      response.usage?.input_tokens_details ?? {};
    return {
      text: response.output_text,
      thought: response.output
        .flatMap((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : []))
        .join(''),
      calls: calls.map(({ name, arguments: text }) => [name, JSON.parse(text)]),
      prompt: response.usage?.input_tokens,
      read: details.cached_tokens,
      written: details.cache_write_tokens,
      end: response.status,
    };
  }

  return {
    say: (text) => {
      const said = { type: 'input_text' as const, text };
      const picture = { type: 'input_image' as const, image_url: pixelUrl, detail: 'auto' as const };
      input.push({ role: 'user', content: image === true ? [picture, said] : text });
      return answer();
    },
    handResults: () => {
      for (const { call_id, name } of calls)
        input.push({ type: 'function_call_output', call_id, output: resultOf(name) });
      return answer();
    },
  };
}

/** The Anthropic client's messages. */
export function messagesConversation(client: Anthropic, setting: Setting): Conversation {
  const { model, stream, tools, thinking, schema, image, caching } = setting;
  const marked = marker(caching);
  const messages: Anthropic.MessageParam[] = [];
  let calls: readonly Anthropic.ToolUseBlock[] = [];
  const offered = toolNames.map((name, index) => {
    const tool = { name, input_schema: toolParameters };
    return index === 0 ? tool : marked(tool);
  });
  const picture = {
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data: pixel },
  };
  const body = () => ({
    model,
    max_tokens: 4000,
    messages,
    ...(caching === true ? { system: [attribution, marked({ type: 'text' as const, text: system })] } : {}),
    ...(tools === true ? { tools: offered } : {}),
    ...(thinking === true ? { thinking: { type: 'enabled' as const, budget_tokens: 1024 } } : {}),
    ...(schema === true
      ? { output_config: { format: { type: 'json_schema' as const, schema: placeSchema } } }
      : {}),
  });

  async function answer(): Promise<Answer> {
    const message =
      stream === true
        ? await client.messages.stream(body()).finalMessage()
        : await client.messages.create(body());
    const { content, usage } = message;
    messages.push({ role: 'assistant', content });
    calls = content.filter((block) => block.type === 'tool_use');
    const read = usage.cache_read_input_tokens ?? 0;
    const written = usage.cache_creation_input_tokens ?? 0;
    return {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      thought: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
      calls: calls.map(({ name, input }) => [name, input]),
      prompt: usage.input_tokens + read + written,
      read,
      written,
      end: message.stop_reason,
    };
  }

  return {
    say: (text) => {
      const said = marked({ type: 'text' as const, text });
      messages.push({
        role: 'user',
        content: image === true ? [picture, said] : caching === true ? [said] : text,
      });
      return answer();
    },
    handResults: () => {
      const results = calls.map(({ id, name }, index) => {
        const result = { type: 'tool_result' as const, tool_use_id: id, content: resultOf(name) };
        return index === calls.length - 1 ? marked(result) : result;
      });
      messages.push({ role: 'user', content: results });
      return answer();
    },
  };
}
