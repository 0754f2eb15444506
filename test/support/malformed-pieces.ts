import type { Json, JsonObject } from '../../domain/shared/json.ts';

type Named<A> = readonly (readonly [name: string, piece: A])[];

/** Non-empty values that are not text. */
const noTexts: readonly Json[] = [7, true, ['x'], { text: 'x' }];

/**
 * Values that are not text either in fields where a number is read as its digits and an object as a block.
 */
const noWords: readonly Json[] = [true, ['x']];

const named = (make: (value: Json) => JsonObject, values: readonly Json[] = noTexts): Named<JsonObject> =>
  values.map((value) => {
    const piece = make(value);
    return [JSON.stringify(piece), piece];
  });

/** Invalid members of a chat message or delta. */
export const malformedInChat: Named<JsonObject> = [
  ...named((content) => ({ content }), noWords),
  ...named((text) => ({ content: [{ type: 'text', text }] })),
  ...named((type) => ({ content: [{ type, text: 'a' }] })),
  ...named((refusal) => ({ refusal })),
  ...named((reasoning) => ({ reasoning }), noWords),
  ...named((reasoning_content) => ({ reasoning_content }), noWords),
  ...named((reasoning_text) => ({ reasoning_text }), noWords),
  ...named((tool_calls) => ({ tool_calls })),
  ...named(
    (id) => ({ tool_calls: [{ index: 0, id, function: { name: 'f', arguments: '{}' } }] }),
    [true, ['x'], { text: 'x' }],
  ),
  ...named((callee) => ({ tool_calls: [{ index: 0, id: 'a', function: callee }] }), [7, 'f', ['x']]),
  ...named((name) => ({ tool_calls: [{ index: 0, id: 'a', function: { name, arguments: '{}' } }] })),
  ...named(
    (args) => ({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: args } }] }),
    [true, ['x']],
  ),
  ...named((input) => ({ tool_calls: [{ index: 0, id: 'a', custom: { name: 'f', input } }] }), noWords),
  ...named((function_call) => ({ function_call }), [7, 'f', ['x']]),
  ...named((name) => ({ function_call: { name, arguments: '{}' } })),
];

/** Finish reasons of a chat answer whose upstream has failed. */
export const failedFinishes: readonly (readonly [finish: string])[] = [
  ['error'],
  ['network_error'],
  ['overloaded_error'],
  ['insufficient_system_resource'],
  ['abort'],
  ['cancelled'],
];

/** Empty values mean nothing, whatever their type. */
export const emptyInChat: Named<JsonObject> = [
  ...named((content) => ({ content }), ['', [], null, [null]]),
  ...named((reasoning) => ({ reasoning }), ['', [], null]),
  ...named((tool_calls) => ({ tool_calls }), ['', [], null, [null]]),
  ...named((function_call) => ({ function_call }), ['', [], null]),
];

/** Invalid content blocks of a message. */
export const malformedBlocks: Named<Json> = [
  ['no object', 'x'],
  ...named((text) => ({ type: 'text', text })),
  ...named((citations) => ({ type: 'text', text: 'a', citations }), [7, 'x', {}]),
  ...named((thinking) => ({ type: 'thinking', thinking })),
  ...named((signature) => ({ type: 'thinking', thinking: 'a', signature })),
  ...named((data) => ({ type: 'redacted_thinking', data })),
  ...named((id) => ({ type: 'tool_use', id, name: 'f', input: {} })),
  ...named((name) => ({ type: 'tool_use', id: 'a', name, input: {} })),
];

/** Invalid events of a messages stream. */
export const malformedEvents: Named<JsonObject & { readonly type: string }> = [
  { type: 'message_start', message: 'x' },
  ...malformedBlocks.map(([, block]) => ({ type: 'message_start', message: { content: [block] } })),
  ...malformedBlocks.map(([, content_block]) => ({ type: 'content_block_start', index: 1, content_block })),
  { type: 'content_block_start', index: 'x', content_block: { type: 'text', text: 'a' } },
  { type: 'content_block_start', index: 1 },
  ...noTexts.flatMap((text) => [
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text } },
    { type: 'content_block_delta', index: 1, delta: { type: 'thinking_delta', thinking: text } },
    { type: 'content_block_delta', index: 1, delta: { type: 'signature_delta', signature: text } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: text } },
    { type: 'message_delta', delta: { stop_reason: text } },
  ]),
  { type: 'content_block_delta', index: 1, delta: 'x' },
  { type: 'content_block_delta', index: 1 },
  { type: 'content_block_delta', index: ['x'], delta: { type: 'text_delta', text: 'a' } },
  { type: 'content_block_stop', index: 'x' },
  { type: 'message_delta', delta: 'x' },
].map((event) => [JSON.stringify(event), event] as const);

/** Invalid candidates of generate-content. */
export const malformedCandidates: Named<Json> = [
  ['no list', 'x'],
  ['no candidate', ['x']],
  ...[-1, 0.5, 'x'].map((index) => [`the index ${index}`, [{ index }]] as const),
  ...['x', { parts: 'x' }, { parts: ['x'] }].map(
    (content) => [JSON.stringify(content), [{ content }]] as const,
  ),
  ...[
    ...noTexts.map((text) => ({ text })),
    ...noTexts.map((text) => ({ text, thought: true })),
    ...[7, 'x', ['x']].map((functionCall) => ({ functionCall })),
    ...noTexts.map((name) => ({ functionCall: { name } })),
    ...[7, 'x', ['x']].map((args) => ({ functionCall: { name: 'f', args } })),
    { functionCall: { name: 'f', partialArgs: {} } },
  ].map((part): readonly [string, Json] => [JSON.stringify(part), [{ content: { parts: [part] } }]]),
];
