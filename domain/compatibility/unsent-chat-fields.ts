import { messagesBodies, translatedChat, type UnsentFields } from './upstream-bodies.ts';

/** Unsent fields of chat completions. */
export const unsentChatFields: readonly UnsentFields[] = [
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
    fields: ['service_tier', 'serviceTier', 'performanceConfig'],
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
];
