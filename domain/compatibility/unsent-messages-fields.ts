import { chatOfMessages, messagesBodies, type UnsentFields } from './upstream-bodies.ts';

/** Unsent fields of messages. */
export const unsentMessagesFields: readonly UnsentFields[] = [
  {
    family: 'messages',
    fields: ['metadata.user_id'],
    in: chatOfMessages,
    because: 'It tells the upstream who asks, and the model nothing.',
  },
  {
    family: 'messages',
    fields: ['service_tier'],
    in: [...chatOfMessages, 'raw_predict', 'invoke'],
    because: 'How soon a model runs is decided by the route.',
  },
  {
    family: 'messages',
    fields: ['inference_geo (global)'],
    in: [...chatOfMessages, 'raw_predict', 'invoke'],
    because: 'Anywhere is where a model may run unasked; a region is refused where it cannot be asked for.',
  },
  {
    family: 'messages',
    fields: [
      'cache_control',
      'system[].cache_control',
      'tools[].cache_control',
      'messages[].content[].cache_control',
      'messages[].content[].cache_control (tool_use)',
      'messages[].content[].cache_control (tool_result)',
      'messages[].content[].content[].cache_control',
      'messages[].content[].source.content[].cache_control',
    ],
    in: chatOfMessages,
    because: 'They change what an answer costs and how soon it comes, not what it says.',
  },
  {
    family: 'messages',
    fields: ['system[].cache_control.scope'],
    in: [...chatOfMessages, ...messagesBodies],
    because: 'With whom a cached prompt is shared; no platform knows it, and it changes no answer.',
  },
  {
    family: 'messages',
    fields: ['speed'],
    in: chatOfMessages,
    because: 'It changes what an answer costs and how soon it comes, not what it says.',
  },
  {
    family: 'messages',
    fields: ['performanceConfig', 'serviceTier'],
    in: ['generate_content'],
    because: 'They change what an answer costs and how soon it comes, not what it says.',
  },
  {
    family: 'messages',
    fields: ['requestMetadata'],
    in: ['generate_content'],
    because: 'Labels for whoever keeps the request.',
  },
  {
    family: 'messages',
    fields: ['labels'],
    in: ['converse'],
    because: 'Labels for whoever keeps the request.',
  },
  {
    family: 'messages',
    fields: ['context_management'],
    in: chatOfMessages,
    because: 'The whole conversation goes, uncut.',
  },
  {
    family: 'messages',
    fields: ['tools[].defer_loading', 'tools[].eager_input_streaming', 'tools[].allowed_callers'],
    in: chatOfMessages,
    because:
      'Every tool is shown to the model from the start, and the hosted ones that could call it are refused.',
  },
  {
    family: 'messages',
    fields: ['tools[].eager_input_streaming'],
    in: ['invoke'],
    because: 'How soon the pieces of a call are streamed, where nothing is; the platform refuses it.',
  },
  {
    family: 'messages',
    fields: ['tools[].input_examples'],
    in: chatOfMessages,
    because: 'Hints beside the description and the schema, which go along.',
  },
  {
    family: 'messages',
    fields: ['thinking.display'],
    in: chatOfMessages,
    because: 'Reasoning is told as the upstream tells it.',
  },
  {
    family: 'messages',
    fields: ['thinking.block_binding', 'thinking (adaptive)', 'thinking (between_tools)'],
    in: chatOfMessages,
    because: 'Thinking is not sent back there, and how much of it there is the model decides.',
  },
  {
    family: 'messages',
    fields: ['fallbacks (default)', 'fallback_credit_token', 'billing_policy (self)', 'diagnostics'],
    in: chatOfMessages,
    because: 'They are about who else may answer, what it costs, and the cache, not about what is said.',
  },
  {
    family: 'messages',
    fields: ['messages[].clear_at'],
    in: [...chatOfMessages, ...messagesBodies],
    because: 'Words that are no longer to be shown are not sent.',
  },
  {
    family: 'messages',
    fields: [
      'output_config.effort',
      'messages[].output_config',
      'messages[] (system, of an effort alone)',
      'thinking (enabled)',
      'thinking.budget_tokens',
    ],
    in: ['converse'],
    because:
      'Of models of other families no field for it may be known; agents send it to all of them, and the row says it.',
  },
  {
    family: 'messages',
    fields: ['output_config.effort (beside disabled thinking)'],
    in: chatOfMessages,
    because: 'An effort is told as one of thinking, and there is to be none.',
  },
  {
    family: 'messages',
    fields: ['thinking (enabled, beside an effort)'],
    in: chatOfMessages,
    because: 'The effort says how much is thought.',
  },
  {
    family: 'messages',
    fields: ['thinking (disabled)'],
    in: ['chat_completions', 'generate_content'],
    because:
      'It is what most models do unasked; agents send it to all of them, and most upstreams refuse the word.',
  },
  {
    family: 'messages',
    fields: ['thinking (disabled)'],
    in: ['converse'],
    because: 'Of models of other families: most do it unasked, and agents send it to all of them.',
  },
  {
    family: 'messages',
    fields: ['messages[].content[] (thinking)', 'messages[].content[] (redacted_thinking)'],
    in: chatOfMessages,
    because: 'Thinking can be sent back to where it was made, and nowhere else.',
  },
  {
    family: 'messages',
    fields: [
      'system[].citations',
      'messages[].content[].citations (of the answer)',
      'messages[].content[].caller',
      'messages[].content[].toolset_name',
    ],
    in: chatOfMessages,
    because: 'Notes beside what was said and called, which goes whole.',
  },
  {
    family: 'messages',
    fields: ['messages[].content[].title (of a file)'],
    in: ['generate_content'],
    because: 'The name of a file, the bytes of which go whole.',
  },
  {
    family: 'messages',
    fields: ['tools[].strict'],
    in: ['converse'],
    because: 'The latest models of the messages family do not support it; `supports_strict_tools` decides.',
  },
  {
    family: 'messages',
    fields: ['tools[].strict'],
    in: ['generate_content'],
    because: 'The platform has no word for it; the schema goes whole.',
  },
];
