import type { ApiFamily } from '../routing/model.ts';

/** Bodies that a request is written as. */
export const upstreamBodies = [
  'chat_completions',
  'responses',
  'generate_content',
  'raw_predict',
  'invoke',
  'endpointb_messages',
  'converse',
  'text_embeddings',
] as const;

export type UpstreamBody = (typeof upstreamBodies)[number];

/** Fields of a family that are not sent, nor refused, in these bodies: the answer is the same without them. */
export interface UnsentFields {
  readonly family: ApiFamily;
  /** `[]` is every entry of a list, a word in brackets the kind of the field that is meant. */
  readonly fields: readonly string[];
  readonly in: readonly UpstreamBody[];
  readonly because: string;
}

const messagesBodies = ['raw_predict', 'invoke', 'endpointb_messages'] as const;
const translatedChat = ['generate_content', ...messagesBodies, 'converse'] as const;
const chatOfMessages = ['chat_completions', 'generate_content', 'converse'] as const;

/** All that is left out of a body without a word. Every other documented field is sent, or refused by its name. */
export const unsentFields: readonly UnsentFields[] = [
  {
    family: 'chat_completions',
    fields: ['store', 'user', 'safety_identifier'],
    in: translatedChat,
    because: 'They tell the upstream who asks and what to keep, and the model nothing.',
  },
  {
    family: 'chat_completions',
    fields: ['metadata'],
    in: ['generate_content', 'raw_predict', 'endpointb_messages', 'converse'],
    because: 'Labels for whoever keeps the request.',
  },
  {
    family: 'chat_completions',
    fields: ['requestMetadata'],
    in: ['generate_content', ...messagesBodies],
    because: 'Labels for whoever keeps the request, as platform B has them.',
  },
  {
    family: 'chat_completions',
    fields: ['labels'],
    in: [...messagesBodies, 'converse'],
    because: 'Labels for whoever keeps the request, as platform A has them.',
  },
  {
    family: 'chat_completions',
    fields: [
      'prompt_cache_key',
      'prompt_cache_retention',
      'prompt_cache_options',
      'messages[].content[].prompt_cache_breakpoint',
      'prediction',
    ],
    in: translatedChat,
    because: 'They change what an answer costs and how soon it comes, not what it says.',
  },
  {
    family: 'chat_completions',
    fields: ['service_tier', 'performanceConfig'],
    in: ['generate_content', ...messagesBodies],
    because: 'How soon a model runs is decided by the route.',
  },
  {
    family: 'chat_completions',
    fields: ['stream_options.include_usage', 'stream_options.include_obfuscation'],
    in: translatedChat,
    because:
      'They are about chat chunks, which the gateway writes itself; these upstreams tell usage unasked.',
  },
  {
    family: 'chat_completions',
    fields: ['messages[].name (system)', 'messages[].name (user)', 'messages[].name (assistant)'],
    in: translatedChat,
    because: 'No place for the label of a speaker; the words go whole.',
  },
  {
    family: 'chat_completions',
    fields: ['messages[].content[].image_url.detail'],
    in: ['generate_content', 'invoke', 'endpointb_messages', 'converse'],
    because: 'The whole image goes, and the model looks at it as closely as it does.',
  },
  {
    family: 'chat_completions',
    fields: ['messages[].content[].file.filename'],
    in: ['generate_content'],
    because: 'The media type is read from it; the bytes go whole.',
  },
  {
    family: 'chat_completions',
    fields: ['response_format.json_schema.name'],
    in: ['generate_content', 'raw_predict'],
    because: 'A label of the schema, which goes itself.',
  },
  {
    family: 'chat_completions',
    fields: ['response_format.json_schema.strict'],
    in: ['generate_content', 'raw_predict'],
    because: 'A schema is kept to there, whether this is asked for or not.',
  },
  {
    family: 'chat_completions',
    fields: ['tools[].function.strict'],
    in: ['invoke', 'endpointb_messages', 'converse'],
    because: 'The latest models of the messages family do not support it; `supports_strict_tools` decides.',
  },
  {
    family: 'chat_completions',
    fields: ['tools[].function.strict'],
    in: ['generate_content'],
    because: 'The platform has no word for it; the schema goes whole.',
  },
  {
    family: 'chat_completions',
    fields: ['top_logprobs (alone)'],
    in: ['generate_content'],
    because: 'Likely tokens stand beside those that were chosen, which `logprobs` asks for.',
  },
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
    fields: ['speed'],
    in: chatOfMessages,
    because: 'It changes what an answer costs and how soon it comes, not what it says.',
  },
  {
    family: 'messages',
    fields: ['performanceConfig'],
    in: ['generate_content'],
    because: 'It changes what an answer costs and how soon it comes, not what it says.',
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
  {
    family: 'responses',
    fields: ['tools[] (image_generation)'],
    in: ['responses'],
    because:
      'Platform B has no such tool, and who only offers it gets an answer without; who requires it is refused. Elsewhere it is sent.',
  },
  {
    family: 'embeddings',
    fields: ['user'],
    in: ['text_embeddings'],
    because: 'It tells the upstream who asks, and the model nothing.',
  },
  {
    family: 'embeddings',
    fields: ['encoding_format (float)'],
    in: ['text_embeddings'],
    because: 'Numbers are what the platform answers with.',
  },
];

/** The fields of a family that are left out of a body. */
export const unsentIn = (body: UpstreamBody, family: ApiFamily): readonly string[] =>
  unsentFields.flatMap((each) => (each.family === family && each.in.includes(body) ? each.fields : []));
