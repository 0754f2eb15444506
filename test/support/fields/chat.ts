import type { JsonObject } from '../../../domain/shared/json.ts';
import { fieldsOf, mark, type Scene } from './known-fields.ts';

const parameters: JsonObject = { type: 'object', properties: { a: { type: 'string' } } };
const tool: JsonObject = { type: 'function', function: { name: 'f', parameters } };
const user: JsonObject = { role: 'user', content: 'Hi' };
const call: JsonObject = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const asked: JsonObject = { role: 'assistant', content: 'I look.', tool_calls: [call] };
const text: JsonObject = { type: 'text', text: 'Look:' };
const png = 'data:image/png;base64,iVBORw0KGgo=';
const pdf = 'data:application/pdf;base64,JVBERi0=';
const schema: JsonObject = { type: 'object', properties: { a: { type: 'string' } } };
const format: JsonObject = { type: 'json_schema', json_schema: { name: 'n', schema } };
const answer = (message: JsonObject): JsonObject => ({ messages: [user, message, user] });

/** Members of the body itself. */
const controls: Scene = {
  given: { messages: [user] },
  fields: {
    additionalModelRequestFields: { a: mark('own') },
    additionalModelResponseFieldPaths: ['/stop_sequence'],
    audio: { voice: mark('voice'), format: 'mp3' },
    cachedContent: mark('cached'),
    'extra_body.google': { cached_content: mark('nested') },
    google: { cached_content: mark('merged') },
    imageConfig: { aspectRatio: '16:9' },
    labels: { a: 'mark-label' },
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
    thinkingConfig: { thinkingBudget: 1234 },
    frequency_penalty: 0.25,
    guardrailConfig: { guardrailIdentifier: mark('guardrail'), guardrailVersion: '1' },
    logit_bias: { 50256: -7 },
    logprobs: true,
    max_completion_tokens: 77,
    metadata: { a: mark('metadata') },
    moderation: { model: mark('moderation'), policy: { input: { mode: 'block' } } },
    'modalities (audio)': ['text', 'audio'],
    n: 2,
    prediction: { type: 'content', content: mark('prediction') },
    presence_penalty: 0.5,
    prompt_cache_key: mark('prompt-cache-key'),
    prompt_cache_options: { mode: 'explicit' },
    prompt_cache_retention: '24h',
    reasoning_effort: 'medium',
    'response_format (json_object)': { type: 'json_object' },
    'response_format (json_schema)': format,
    safety_identifier: mark('safety-identifier'),
    seed: 7919,
    service_tier: 'priority',
    stop: [mark('stop')],
    stop_sequences: [mark('stop-sequence')],
    store: true,
    stream: true,
    temperature: 0.375,
    top_p: 0.625,
    user: mark('user'),
    verbosity: 'low',
    web_search_options: { search_context_size: 'low' },
  },
};

const nested: readonly Scene[] = [
  {
    given: { messages: [user], stream: true },
    fields: { 'stream_options.include_usage': true, 'stream_options.include_obfuscation': false },
  },
  { given: { messages: [user], logprobs: true }, fields: { top_logprobs: 3 } },
  { given: { messages: [user] }, fields: { 'top_logprobs (alone)': 3 } },
  {
    given: { messages: [{ role: 'user', content: [text] }] },
    fields: { 'messages[0].content[0].prompt_cache_breakpoint': { mode: 'explicit' } },
  },
  {
    given: { messages: [user], response_format: format },
    fields: {
      'response_format.json_schema.name': mark('format-name'),
      'response_format.json_schema.description': mark('format-description'),
      'response_format.json_schema.schema': { ...schema, description: mark('format-schema') },
      'response_format.json_schema.strict': true,
    },
  },
  {
    given: { messages: [user], tools: [tool] },
    fields: {
      'tools[1]': { type: 'function', function: { name: mark('tool'), parameters } },
      'tools[0].function.name': mark('tool-name'),
      'tools[0].function.description': mark('tool-description'),
      'tools[0].function.parameters': { ...parameters, description: mark('tool-parameters') },
      'tools[0].function.strict': true,
      'tools[1] (custom)': { type: 'custom', custom: { name: mark('custom-tool') } },
      function_call: { name: 'f' },
      functions: [{ name: mark('function'), parameters }],
      parallel_tool_calls: false,
      'tool_choice (none)': 'none',
      'tool_choice (required)': 'required',
      'tool_choice (function)': { type: 'function', function: { name: 'f' } },
      'tool_choice (allowed_tools)': {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
      'tool_choice (custom)': { type: 'custom', custom: { name: 'f' } },
    },
  },
];

/** Messages and their members. */
const messages: readonly Scene[] = [
  {
    given: { messages: [{ role: 'user', content: [text] }] },
    fields: {
      'messages[0].name (user)': mark('user-name'),
      'messages[0].content[1] (text)': { type: 'text', text: mark('text') },
      'messages[0].content[1] (image_url)': { type: 'image_url', image_url: { url: png } },
      'messages[0].content[1] (input_audio)': {
        type: 'input_audio',
        input_audio: { data: 'UklGRg==', format: 'wav' },
      },
      'messages[0].content[1] (file)': { type: 'file', file: { filename: 'a.pdf', file_data: pdf } },
      'messages[0].content[1] (file of file_id)': { type: 'file', file: { file_id: mark('file-id') } },
    },
  },
  {
    given: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: png } }] }] },
    fields: {
      'messages[0].content[0].image_url.detail': 'low',
      'messages[0].content[0].image_url.url': 'https://example.com/mark.png',
    },
  },
  {
    given: {
      messages: [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data: pdf } }] }],
    },
    fields: { 'messages[0].content[0].file.filename': 'b.pdf' },
  },
  {
    given: { messages: [{ role: 'system', content: 'Be brief.' }, user] },
    fields: {
      'messages[0].content (system)': mark('system'),
      'messages[0].name (system)': mark('system-name'),
    },
  },
  {
    given: { messages: [{ role: 'developer', content: 'Be brief.' }, user] },
    fields: { 'messages[0].content (developer)': mark('developer') },
  },
  {
    given: answer({ role: 'assistant', content: 'Hello' }),
    fields: {
      'messages[1].content (assistant)': mark('assistant'),
      'messages[1].name (assistant)': mark('assistant-name'),
      'messages[1].refusal': mark('refusal'),
      'messages[1].audio': { id: mark('audio') },
      'messages[1].function_call': { name: 'f', arguments: '{}' },
      'messages[1].content (assistant, refusal)': [{ type: 'refusal', refusal: mark('refusal-part') }],
      'messages[2]': { role: 'function', name: 'f', content: mark('function-result') },
    },
  },
  {
    given: { tools: [tool], messages: [user, asked, { role: 'tool', tool_call_id: 'c1', content: 'ok' }] },
    fields: {
      'messages[1].tool_calls[0].function.name': mark('call-name'),
      'messages[1].tool_calls[0].function.arguments': '{"a":"mark-arguments"}',
      'messages[1].tool_calls[1] (custom)': {
        id: 'c2',
        type: 'custom',
        custom: { name: 'f', input: mark('input') },
      },
      'messages[2].content (tool)': mark('result'),
      'messages[2].content (tool, text)': [{ type: 'text', text: mark('result-part') }],
    },
  },
];

/** https://platform.openai.com/docs/api-reference/chat/create */
export const chatFields = [
  ...fieldsOf({ model: 'asked', max_completion_tokens: 78 }, [controls, ...nested, ...messages]),
  ...fieldsOf({ model: 'asked' }, [{ given: { messages: [user] }, fields: { max_tokens: 78 } }]),
];
