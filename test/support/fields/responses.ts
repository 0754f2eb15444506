import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { fieldsOf, mark, type Scene } from './known-fields.ts';

const schema: JsonObject = { type: 'object', properties: {} };
const tool: JsonObject = { type: 'function', name: 'f', parameters: schema };
const format: JsonObject = { type: 'json_schema', name: 'n', schema };
const user: JsonObject = { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] };
const items = (...input: readonly Json[]): JsonObject => ({ input });

const controls: Scene = {
  given: { input: 'Hi' },
  fields: {
    access_programs: { cyber: mark('program') },
    background: true,
    background_options: { completion_window: 'soonest', continuation_id: mark('continuation') },
    context_management: [{ type: 'compaction', compact_threshold: 77 }],
    conversation: mark('conversation'),
    include: [mark('include')],
    input: mark('input'),
    instructions: mark('instructions'),
    max_output_tokens: 77,
    max_tool_calls: 3,
    metadata: { a: mark('metadata') },
    parallel_tool_calls: false,
    previous_response_id: mark('previous'),
    prompt: { id: mark('prompt'), version: '2', variables: { a: mark('variable') } },
    prompt_cache_key: mark('cache-key'),
    prompt_cache_retention: '24h',
    'reasoning.effort': 'low',
    'reasoning.summary': 'auto',
    safety_identifier: mark('safety'),
    service_tier: 'priority',
    store: false,
    stream: true,
    temperature: 0.375,
    'text.format': format,
    'text.verbosity': 'low',
    top_logprobs: 3,
    top_p: 0.625,
    truncation: 'auto',
    user: mark('user'),
  },
};

const nested: readonly Scene[] = [
  { given: { input: 'Hi', stream: true }, fields: { 'stream_options.include_obfuscation': false } },
  {
    given: { input: 'Hi', text: { format } },
    fields: {
      'text.format.description': mark('description'),
      'text.format.strict': true,
      'text.format.name': mark('name'),
    },
  },
  {
    given: { input: 'Hi', tools: [tool] },
    fields: {
      'tools[0].description': mark('tool-description'),
      'tools[0].strict': true,
      'tools[0].parameters': { ...schema, description: mark('parameters') },
      'tools[1] (custom)': { type: 'custom', name: mark('custom') },
      'tools[1] (web_search)': { type: 'web_search', filters: { allowed_domains: [mark('domain')] } },
      'tools[1] (file_search)': { type: 'file_search', vector_store_ids: [mark('store')] },
      'tools[1] (code_interpreter)': { type: 'code_interpreter', container: mark('container') },
      'tools[1] (computer_use_preview)': { type: 'computer_use_preview', environment: mark('browser') },
      'tools[1] (image_generation)': { type: 'image_generation', size: mark('size') },
      'tools[1] (local_shell)': { type: 'local_shell' },
      'tools[1] (mcp)': { type: 'mcp', server_label: mark('mcp'), server_url: 'https://example.com' },
      'tools[1] (namespace)': { type: 'namespace', name: mark('namespace'), tools: [tool] },
      'tool_choice (required)': 'required',
      'tool_choice (function)': { type: 'function', name: mark('chosen') },
      'tool_choice (allowed_tools)': {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'function', name: mark('allowed') }],
      },
    },
  },
];

const said: readonly Scene[] = [
  {
    given: items(user),
    fields: {
      'input[0].content[1] (input_text)': { type: 'input_text', text: mark('text') },
      'input[0].content[1] (input_image)': { type: 'input_image', image_url: mark('image'), detail: 'low' },
      'input[0].content[1] (input_file)': {
        type: 'input_file',
        file_id: mark('file'),
        filename: mark('filename'),
      },
      'input[1] (message)': {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        status: 'completed',
        content: [{ type: 'output_text', text: mark('said') }],
      },
      'input[1] (reasoning)': {
        type: 'reasoning',
        id: 'rs_1',
        summary: [],
        encrypted_content: mark('encrypted'),
      },
      'input[1] (function_call)': {
        type: 'function_call',
        call_id: mark('call'),
        name: mark('name'),
        arguments: '{}',
      },
      'input[1] (function_call_output)': {
        type: 'function_call_output',
        call_id: mark('call'),
        output: mark('output'),
      },
      'input[1] (item_reference)': { type: 'item_reference', id: mark('reference') },
      'input[1] (configuration_update)': { type: 'configuration_update', reasoning: { effort: 'low' } },
      'input[1] (compaction)': { type: 'compaction', encrypted_content: mark('compaction') },
    },
  },
];

/** https://platform.openai.com/docs/api-reference/responses/create */
export const responsesFields = fieldsOf({ model: 'asked' }, [controls, ...nested, ...said]);
