import { messagesBodies, translatedChat, type UnsentFields } from './upstream-bodies.ts';

/** Unsent fields of chat completions. */
export const unsentChatFields: readonly UnsentFields[] = [
  {
    family: 'chat_completions',
    fields: ['store', 'user', 'safety_identifier'],
    in: translatedChat,
    because: 'They tell the upstream who the end user is and what to store; the model does not see them.',
  },
  {
    family: 'chat_completions',
    fields: ['metadata'],
    in: ['generate_content', 'raw_predict', 'endpointb_messages', 'converse'],
    because: 'Labels for stored requests.',
  },
  {
    family: 'chat_completions',
    fields: ['requestMetadata'],
    in: ['generate_content', ...messagesBodies],
    because: 'Labels for stored requests, specific to platform B.',
  },
  {
    family: 'chat_completions',
    fields: ['labels'],
    in: [...messagesBodies, 'converse'],
    because: 'Labels for stored requests, specific to platform A.',
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
    because: 'They affect the cost and latency of an answer, not its content.',
  },
  {
    family: 'chat_completions',
    fields: ['service_tier', 'serviceTier', 'performanceConfig'],
    in: ['generate_content', ...messagesBodies],
    because: 'The route decides how fast a model is served.',
  },
  {
    family: 'chat_completions',
    fields: ['stream_options.include_usage', 'stream_options.include_obfuscation'],
    in: translatedChat,
    because:
      'They concern chat chunks, which the gateway writes itself; these upstreams always report usage.',
  },
  {
    family: 'chat_completions',
    fields: ['messages[].name (system)', 'messages[].name (user)', 'messages[].name (assistant)'],
    in: translatedChat,
    because: "The upstream has no field for a speaker's name; the text is sent in full.",
  },
  {
    family: 'chat_completions',
    fields: ['messages[].content[].image_url.detail'],
    in: ['generate_content', 'invoke', 'endpointb_messages', 'converse'],
    because: 'The whole image is sent; the level of detail is up to the model.',
  },
  {
    family: 'chat_completions',
    fields: ['messages[].content[].file.filename'],
    in: ['generate_content'],
    because: 'The media type is derived from it; the file is sent in full.',
  },
  {
    family: 'chat_completions',
    fields: ['response_format.json_schema.name'],
    in: ['generate_content', 'raw_predict'],
    because: 'A label of the schema; the schema itself is sent.',
  },
  {
    family: 'chat_completions',
    fields: ['response_format.json_schema.strict'],
    in: ['generate_content', 'raw_predict'],
    because: 'The upstream always enforces the schema.',
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
    in: ['raw_predict'],
    because: 'Models before 4.5 do not support it, nor do routes without `json_schema`.',
  },
  {
    family: 'chat_completions',
    fields: ['tools[].function.strict'],
    in: ['generate_content'],
    because: 'The platform has no such field; the schema is sent in full.',
  },
  {
    family: 'chat_completions',
    fields: ['top_logprobs (alone)'],
    in: ['generate_content'],
    because: 'Alternatives are listed beside the chosen tokens, which only `logprobs` requests.',
  },
];
