import type { FrameMark } from '../../tools/simulated-upstream/answer.ts';
import type { Call } from '../../tools/simulated-upstream/call.ts';
import { type Conversation, namedTool, spoken } from '../../tools/simulated-upstream/conversation.ts';
import type { Directives } from '../../tools/simulated-upstream/directives.ts';
import { isJsonObject, type JsonObject } from '../../tools/simulated-upstream/json-object.ts';
import { pause, untilGone, written } from '../../tools/simulated-upstream/socket.ts';
import { joined, type Pieces } from '../../tools/simulated-upstream/text.ts';
import { argumentPieces, type ToolCall } from '../../tools/simulated-upstream/tool-calls.ts';
import { planTurn, type Turn } from '../../tools/simulated-upstream/turn.ts';
import { objectsIn, recordIn, wordsOf } from './platform-faults.ts';
import { eventFrame, exceptionFrame, frame, textHeader } from './event-stream-frames.ts';

const textIn = ({ text }: JsonObject): string => (typeof text === 'string' ? text : '');

/** What the simulation reads from a converse body. */
export function converseConversation(body: JsonObject, model: string, stream: boolean): Conversation {
  const said = objectsIn(body['messages']).map(({ role, content }) => {
    const results = objectsIn(content).flatMap(({ toolResult }) =>
      isJsonObject(toolResult) ? objectsIn(toolResult['content']) : [],
    );
    return results.length > 0
      ? { role: 'tool', texts: results.map(({ text, json }) => wordsOf(text ?? json)) }
      : { role: wordsOf(role), texts: objectsIn(content).map(textIn) };
  });
  const config = recordIn(body['toolConfig']);
  const { any, tool } = recordIn(config['toolChoice']);
  const unnamed = any === undefined ? 'auto' : 'required';
  return {
    ...spoken(said, objectsIn(body['system']).map(textIn)),
    model,
    stream,
    tools: objectsIn(config['tools']).flatMap(({ toolSpec }) => {
      const { name, inputSchema } = recordIn(toolSpec);
      return namedTool(name, recordIn(inputSchema)['json']);
    }),
    toolChoice: isJsonObject(tool) ? { name: wordsOf(tool['name']) } : unnamed,
    schema: undefined,
  };
}

/** A converse answer before serialisation. */
export interface ConversePlan extends Turn {
  readonly stopReason: string | undefined;
  readonly usage: JsonObject | undefined;
}

/** Decides the answer; a request with thinking enabled gets thinking. */
export function planConverse(
  body: JsonObject,
  conversation: Conversation,
  d: Directives,
  serial: number,
): ConversePlan {
  const { type } = recordIn(recordIn(body['additionalModelRequestFields'])['thinking']);
  const reasoning = d.reasoning ?? (type === 'enabled' || type === 'adaptive');
  const turn = planTurn(conversation, { ...d, reasoning }, `tooluse_sim${serial.toString(36)}`);
  const stop = d.finish ?? (turn.toolCalls.length > 0 ? 'tool_use' : 'end_turn');
  return {
    ...turn,
    stopReason: d['no-finish'] === true ? undefined : stop,
    usage: d.usage === 'none' ? undefined : usageOf(turn, d),
  };
}

/** Cached tokens are counted beside the input tokens; the total includes them. */
function usageOf({ counts }: Turn, d: Directives): JsonObject {
  const input = Number(d['prompt-tokens'] ?? counts.prompt);
  const output = Number(d['completion-tokens'] ?? counts.completion);
  const read = Number(d['cached-tokens'] ?? 0);
  const written = Number(d['cache-write-tokens'] ?? 0);
  const caches = d['cached-tokens'] !== undefined || d['cache-write-tokens'] !== undefined;
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output + read + written,
    ...(caches ? { cacheReadInputTokens: read, cacheWriteInputTokens: written } : {}),
  };
}

const signature = 'c2lnbmF0dXJl';

/** The JSON text of a whole answer. */
export function wholeConverse({ reasoning, content, toolCalls, stopReason, usage }: ConversePlan): string {
  const said =
    toolCalls.length > 0
      ? toolCalls.map(({ id, name, arguments: text }) => ({
          toolUse: { toolUseId: id, name, input: JSON.parse(text) as unknown },
        }))
      : [{ text: joined(content) }];
  const thought =
    reasoning === undefined
      ? []
      : [{ reasoningContent: { reasoningText: { text: joined(reasoning), signature } } }];
  const message = { role: 'assistant', content: [...thought, ...said] };
  return JSON.stringify({ metrics: { latencyMs: 12 }, output: { message }, stopReason, usage });
}

