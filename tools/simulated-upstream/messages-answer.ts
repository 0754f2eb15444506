import type { Frame, FrameMark } from './answer.ts';
import type { Directives } from './directives.ts';
import type { JsonObject } from './json-object.ts';
import type { MessagesRequest } from './messages-request.ts';
import { digitsJson, membersJson } from './raw-json.ts';
import { inPieces, joined, type Pieces } from './text.ts';
import { argumentPieces, type ToolCall } from './tool-calls.ts';
import { planTurn, type Turn } from './turn.ts';
import { messagesUsageJson } from './usage.ts';

/** Everything about a message. Members that end in `Json` are JSON text. */
export interface MessagesPlan extends Turn {
  readonly id: string;
  readonly model: string;
  readonly stopReason: string | null;
  /** Whether a streamed message says why it stopped. */
  readonly finish: boolean;
  /** Usage as known at the start, and at the end, each as a member with its leading comma. */
  readonly begunUsageJson: string;
  readonly usageJson: string;
  readonly digitsJson: string;
}

/** The signature of a thinking block. */
const signature = 'c2ltdWxhdGVkIHNpZ25hdHVyZQ==';

/** Thinking of which nothing is shown. */
const omitted = inPieces('', 0);

const reasoningOf = ({ thinkingOmitted }: MessagesRequest, reasoning: Pieces | undefined) =>
  reasoning !== undefined && thinkingOmitted ? omitted : reasoning;

/** Plans the answer to a messages request. `serial` is the number of the request. */
export function planMessage(request: MessagesRequest, directives: Directives, serial: number): MessagesPlan {
  const stem = `sim_${serial.toString(36)}`;
  const reasoning = directives.reasoning ?? request.thinking;
  const turn = planTurn(request, { ...directives, reasoning }, `toolu_${stem}`);
  const finish = directives['no-finish'] !== true;
  const stopReason = directives.finish ?? (turn.toolCalls.length > 0 ? 'tool_use' : 'end_turn');
  const usage = (completion: Directives): string =>
    directives.usage === 'none'
      ? ''
      : `,"usage":${messagesUsageJson(turn.counts, { ...directives, ...completion })}`;
  return {
    ...turn,
    reasoning: reasoningOf(request, turn.reasoning),
    id: directives.id ?? `msg_${stem}`,
    model: request.model,
    stopReason: finish ? stopReason : null,
    finish,
    begunUsageJson: usage({ 'completion-tokens': '1' }),
    usageJson: usage({}),
    digitsJson: digitsJson(directives),
  };
}

const messageJson = (
  plan: MessagesPlan,
  contentJson: string,
  stopReason: string | null,
  usageJson: string,
): string =>
  `{${membersJson({ id: plan.id, type: 'message', role: 'assistant', model: plan.model })},"content":${contentJson}` +
  `,"stop_reason":${JSON.stringify(stopReason)},"stop_sequence":null${usageJson}${plan.digitsJson}}`;

const inputJson = ({ arguments: text }: ToolCall): string => (text === '' ? '{}' : text);

/** The JSON text of a whole message. */
export function wholeMessageJson(plan: MessagesPlan): string {
  const { reasoning, content, toolCalls } = plan;
  const thinking =
    reasoning === undefined ? [] : [{ type: 'thinking', thinking: joined(reasoning), signature }];
  const blocks = [
    ...thinking.map((block) => JSON.stringify(block)),
    ...(toolCalls.length > 0
      ? toolCalls.map(
          (call) =>
            `{${membersJson({ type: 'tool_use', id: call.id, name: call.name })},"input":${inputJson(call)}}`,
        )
      : [JSON.stringify({ type: 'text', text: joined(content) })]),
  ];
  return messageJson(plan, `[${blocks.join(',')}]`, plan.stopReason, plan.usageJson);
}

interface Block {
  readonly begun: JsonObject;
  readonly mark: FrameMark;
  readonly deltas: Iterable<JsonObject>;
}

function* deltasOf(type: string, member: string, pieces: Pieces): Generator<JsonObject> {
  for (let index = 0; index < pieces.count; index += 1) yield { type, [member]: pieces.at(index) };
}

function* thinkingDeltas(reasoning: Pieces): Generator<JsonObject> {
  yield* deltasOf('thinking_delta', 'thinking', reasoning);
  yield { type: 'signature_delta', signature };
}

/** The first piece is empty. For a tool without arguments it is the only one, and stands for `{}`. */
const inputPieces = (call: ToolCall): readonly string[] =>
  call.arguments === '{}' ? [''] : ['', ...argumentPieces(call)];

function* blocksOf({ reasoning, content, toolCalls }: MessagesPlan): Generator<Block> {
  if (reasoning !== undefined) {
    const begun = { type: 'thinking', thinking: '', signature: '' };
    yield { begun, mark: 'reasoning', deltas: thinkingDeltas(reasoning) };
  }
  if (toolCalls.length === 0)
    yield {
      begun: { type: 'text', text: '' },
      mark: 'delta',
      deltas: deltasOf('text_delta', 'text', content),
    };
  for (const call of toolCalls) {
    yield {
      begun: { type: 'tool_use', id: call.id, name: call.name, input: {} },
      mark: 'delta',
      deltas: inputPieces(call).map((json) => ({ type: 'input_json_delta', partial_json: json })),
    };
  }
}

/** How many deltas carry content: pieces of text, or of arguments. */
export const messagesDeltaCount = ({ toolCalls, content }: MessagesPlan): number =>
  toolCalls.length > 0 ? toolCalls.flatMap(inputPieces).length : content.count;

/** The frames of a streamed message, each with its name. */
export function* messagesFrames(plan: MessagesPlan): Generator<Frame> {
  const frame = (mark: FrameMark, type: string, json: string): Frame => ({
    mark,
    name: type,
    data: `{"type":"${type}"${json}${plan.digitsJson}}`,
  });
  const member = (members: JsonObject): string => `,${membersJson(members)}`;
  yield frame('role', 'message_start', `,"message":${messageJson(plan, '[]', null, plan.begunUsageJson)}`);
  yield frame('part', 'ping', '');
  let index = 0;
  for (const { begun, mark, deltas } of blocksOf(plan)) {
    yield frame('part', 'content_block_start', member({ index, content_block: begun }));
    for (const delta of deltas) yield frame(mark, 'content_block_delta', member({ index, delta }));
    yield frame('part', 'content_block_stop', member({ index }));
    index += 1;
  }
  if (plan.finish) {
    const delta = { stop_reason: plan.stopReason, stop_sequence: null };
    yield frame('finish', 'message_delta', `${member({ delta })}${plan.usageJson}`);
  }
  yield frame('done', 'message_stop', '');
}
