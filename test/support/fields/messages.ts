import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { fieldsOf, mark, type Scene } from './known-fields.ts';

const input_schema: JsonObject = { type: 'object', properties: { a: { type: 'string' } } };
const tool: JsonObject = { name: 'f', input_schema };
const user: JsonObject = { role: 'user', content: 'Hi' };
const text: JsonObject = { type: 'text', text: 'Look:' };
const cached: JsonObject = { type: 'ephemeral' };
const image: JsonObject = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
};
const inPdf: JsonObject = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };
const document = (source: JsonObject): JsonObject => ({ type: 'document', source });
const result: JsonObject = { type: 'tool_result', tool_use_id: 't1', content: 'ok' };
const use: JsonObject = { type: 'tool_use', id: 't1', name: 'f', input: {} };
const cited: JsonObject = {
  type: 'char_location',
  cited_text: mark('cited'),
  document_index: 0,
  start_char_index: 0,
  end_char_index: 1,
};
const searched: JsonObject = { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} };
const found: JsonObject = {
  type: 'search_result',
  source: 's',
  title: 't',
  content: [{ type: 'text', text: mark('found') }],
};
const says = (...content: readonly Json[]): JsonObject => ({ messages: [{ role: 'user', content }] });
const looksUp = (answer: JsonObject): JsonObject => ({
  tools: [tool],
  messages: [
    user,
    { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, use] },
    { role: 'user', content: [answer] },
  ],
});

/** Members of the body itself. */
const controls: Scene = {
  given: { messages: [user] },
  fields: {
    additionalModelRequestFields: { a: mark('own') },
    additionalModelResponseFieldPaths: ['/stop_sequence'],
    'billing_policy (self)': { type: 'billing_policy', bill_to: 'self' },
    billing_policy: { type: 'billing_policy', bill_to: 'user_profile' },
    cache_control: cached,
    cachedContent: mark('cached'),
    compaction: { type: 'summarize', instructions: mark('compaction') },
    container: mark('container'),
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    diagnostics: { previous_message_id: mark('previous') },
    'extra_body.google': { cached_content: mark('nested') },
    'fallbacks (default)': 'default',
    fallbacks: [{ model: mark('fallback') }],
    fallback_credit_token: mark('credit'),
    google: { cached_content: mark('merged') },
    guardrailConfig: { guardrailIdentifier: mark('guardrail'), guardrailVersion: '1' },
    imageConfig: { aspectRatio: '16:9' },
    'inference_geo (global)': 'global',
    'inference_geo (us)': 'us',
    labels: { a: 'mark-label' },
    max_tokens: 77,
    mcp_servers: [{ type: 'url', name: mark('mcp'), url: 'https://example.com/mcp' }],
    'metadata.user_id': mark('user'),
    'output_config.effort': 'low',
    'output_config.format': { type: 'json_schema', schema: { ...input_schema, description: mark('schema') } },
    'output_config.task_budget': { type: 'tokens', total: 20_000 },
    output_format: { type: 'json_schema', schema: { ...input_schema, description: mark('older-schema') } },
    outputConfig: {
      textFormat: {
        type: 'json_schema',
        structure: { jsonSchema: { schema: `{"title":"${mark('own-schema')}"}` } },
      },
    },
    performanceConfig: { latency: 'optimized' },
    requestMetadata: { a: mark('told') },
    serviceTier: { type: 'priority' },
    responseModalities: ['TEXT', 'IMAGE'],
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }],
    service_tier: 'standard_only',
    safeguards: [{ type: 'dangerous_tool_use' }],
    speed: 'fast',
    stop_sequences: [mark('stop')],
    stream: true,
    system: mark('system'),
    temperature: 0.375,
    thinkingConfig: { thinkingBudget: 1234 },
    'thinking (enabled)': { type: 'enabled', budget_tokens: 1024 },
    'thinking (adaptive)': { type: 'adaptive' },
    'thinking (between_tools)': { type: 'between_tools' },
    'thinking (disabled)': { type: 'disabled' },
    top_k: 77,
    top_p: 0.625,
  },
};