interface BinaryFrame {
  readonly mark: FrameMark;
  readonly bytes: Buffer;
}

/** Every payload carries padding. */
const told = (mark: FrameMark, type: string, payload: JsonObject): BinaryFrame => ({
  mark,
  bytes: eventFrame(type, { ...payload, p: 'abcdefghijkl' }),
});

const deltaOf = (mark: FrameMark, contentBlockIndex: number, delta: JsonObject): BinaryFrame =>
  told(mark, 'contentBlockDelta', { contentBlockIndex, delta });

function* piecesOf(mark: FrameMark, index: number, pieces: Pieces, delta: (text: string) => JsonObject) {
  for (let at = 0; at < pieces.count; at += 1) yield deltaOf(mark, index, delta(pieces.at(at)));
}

function* callFrames(index: number, { id, name, ...call }: ToolCall): Generator<BinaryFrame> {
  const start = { toolUse: { toolUseId: id, name } };
  yield told('part', 'contentBlockStart', { contentBlockIndex: index, start });
  for (const input of argumentPieces({ id, name, ...call }))
    yield deltaOf('delta', index, { toolUse: { input } });
}

/** Only tool calls have a start event; usage comes after the stop event. */
function* converseFrames({
  reasoning,
  content,
  toolCalls,
  stopReason,
  usage,
}: ConversePlan): Generator<BinaryFrame> {
  let index = 0;
  const stop = (): BinaryFrame => told('part', 'contentBlockStop', { contentBlockIndex: index++ });
  yield told('role', 'messageStart', { role: 'assistant' });
  if (reasoning !== undefined) {
    yield* piecesOf('reasoning', index, reasoning, (text) => ({ reasoningContent: { text } }));
    yield deltaOf('reasoning', index, { reasoningContent: { signature } });
    yield stop();
  }
  if (toolCalls.length === 0) {
    yield* piecesOf('delta', index, content, (text) => ({ text }));
    yield stop();
  }
  for (const call of toolCalls) {
    yield* callFrames(index, call);
    yield stop();
  }
  if (stopReason === undefined) return;
  yield told('finish', 'messageStop', { stopReason });
  yield told('usage', 'metadata', { metrics: { latencyMs: 12 }, ...(usage === undefined ? {} : { usage }) });
}

/** A frame whose payload is an incomplete JSON text. */
const malformed = frame(
  [
    textHeader(':event-type', 'contentBlockDelta'),
    textHeader(':content-type', 'application/json'),
    textHeader(':message-type', 'event'),
  ],
  Buffer.from('{"contentBlockIndex":0,'),
);

const fellOver = (message: string): Buffer =>
  exceptionFrame('modelStreamErrorException', {
    message,
    originalStatusCode: 500,
    originalMessage: 'Internal.',
  });

/** Sends the answer as binary frames, with the faults of the directives at their positions. */
export async function streamConverse(call: Call, d: Directives, plan: ConversePlan): Promise<void> {
  const { response } = call;
  response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
  response.flushHeaders();
  let deltas = 0;
  for (const frame of converseFrames(plan)) {
    if (frame.mark === 'delta') deltas += 1;
    const place = frame.mark === 'delta' ? deltas : frame.mark;
    if (!(await paced(call, d, frame)) || !(await sent(call, d, frame, place))) return;
    if (await failsAt(call, d, place)) return;
  }
  response.end();
}

async function paced({ response }: Call, d: Directives, { mark }: BinaryFrame): Promise<boolean> {
  const delayMs = mark === 'delta' || mark === 'reasoning' ? (d['chunk-delay-ms'] ?? 0) : 0;
  return delayMs === 0 || pause(response, delayMs);
}

/** A position in a stream: the number of a delta, or the name of a frame. */
type Place = number | FrameMark;

/** False if nothing more can be sent. */
async function sent(
  { response, breakOff }: Call,
  d: Directives,
  { bytes }: BinaryFrame,
  place: Place,
): Promise<boolean> {
  if (d.cut !== place) return written(response, response, bytes);
  await written(response, response, bytes.subarray(0, bytes.length / 2));
  breakOff();
  return false;
}

async function failsAt({ response, breakOff }: Call, d: Directives, place: Place): Promise<boolean> {
  if (d.garbage === place) await written(response, response, malformed);
  if (d['error-at'] === place) {
    response.end(fellOver(d.message ?? 'The model fell over.'));
    return true;
  }
  if (d.eof === place) response.end();
  else if (d.break === place) breakOff();
  else if (d.hang === place) await untilGone(response);
  else return false;
  return true;
}
