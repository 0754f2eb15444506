import { chatOfMessages, messagesBodies, type UnsentFields } from './upstream-bodies.ts';

/** Unsent fields of messages. */
export const unsentMessagesFields: readonly UnsentFields[] = [
  {
    family: 'messages',
    fields: ['metadata.user_id'],
    in: chatOfMessages,
    because: 'It identifies the end user to the upstream; the model does not see it.',
  },
  {
    family: 'messages',
    fields: ['service_tier'],
    in: [...chatOfMessages, 'raw_predict', 'invoke'],
    because: 'The route decides how fast a model is served.',
  },
  {
    family: 'messages',
    fields: ['inference_geo (global)'],
    in: [...chatOfMessages, 'raw_predict', 'invoke'],
    because: 'Models may run anywhere by default; a region is refused where it cannot be requested.',
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
    because: 'They affect the cost and latency of an answer, not its content.',
  },
  {
    family: 'messages',
    fields: ['system[].cache_control.scope'],
    in: [...chatOfMessages, ...messagesBodies],
    because:
      'It says who shares a cached prompt; no platform supports it, and it does not affect the answer.',
  },
  {
    family: 'messages',
    fields: ['system[] (x-anthropic-billing-header)'],
    in: [...chatOfMessages, ...messagesBodies],
    because:
      'Claude Code tells its version to Anthropic’s own servers in it. Platforms refuse it, and it would keep upstreams from caching the prompt.',
  },
  {
    family: 'messages',
    fields: ['speed', 'diagnostics'],
    in: [...chatOfMessages, ...messagesBodies],
    because:
      'The cost and latency of an answer, and what Anthropic’s cache made of its prompt. Only Anthropic’s own API has them; Claude Code writes them to any URL, and platforms reject them.',
  },
  {
    family: 'messages',
    fields: ['safeguards'],
    in: chatOfMessages,
    because:
      'They ask for a verdict on each tool call beside the answer. Claude Code judges the calls itself where it gets none.',
  },
  {
    family: 'messages',
    fields: ['performanceConfig', 'serviceTier'],
    in: ['generate_content'],
    because: 'They affect the cost and latency of an answer, not its content.',
  },
  {
    family: 'messages',
    fields: ['requestMetadata'],
    in: ['generate_content'],
    because: 'Labels for stored requests.',
  },
  {
    family: 'messages',
    fields: ['labels'],
    in: ['converse'],
    because: 'Labels for stored requests.',
  },
  {
    family: 'messages',
    fields: ['context_management'],
    in: chatOfMessages,
    because: 'The whole conversation is sent, without edits.',
  },
  {
    family: 'messages',
    fields: [
      'tools[].defer_loading',
      'messages[] (system, that adds a deferred tool)',
      'tools[].eager_input_streaming',
      'tools[].allowed_callers',
    ],
    in: chatOfMessages,
    because:
      'The model sees every tool from the start, and the hosted tools that could call one are refused.',
  },
  {
    family: 'messages',
    fields: ['tools[].eager_input_streaming'],
    in: ['invoke'],
    because:
      'It controls how soon the pieces of a tool call are streamed, but this API does not stream; the platform refuses it.',
  },
  {
    family: 'messages',
    fields: ['tools[].input_examples'],
    in: chatOfMessages,
    because: 'Hints in addition to the description and the schema, which are sent.',
  },
  {
    family: 'messages',
    fields: ['thinking.display'],
    in: chatOfMessages,
    because: 'Reasoning is passed on as the upstream reports it.',
  },
  {
    family: 'messages',
    fields: ['thinking.block_binding', 'thinking (adaptive)', 'thinking (between_tools)'],
    in: chatOfMessages,
    because:
      'Thinking is sent back to these upstreams at most as text (`compat.assistant_reasoning`), and the model decides how much it thinks.',
  },
  {
    family: 'messages',
    fields: ['fallbacks (default)', 'fallback_credit_token', 'billing_policy (self)'],
    in: chatOfMessages,
    because: 'They concern fallback models and billing, not the content of the answer.',
  },
  {
    family: 'messages',
    fields: ['messages[].clear_at'],
    in: [...chatOfMessages, ...messagesBodies],
    because:
      'The gateway applies it for models without system messages between the turns: a message that is already cleared is not sent.',
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
      'For models of other families there may be no known field for it; agents send it to every model, and the log row records it.',
  },
  {
    family: 'messages',
    fields: ['output_config.effort (beside disabled thinking)'],
    in: chatOfMessages,
    because: 'An effort is sent as the effort of thinking, and thinking is disabled.',
  },
  {
    family: 'messages',
    fields: ['thinking (enabled, beside an effort)'],
    in: chatOfMessages,
    because: 'The effort already says how much to think.',
  },
  {
    family: 'messages',
    fields: ['thinking (disabled)'],
    in: ['chat_completions', 'generate_content'],
    because:
      'Most models do not think by default; agents send it to every model, and most upstreams reject it.',
  },
  {
    family: 'messages',
    fields: ['thinking (disabled)'],
    in: ['converse'],
    because: 'For models of other families: most do not think by default, and agents send it to every model.',
  },
  {
    family: 'messages',
    fields: ['messages[].content[] (thinking)', 'messages[].content[] (redacted_thinking)'],
    in: chatOfMessages,
    because:
      'Thinking can be sent back only to the upstream that produced it (for chat see `compat.assistant_reasoning`).',
  },
  {
    family: 'messages',
    fields: ['messages[].content[] (fallback)'],
    in: chatOfMessages,
    because: 'It says which model wrote what follows, and has no words.',
  },
  {
    family: 'messages',
    fields: [
      'messages[].content[].content[].encrypted_content',
      'messages[].content[].content.content.source.data (of a fetched file)',
    ],
    in: chatOfMessages,
    because:
      'Parts of results of hosted tools, which are sent as text: no other model can read them, and only users can send files.',
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
    because: 'Annotations of texts and calls, which are themselves sent in full.',
  },
  {
    family: 'messages',
    fields: ['messages[].content[].title (of a file)'],
    in: ['generate_content'],
    because: 'The name of a file that is sent in full.',
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
    because: 'The platform has no such field; the schema is sent in full.',
  },
];