const nested: readonly Scene[] = [
  {
    given: { messages: [user], system: [{ type: 'text', text: 'Be brief.' }] },
    fields: {
      'system[0].text': mark('system'),
      'system[1] (x-anthropic-billing-header)': {
        type: 'text',
        text: 'x-anthropic-billing-header: cc_version=2.1.329.136; cc_entrypoint=cli;',
      },
      'system[0].cache_control': cached,
      'system[0].citations': [cited],
    },
  },
  {
    given: { messages: [user], system: [{ type: 'text', text: 'Be brief.', cache_control: cached }] },
    fields: { 'system[0].cache_control.scope': 'global' },
  },
  {
    given: { messages: [user], thinking: { type: 'enabled', budget_tokens: 1024 } },
    fields: {
      'thinking.budget_tokens': 20_480,
      'thinking.display': 'omitted',
      'thinking.block_binding': { prefix_mismatch_behavior: 'drop_block' },
    },
  },
  {
    given: { messages: [user], thinking: { type: 'disabled' } },
    fields: { 'output_config.effort (beside disabled thinking)': 'low' },
  },
  {
    given: { messages: [user], output_config: { effort: 'low' } },
    fields: { 'thinking (enabled, beside an effort)': { type: 'enabled', budget_tokens: 20_480 } },
  },
  {
    given: { messages: [user], tools: [tool] },
    fields: {
      'tools[0].name': mark('tool-name'),
      'tools[0].description': mark('tool-description'),
      'tools[0].input_schema': { ...input_schema, description: mark('tool-schema') },
      'tools[0].strict': true,
      'tools[0].cache_control': cached,
      'tools[0].defer_loading': true,
      'tools[0].eager_input_streaming': true,
      'tools[0].allowed_callers': ['direct'],
      'tools[0].input_examples': [{ a: mark('example') }],
      'tools[1] (web_search)': { type: 'web_search_20250305', name: 'web_search' },
      'tools[1] (bash)': { type: 'bash_20250124', name: 'bash' },
      'tools[1] (code_execution)': { type: 'code_execution_20250825', name: 'code_execution' },
      'tool_choice (any)': { type: 'any' },
      'tool_choice (tool)': { type: 'tool', name: 'f' },
      'tool_choice (none)': { type: 'none' },
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
  },
  {
    given: { messages: [user], tools: [tool], tool_choice: { type: 'auto' } },
    fields: { 'tool_choice.disable_parallel_tool_use': true },
  },
];

/** Messages and their members. */
const messages: readonly Scene[] = [
  {
    given: says(text),
    fields: {
      'messages[0].content[0].text': mark('text'),
      'messages[0].content[0].cache_control': cached,
      'messages[0].content[1] (image)': image,
      'messages[0].content[1] (image of url)': {
        type: 'image',
        source: { type: 'url', url: 'https://example.com/mark.png' },
      },
      'messages[0].content[1] (image of file)': {
        type: 'image',
        source: { type: 'file', file_id: mark('image-file') },
      },
      'messages[0].content[1] (document)': document(inPdf),
      'messages[0].content[1] (document of text)': document({
        type: 'text',
        media_type: 'text/plain',
        data: mark('document'),
      }),
      'messages[0].content[1] (document of url)': document({
        type: 'url',
        url: 'https://example.com/mark.pdf',
      }),
      'messages[0].content[1] (document of file)': document({ type: 'file', file_id: mark('document-file') }),
      'messages[0].content[1] (document of blocks)': document({
        type: 'content',
        content: [{ type: 'text', text: mark('block') }],
      }),
      'messages[0].content[1] (search_result)': found,
      'messages[0].content[1] (container_upload)': { type: 'container_upload', file_id: mark('upload') },
      'messages[1] (system)': { role: 'system', content: mark('late-system') },
      'messages[1] (system, of an effort alone)': { role: 'system', output_config: { effort: 'low' } },
    },
  },
  {
    given: { messages: [user], tools: [tool, { ...tool, name: 'g', defer_loading: true }] },
    fields: {
      'messages[1] (system, that adds a deferred tool)': {
        role: 'system',
        content: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'g' } }],
      },
      'messages[1] (system, that withdraws a tool)': {
        role: 'system',
        content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'g' } }],
      },
      'messages[1] (system, that defines a tool)': {
        role: 'system',
        content: [
          {
            type: 'tool_addition',
            tool: { type: 'tool_definition', definition: { ...tool, name: mark('defined') } },
          },
        ],
      },
    },
  },
  {
    given: { messages: [user, { role: 'system', content: 'Be brief.' }] },
    fields: { 'messages[1].output_config': { effort: 'low' }, 'messages[1].clear_at': 'next_user_message' },
  },
  {
    given: says(text, image),
    fields: { 'messages[0].content[1].transformations': { oversized_image: 'error' } },
  },
  {
    given: says(document({ type: 'text', media_type: 'text/plain', data: 'Words.' })),
    fields: {
      'messages[0].content[0].title': mark('title'),
      'messages[0].content[0].context': mark('context'),
      'messages[0].content[0].citations': { enabled: true },
    },
  },
  {
    given: says(document({ type: 'content', content: [text] })),
    fields: { 'messages[0].content[0].source.content[0].cache_control': cached },
  },
  {
    given: looksUp({ ...result, content: [text] }),
    fields: { 'messages[2].content[0].content[0].cache_control': cached },
  },
  { given: says(document(inPdf)), fields: { 'messages[0].content[0].title (of a file)': 'b.pdf' } },
  {
    given: { messages: [user, { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] }, user] },
    fields: {
      'messages[1].content[0].text': mark('assistant'),
      'messages[1].content[0].citations (of the answer)': [cited],
      'messages[1].content[1] (thinking)': { type: 'thinking', thinking: mark('thought'), signature: 's' },
      'messages[1].content[1] (redacted_thinking)': { type: 'redacted_thinking', data: mark('redacted') },
      'messages[1].content[1] (server_tool_use)': {
        type: 'server_tool_use',
        id: 's1',
        name: 'web_search',
        input: { query: mark('query') },
      },
      'messages[1].content[1] (web_search_tool_result)': {
        type: 'web_search_tool_result',
        tool_use_id: 's1',
        content: [{ type: 'web_search_result', title: 't', url: mark('url'), encrypted_content: 'e' }],
      },
      'messages[1].content[1] (compaction)': { type: 'compaction', content: mark('summary') },
      'messages[1].content[1] (fallback)': { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } },
    },
  },
  {
    given: {
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            searched,
            {
              type: 'web_search_tool_result',
              tool_use_id: 's1',
              content: [{ type: 'web_search_result', title: 't', url: 'https://example.com' }],
            },
          ],
        },
        user,
      ],
    },
    fields: { 'messages[1].content[1].content[0].encrypted_content': mark('encrypted') },
  },
  {
    given: {
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            { ...searched, name: 'web_fetch' },
            {
              type: 'web_fetch_tool_result',
              tool_use_id: 's1',
              content: {
                type: 'web_fetch_result',
                url: 'https://example.com',
                content: { type: 'document', source: { type: 'base64', media_type: 'application/pdf' } },
              },
            },
          ],
        },
        user,
      ],
    },
    fields: { 'messages[1].content[1].content.content.source.data (of a fetched file)': 'bWFyaw==' },
  },
  {
    given: looksUp(result),
    fields: {
      'messages[1].content[1].name': mark('use-name'),
      'messages[1].content[1].input': { a: mark('input') },
      'messages[1].content[1].cache_control (tool_use)': cached,
      'messages[1].content[1].caller': { type: 'direct' },
      'messages[1].content[1].toolset_name': 'browser',
      'messages[2].content[0].content (text)': mark('result'),
      'messages[2].content[0].content (blocks)': [{ type: 'text', text: mark('result-block') }],
      'messages[2].content[0].content (image)': [image],
      'messages[2].content[0].content (search_result)': [found],
      'messages[2].content[0].content (tool_reference)': [
        { type: 'tool_reference', tool_name: mark('reference') },
      ],
      'messages[2].content[0].is_error': true,
      'messages[2].content[0].cache_control (tool_result)': cached,
    },
  },
];

/** https://platform.claude.com/docs/en/api/messages/create */
export const messagesFields = fieldsOf({ model: 'asked', max_tokens: 4096 }, [
  controls,
  ...nested,
  ...messages,
]);
