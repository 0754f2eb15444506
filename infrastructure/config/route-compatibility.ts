import { apiStyleNames, effortPlacements } from '../../domain/compatibility/cloud-b-style.ts';
import { compatWords } from '../../domain/compatibility/compat.ts';
import { routeTiers } from '../../domain/reasoning/route-tier.ts';
import type { Compatibility } from '../../domain/routing/model.ts';
import { isArray, isObject, type Json } from '../../domain/shared/json.ts';
import { list, object, optional, required, scalarOrObject, withDefault } from './object-codecs.ts';
import { boolean, choice, number, text, type TypeOf } from './scalar-codecs.ts';

/** A setting that is one of these words; the first is the default. */
const word = <const W extends string>(words: readonly [W, ...W[]], doc: string) =>
  withDefault(choice(words), words[0], doc);

const compatCodec = object({
  supports_store: withDefault(boolean, true, 'false drops `store` from chat-completions requests.'),
  max_tokens_field: word(
    compatWords.max_tokens_field,
    'max_tokens renames max_completion_tokens to max_tokens.',
  ),
  developer_role: word(compatWords.developer_role, 'system turns developer messages into system messages.'),
  system_messages: word(
    compatWords.system_messages,
    'leading merges system messages into one at the start, for templates that accept them nowhere else.',
  ),
  user_after_results: word(
    compatWords.user_after_results,
    'bridge adds an assistant message between results of tools and a user message, for upstreams that refuse these two in a row.',
  ),
  assistant_reasoning: word(
    compatWords.assistant_reasoning,
    'The field in which reasoning of earlier assistant messages is sent, a space if there is none; omit removes it.',
  ),
  call_ids: word(
    compatWords.call_ids,
    'nine_characters replaces ids of tool calls that are not nine letters and digits, for Mistral, which refuses others.',
  ),
  reasoning_effort: word(
    compatWords.reasoning_effort,
    'omit removes reasoning_effort; reasoning_object sends it as reasoning.effort.',
  ),
  supports_stream_usage: withDefault(
    boolean,
    false,
    'true requests usage in every chat stream; a stream without usage cannot be priced.',
  ),
  stream_options: word(
    compatWords.stream_options,
    'omit removes stream_options, for Mistral, which refuses them and reports usage in every stream.',
  ),
  empty_tools: word(compatWords.empty_tools, 'How an explicit empty `tools` array is sent.'),
  cache_control: withDefault(
    boolean,
    false,
    'true keeps cache marks in bodies converted from messages requests, for upstreams that understand them.',
  ),
});

const slug = text({ what: 'a provider slug', maxLength: 128, pattern: /^[^\s]+$/ });
const slugs = list(slug, 100);
// Seconds: nobody prefers an answer that takes longer than an hour.
const latencySecs = number({ min: 0, max: 3600, unit: 'seconds' });
const latency = (share: string) => optional(latencySecs, `Preferred ${share} latency, in seconds.`);
const price = (of: string) =>
  optional(number({ min: 0, max: 1_000_000_000, unit: 'USD' }), `Highest price ${of}.`);

const routerPreferencesCodec = object({
  zdr: optional(boolean, 'true restricts routing to endpoints with zero data retention.'),
  only: optional(slugs, 'Allowed provider slugs.'),
  ignore: optional(slugs, 'Excluded provider slugs.'),
  order: optional(slugs, 'Provider slugs in preferred order.'),
  preferred_max_latency: optional(
    scalarOrObject(
      latencySecs,
      object({
        p50: latency('median'),
        p75: latency('75th-percentile'),
        p90: latency('90th-percentile'),
        p99: latency('99th-percentile'),
      }),
    ),
    'Preferred latency in seconds, one number or one per percentile; not a hard limit.',
  ),
  max_price: optional(
    object({
      prompt: price('per million prompt tokens'),
      completion: price('per million completion tokens'),
      request: price('per request'),
      image: price('per image'),
    }),
    'Hard price ceilings.',
  ),
});

const cloudACodec = object({
  gs_buckets: optional(
    list(
      text({
        what: 'the name of a bucket, without gs://',
        maxLength: 222,
        pattern: /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/,
      }),
      100,
    ),
    'Buckets from which callers may reference `gs://` media; [] allows none. Unless set: all that the gateway can read.',
  ),
});

const cloudBCodec = object({
  api_style: required(choice(apiStyleNames), 'Which of the platform APIs serves this route.'),
  openai_base_path: optional(
    text({
      what: 'a path such as /openai/v1',
      maxLength: 256,
      pattern: /^(\/[A-Za-z0-9._~-]+)+$/,
    }),
    'Path before /chat/completions and /responses; the chat-style APIs need it.',
  ),
  supports_strict_tools: optional(
    boolean,
    'For runtime_unified: whether tools may be strict; unless set, the model id decides.',
  ),
  model_tier: optional(
    choice(routeTiers),
    'Thinking policy of the model, where its id does not reveal it (profiles, ARNs). none: not a model of the ' +
      'messages family; only for runtime_unified.',
  ),
  effort_placement: optional(
    choice(effortPlacements),
    'For runtime_unified: where the effort of adaptive thinking is sent, inside `thinking` (default) or beside it as ' +
      '`output_config.effort`.',
  ),
});

/** The blocks of a route. Rules between blocks are in `route-rules.ts`. */
export const compatibilityCodec = object({
  compat: optional(compatCodec, 'Shims for chat-style upstreams.'),
  router: optional(
    object({ provider: required(routerPreferencesCodec, 'Sent as `provider` in chat-completions bodies.') }),
    'Preferences for an aggregating router.',
  ),
  cloud_a: optional(cloudACodec, 'What callers may reference on platform A.'),
  cloud_b: optional(cloudBCodec, 'How platform B is called.'),
});

/**
 * The blocks as configured: with the keys of the file, the defaults of present blocks filled in, and nothing undefined.
 */
export const toCompatibility = (wire: TypeOf<typeof compatibilityCodec>): Compatibility =>
  withoutAbsent(wire) as Compatibility;

function withoutAbsent(value: Json | undefined): Json | undefined {
  if (isArray(value) || !isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, withoutAbsent(member)]));
}
