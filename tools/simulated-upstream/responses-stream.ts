import type { Frame, FrameMark } from './answer.ts';
import { responsesDialect } from './dialect.ts';
import type { JsonObject } from './json-object.ts';
import { membersJson } from './raw-json.ts';
import {
  begunResponseJson,
  callItem,
  endedResponseJson,
  messageItem,
  reasoningItem,
  type ResponsesPlan,
  summaryPart,
  textPart,
} from './responses-answer.ts';
import { joined, type Pieces } from './text.ts';
import { argumentPieces, type ToolCall } from './tool-calls.ts';

/** An event before it is numbered. `json` is the text of its members other than type and number. */
interface Event {
  readonly mark: FrameMark;
  readonly type: string;
  readonly json: string;
}

const event = (mark: FrameMark, type: string, members: JsonObject): Event => ({
  mark,
  type: `response.${type}`,
  json: membersJson(members),
});

/** An event that carries the whole response. */
const ofResponse = (mark: FrameMark, type: string, responseJson: string): Event => ({
  mark,
  type: `response.${type}`,
  json: `"response":${responseJson}`,
});

/** Opens an item, runs its events, and closes it. */
function* item(
  index: number,
  begun: JsonObject,
  inner: Iterable<Event>,
  ended: JsonObject,
): Generator<Event> {
  yield event('part', 'output_item.added', { output_index: index, item: begun });
  yield* inner;
  yield event('part', 'output_item.done', { output_index: index, item: ended });
}

function* summaryEvents(itemId: unknown, index: number, reasoning: Pieces, text: string): Generator<Event> {
  const at = { item_id: itemId, output_index: index, summary_index: 0 };
  yield event('part', 'reasoning_summary_part.added', { ...at, part: summaryPart('') });
  for (let piece = 0; piece < reasoning.count; piece += 1)
    yield event('reasoning', 'reasoning_summary_text.delta', { ...at, delta: reasoning.at(piece) });
  yield event('part', 'reasoning_summary_text.done', { ...at, text });
  yield event('part', 'reasoning_summary_part.done', { ...at, part: summaryPart(text) });
}

function* textEvents(itemId: unknown, index: number, content: Pieces, text: string): Generator<Event> {
  const at = { item_id: itemId, output_index: index, content_index: 0 };
  yield event('part', 'content_part.added', { ...at, part: textPart('') });
  for (let piece = 0; piece < content.count; piece += 1)
    yield event('delta', 'output_text.delta', { ...at, delta: content.at(piece), logprobs: [] });
  yield event('part', 'output_text.done', { ...at, text, logprobs: [] });
  yield event('part', 'content_part.done', { ...at, part: textPart(text) });
}

function* argumentEvents(itemId: unknown, index: number, call: ToolCall): Generator<Event> {
  const at = { item_id: itemId, output_index: index };
  for (const delta of argumentPieces(call))
    yield event('delta', 'function_call_arguments.delta', { ...at, delta });
  yield event('part', 'function_call_arguments.done', { ...at, name: call.name, arguments: call.arguments });
}

function* itemEvents(plan: ResponsesPlan): Generator<Event> {
  const { reasoning, content, toolCalls } = plan;
  let index = 0;
  if (reasoning !== undefined) {
    const text = joined(reasoning);
    const begun = reasoningItem(plan, []);
    const inner = summaryEvents(begun['id'], index, reasoning, text);
    yield* item(index, begun, inner, reasoningItem(plan, [summaryPart(text)]));
    index += 1;
  }
  if (toolCalls.length === 0) {
    const text = joined(content);
    const begun = messageItem(plan);
    yield* item(index, begun, textEvents(begun['id'], index, content, text), messageItem(plan, text));
  }
  for (const [order, call] of toolCalls.entries()) {
    const begun = callItem(plan, order, call);
    const inner = argumentEvents(begun['id'], index, call);
    yield* item(index, begun, inner, callItem(plan, order, call, call.arguments));
    index += 1;
  }
}

function* events(plan: ResponsesPlan, createdSecs: number): Generator<Event> {
  const begun = begunResponseJson(plan, createdSecs);
  yield ofResponse('role', 'created', begun);
  yield ofResponse('part', 'in_progress', begun);
  yield* itemEvents(plan);
  if (plan.terminal === undefined) return;
  const type = plan.terminal === 'error-failed' ? 'failed' : plan.terminal;
  yield ofResponse('finish', type, endedResponseJson(plan, createdSecs));
}

/** How many events carry content: pieces of text, or of arguments. */
export const responsesDeltaCount = ({ toolCalls, content }: ResponsesPlan): number =>
  toolCalls.length > 0 ? toolCalls.flatMap(argumentPieces).length : content.count;

/** The frames of a streamed response, each with its name and number. */
export function* responsesFrames(plan: ResponsesPlan, createdSecs: number, serial: number): Generator<Frame> {
  let sequence = 0;
  for (const { mark, type, json } of events(plan, createdSecs)) {
    if (mark === 'finish' && plan.terminal === 'error-failed') {
      yield { mark: 'part', ...responsesDialect.errorEvent(plan.error, serial, sequence) };
      sequence += 1;
    }
    const data = `{"type":"${type}","sequence_number":${sequence},${json}${plan.digitsJson}}`;
    yield { mark, name: type, data };
    sequence += 1;
  }
  if (plan.done) yield { mark: 'done', data: '[DONE]' };
}
