import type { Frame } from './answer.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Directives, UsagePlace } from './directives.ts';
import { digitsJson } from './raw-json.ts';
import { joined } from './text.ts';
import { argumentPieces, type ToolCall } from './tool-calls.ts';
import { planTurn, type Turn } from './turn.ts';
import { chatUsageJson } from './usage.ts';

/** Everything about a chat answer except its id and time. Members that end in `Json` are JSON text. */
export interface ChatPlan extends Turn {
  readonly modelJson: string;
  readonly finishJson: string;
  readonly usageJson: string;
  readonly usagePlace: UsagePlace;
  /** Whether chunks before the usage-only one carry `"usage":null`, as they do when the caller asked for usage. */
  readonly nullUsage: boolean;
  /** Members for the end of every chunk, each with its leading comma. */
  readonly digitsJson: string;
}

const placeOf = (request: ChatRequest, directives: Directives): UsagePlace =>
  directives.usage ?? (request.includeUsage || !request.stream ? 'last' : 'none');

/** Plans the answer to a chat request. `serial` is the number of the request. */
export function planChat(request: ChatRequest, directives: Directives, serial: number): ChatPlan {
  const turn = planTurn(request, directives, `call_sim_${serial.toString(36)}`);
  const usagePlace = placeOf(request, directives);
  const finish = directives.finish ?? (turn.toolCalls.length > 0 ? 'tool_calls' : 'stop');
  return {
    ...turn,
    modelJson: JSON.stringify(request.model),
    finishJson: directives['no-finish'] === true ? 'null' : JSON.stringify(finish),
    usageJson: chatUsageJson(turn.counts, directives),
    usagePlace,
    nullUsage: request.includeUsage && usagePlace === 'last',
    digitsJson: digitsJson(directives),
  };
}

/** The start of an answer's JSON text, up to the members that depend on the plan. */
export const chatHead = (id: string, object: string, createdSecs: number): string =>
  `{"id":${JSON.stringify(id)},"object":"${object}","created":${createdSecs}`;

/** The rest of a whole answer, after the head. */
export function wholeChatTail(plan: ChatPlan): string {
  const { usagePlace: place, toolCalls, reasoning } = plan;
  const calls = toolCalls.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }));
  const message = JSON.stringify({
    role: 'assistant',
    content: calls.length > 0 ? null : joined(plan.content),
    refusal: null,
    ...(reasoning === undefined ? {} : { reasoning_content: joined(reasoning) }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  });
  const inChoice = place === 'choices' ? `,"usage":${plan.usageJson}` : '';
  const onTop = place === 'choices' || place === 'none' ? '' : `,"usage":${plan.usageJson}`;
  const choice = `{"index":0,"message":${message},"logprobs":null,"finish_reason":${plan.finishJson}${inChoice}}`;
  return `,"model":${plan.modelJson},"choices":[${choice}]${onTop}${plan.digitsJson}}`;
}

/** How many deltas carry content: pieces of text, or parts of tool calls. */
export const chatDeltaCount = ({ toolCalls, content }: ChatPlan): number =>
  toolCalls.length > 0 ? [...toolDeltas(toolCalls)].length : content.count;

function* toolDeltas(calls: readonly ToolCall[]): Generator<string> {
  for (const [index, call] of calls.entries()) {
    const opening = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } };
    yield JSON.stringify({ tool_calls: [opening] });
    for (const piece of argumentPieces(call)) {
      yield JSON.stringify({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
}

function* contentDeltas({ toolCalls, content }: ChatPlan): Generator<string> {
  if (toolCalls.length > 0) yield* toolDeltas(toolCalls);
  else
    for (let index = 0; index < content.count; index += 1)
      yield `{"content":${JSON.stringify(content.at(index))}}`;
}

/**
 * The frames of a streamed answer. `head` starts each chunk. Unless `no-finish` is set, a finish chunk comes before
 * usage.
 */
export function* chatFrames(plan: ChatPlan, head: string): Generator<Frame> {
  const { usagePlace: place, reasoning } = plan;
  const start = `${head},"model":${plan.modelJson},"choices":[`;
  const rest = `]${plan.nullUsage ? ',"usage":null' : ''}${plan.digitsJson}}`;
  const before = `${start}{"index":0,"delta":`;
  const after = `,"logprobs":null,"finish_reason":null}${rest}`;
  yield {
    mark: 'role',
    data: `${before}{"role":"assistant","content":${plan.toolCalls.length > 0 ? 'null' : '""'}}${after}`,
  };
  for (let index = 0; index < (reasoning?.count ?? 0); index += 1) {
    const piece = JSON.stringify(reasoning?.at(index));
    yield { mark: 'reasoning', data: `${before}{"reasoning_content":${piece}}${after}` };
  }
  for (const delta of contentDeltas(plan)) yield { mark: 'delta', data: before + delta + after };
  if (plan.finishJson !== 'null') {
    const inChoice = place === 'choices' ? `,"usage":${plan.usageJson}` : '';
    const onTop = place === 'finish' ? `],"usage":${plan.usageJson}${plan.digitsJson}}` : rest;
    yield {
      mark: 'finish',
      data: `${before}{},"logprobs":null,"finish_reason":${plan.finishJson}${inChoice}}${onTop}`,
    };
  }
  if (place === 'last')
    yield { mark: 'usage', data: `${start}],"usage":${plan.usageJson}${plan.digitsJson}}` };
  yield { mark: 'done', data: '[DONE]' };
}
