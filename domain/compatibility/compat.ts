import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Compatibility } from '../routing/model.ts';
import { disagreement, fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isObject, type Json, type JsonObject, mapObjects, membersOf, objectsOf } from '../shared/json.ts';
import type { MemberChanges } from '../shared/json-document.ts';
import { type ChatBody, changesOf, type BodyEdit, type MessagesRule, allOf, noChanges } from './chat-body.ts';
import { reasoningIn, withoutReasoning } from './assistant-reasoning.ts';
import { hasUserAfterResults, withBridges } from './bridged-results.ts';
import { isScattered, withLeadingSystem } from './leading-system.ts';
import { nineCharIds } from './nine-char-ids.ts';
import { hasReturnedMetadata, withoutReturnedMetadata } from './returned-metadata.ts';
import { emptyTools, emptyToolsRules, messagesHaveToolHistory } from './empty-tools.ts';

/** The `compat` compatibility block, for chat-style upstreams, with defaults filled in. */
export interface Compat {
  readonly supportsStore: boolean;
  readonly maxTokensField: Word<'max_tokens_field'>;
  readonly developerRole: Word<'developer_role'>;
  readonly systemMessages: Word<'system_messages'>;
  readonly userAfterResults: Word<'user_after_results'>;
  readonly assistantReasoning: Word<'assistant_reasoning'>;
  readonly callIds: Word<'call_ids'>;
  readonly reasoningEffort: Word<'reasoning_effort'>;
  readonly supportsStreamUsage: boolean;
  readonly streamOptions: Word<'stream_options'>;
  readonly emptyTools: Word<'empty_tools'>;
  /** Keeps cache marks in chat bodies translated from messages requests. Chat requests always keep theirs. */
  readonly cacheControl: boolean;
}

/** The settings of the block that are one of several words; the first is the default. */
export const compatWords = {
  max_tokens_field: ['max_completion_tokens', 'max_tokens'],
  developer_role: ['developer', 'system'],
  system_messages: ['preserve', 'leading'],
  user_after_results: ['preserve', 'bridge'],
  assistant_reasoning: ['preserve', 'reasoning_content', 'reasoning', 'omit'],
  call_ids: ['preserve', 'nine_characters'],
  reasoning_effort: ['passthrough', 'omit', 'reasoning_object'],
  stream_options: ['preserve', 'omit'],
  empty_tools: emptyToolsRules,
} as const;

type Word<Setting extends keyof typeof compatWords> = (typeof compatWords)[Setting][number];

/** The block of a route. Missing settings have their defaults, which change nothing. */
export const compatOf = ({ compat = {} }: Compatibility): Compat => ({
  supportsStore: compat['supports_store'] !== false,
  maxTokensField: wordOf(compatWords.max_tokens_field, compat['max_tokens_field']),
  developerRole: wordOf(compatWords.developer_role, compat['developer_role']),
  systemMessages: wordOf(compatWords.system_messages, compat['system_messages']),
  userAfterResults: wordOf(compatWords.user_after_results, compat['user_after_results']),
  assistantReasoning: wordOf(compatWords.assistant_reasoning, compat['assistant_reasoning']),
  callIds: wordOf(compatWords.call_ids, compat['call_ids']),
  reasoningEffort: wordOf(compatWords.reasoning_effort, compat['reasoning_effort']),
  supportsStreamUsage: compat['supports_stream_usage'] === true,
  streamOptions: wordOf(compatWords.stream_options, compat['stream_options']),
  emptyTools: wordOf(compatWords.empty_tools, compat['empty_tools']),
  cacheControl: compat['cache_control'] === true,
});

const wordOf = <V extends string>(words: readonly [V, ...V[]], configured: Json | undefined): V =>
  words.find((word) => word === configured) ?? words[0];

type Transform = (compat: Compat, body: ChatBody) => Either<GatewayError, MemberChanges>;

/** `supports_store: false`: outbound chat-completions requests drop `store`. */
const dropStore: Transform = ({ supportsStore }, { value }) =>
  supportsStore || value['store'] === undefined ? noChanges : changesOf(['store', undefined]);

/**
 * `max_tokens_field: max_tokens` rewrites `max_completion_tokens` to `max_tokens`. If a caller sent both, one remains,
 * with the value of `max_completion_tokens`, which is the newer and wider bound, unless that is null.
 */
const renameMaxTokens: Transform = ({ maxTokensField }, { value, exact }) => {
  const given = value['max_completion_tokens'];
  if (maxTokensField !== 'max_tokens' || given === undefined) return noChanges;
  const dropped = ['max_completion_tokens', undefined] as const;
  return given === null && value['max_tokens'] !== undefined
    ? changesOf(dropped)
    : changesOf(['max_tokens', exact('max_completion_tokens')], dropped);
};

/**
 * What the gateway itself added to earlier answers is removed (rule 43.26). `developer_role: system` changes the role of
 * outbound developer messages to `system`, and nothing else in them. `system_messages: leading` merges all system
 * messages into one at the front, `user_after_results: bridge` separates the user from the results of tools, and then
 * `assistant_reasoning` removes reasoning, or moves it into the field that it names. `call_ids: nine_characters`
 * replaces the ids of calls that are not of this form.
 */
function messagesRules(compat: Compat): readonly MessagesRule[] {
  return [
    [hasReturnedMetadata, withoutReturnedMetadata],
    ...when(compat.developerRole === 'system', hasDeveloper, withDeveloperRole),
    ...when(compat.systemMessages === 'leading', isScattered, withLeadingSystem),
    ...when(compat.userAfterResults === 'bridge', hasUserAfterResults, withBridges),
    ...assistantReasoningRule(compat),
    ...when(compat.callIds === 'nine_characters', ...nineCharIds),
  ];
}

function assistantReasoningRule({ assistantReasoning }: Compat): readonly MessagesRule[] {
  if (assistantReasoning === 'preserve') return [];
  return [assistantReasoning === 'omit' ? withoutReasoning : reasoningIn(assistantReasoning)];
}

/** Whether the upstream takes the assistant's reasoning back. */
export const takesReasoning = ({ assistantReasoning }: Compat): boolean =>
  assistantReasoning !== 'preserve' && assistantReasoning !== 'omit';

const when = (configured: boolean, ...rule: MessagesRule): readonly MessagesRule[] =>
  configured ? [rule] : [];

const rewriteMessages: Transform = (compat, { value, exact }) => {
  const rules = messagesRules(compat);
  const rewritten = (messages: Json | undefined): Json | undefined =>
    rules.reduce((so, [needed, rewrite]) => (needed(so) ? rewrite(so) : so), messages);
  return rewritten(value['messages']) === value['messages']
    ? noChanges
    : changesOf(['messages', rewritten(exact('messages'))]);
};

const hasDeveloper = (messages: Json | undefined): boolean => objectsOf(messages).some(isFromDeveloper);

const withDeveloperRole = (messages: Json | undefined): Json =>
  mapObjects(messages, (message) => (isFromDeveloper(message) ? { ...message, role: 'system' } : message));

const isFromDeveloper = ({ role }: JsonObject): boolean => role === 'developer';

/**
 * `reasoning_effort: omit` removes `reasoning_effort`. `reasoning_object` rewrites `reasoning_effort: X` to `reasoning:
 * {effort: X}`, merged into the caller's own `reasoning` object. Null counts as absent.
 */
const rewriteReasoningEffort: Transform = ({ reasoningEffort }, { value, exact }) => {
  const { reasoning_effort: effort, reasoning } = value;
  if (reasoningEffort === 'passthrough' || effort === undefined) return noChanges;
  const dropped = ['reasoning_effort', undefined] as const;
  if (reasoningEffort === 'omit' || effort === null) return changesOf(dropped);
  const own = reasoning ?? {};
  if (!isObject(own)) return E.left(reasoningIsNoObject);
  if (own['effort'] === effort) return changesOf(dropped);
  if (own['effort'] !== undefined && own['effort'] !== null) return E.left(effortsDisagree);
  return changesOf(
    ['reasoning', { ...membersOf(exact('reasoning')), effort: exact('reasoning_effort') }],
    dropped,
  );
};

const reasoningIsNoObject = fieldError(
  'reasoning',
  'must be an object: `reasoning_effort` goes upstream as its `effort`.',
);

const effortsDisagree = disagreement('reasoning_effort', 'reasoning.effort');

/**
 * `supports_stream_usage: true`: streaming chat-completions requests carry `stream_options.include_usage = true`,
 * whatever the caller set it to. The caller's other `stream_options` stay. `stream_options: omit` removes all of them.
 */
const rewriteStreamOptions: Transform = ({ supportsStreamUsage, streamOptions }, { value, exact }) => {
  if (streamOptions === 'omit')
    return value['stream_options'] === undefined ? noChanges : changesOf(['stream_options', undefined]);
  if (!supportsStreamUsage || value['stream'] !== true) return noChanges;
  return membersOf(value['stream_options'])['include_usage'] === true
    ? noChanges
    : changesOf(['stream_options', { ...membersOf(exact('stream_options')), include_usage: true }]);
};

/** `empty_tools`: an explicit empty `tools` array is removed, or kept with its `tool_choice`. */
const removeEmptyTools: Transform = (compat, { value }) => {
  const dropped = emptyTools(compat.emptyTools, value, () => messagesHaveToolHistory(value['messages']));
  if (E.isLeft(dropped)) return dropped;
  return dropped.right.length === 0
    ? noChanges
    : changesOf(...dropped.right.map((key) => [key, undefined] as const));
};

/** The rows of the block's table, in the table's order. */
const transforms: readonly Transform[] = [
  dropStore,
  renameMaxTokens,
  rewriteMessages,
  rewriteReasoningEffort,
  rewriteStreamOptions,
  removeEmptyTools,
];

/** What a route's `compat` block changes in an outbound chat-completions body. */
export function compatEdit(compatibility: Compatibility): BodyEdit {
  const compat = compatOf(compatibility);
  return allOf(transforms.map((transform) => (body) => transform(compat, body)));
}
