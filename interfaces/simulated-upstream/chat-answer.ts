import type { Frame } from './answer.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Directives, UsagePlace } from './directives.ts';
import {
  echoText,
  fillerPieces,
  inPieces,
  joined,
  type Pieces,
  reasoningText,
  tokensIn,
  toolResultText,
} from './text.ts';
import { type ToolCall, toolCallsFor } from './tool-calls.ts';
import { usageJson } from './usage.ts';

/** Everything about a chat answer but its id and time; the members that end in `Json` are JSON text. */
export interface ChatPlan {
  readonly modelJson: string;
  readonly reasoning: Pieces | undefined;
  readonly content: Pieces;
  readonly toolCalls: readonly ToolCall[];
  readonly finishJson: string;
  readonly usageJson: string;
  readonly usagePlace: UsagePlace;
  /** Whether chunks before the usage-only one carry `"usage":null`, as they do when the caller asked for usage. */
  readonly nullUsage: boolean;
  /** Members for the end of every chunk, each with the comma before it. */
  readonly digitsJson: string;
}

/** Tokens that a message costs beside its text. */
const tokensPerMessage = 3;

/** Characters of tool arguments in one delta. */
const argumentPieces = /[\s\S]{1,12}/gu;

/** The largest N of the directives that name a delta: a text without `chunks` is made long enough to get there. */
const farthest = (d: Directives): number =>
  Math.max(
    0,
    ...[d.break, d.cut, d.eof, d.hang, d['error-at'], d.garbage].filter((at) => typeof at === 'number'),
  );

function contentOf(request: ChatRequest, directives: Directives): Pieces {
  const text = request.lastRole === 'tool' ? toolResultText(request.lastText) : echoText(request.lastText);
  const natural = inPieces(text);
  const count = directives.chunks ?? Math.max(natural.count, farthest(directives));
  const bytes = directives['chunk-bytes'];
  if (bytes !== undefined) return fillerPieces(count, bytes);
  return count === natural.count ? natural : inPieces(text, count);
}

const placeOf = (request: ChatRequest, directives: Directives): UsagePlace =>
  directives.usage ?? (request.includeUsage || !request.stream ? 'last' : 'none');

/** Decides what a chat request is answered with; `serial` is the number of the request. */
export function planChat(request: ChatRequest, directives: Directives, serial: number): ChatPlan {
  const toolCalls = toolCallsFor(request, directives, serial);
  const content = toolCalls.length > 0 ? inPieces('', 0) : contentOf(request, directives);
  const reasoning = directives.reasoning === true ? inPieces(reasoningText(request.lastText)) : undefined;
  const reasoningTokens = reasoning === undefined ? undefined : tokensIn(reasoning.chars);
  const calledChars = toolCalls.reduce((chars, call) => chars + call.name.length + call.arguments.length, 0);
  const usagePlace = placeOf(request, directives);
  const counts = {
    prompt: tokensIn(request.promptChars) + tokensPerMessage * request.messageCount,
    completion: tokensIn(content.chars + calledChars) + (reasoningTokens ?? 0),
    reasoning: reasoningTokens,
  };
  const finish = directives.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop');
  return {
    modelJson: JSON.stringify(request.model),
    reasoning,
    content,
    toolCalls,
    finishJson: directives['no-finish'] === true ? 'null' : JSON.stringify(finish),
    usageJson: usageJson(counts, directives),
    usagePlace,
    nullUsage: request.includeUsage && usagePlace === 'last',
    digitsJson: directives.digits === true ? ',"digits":[9007199254740993,0.10]' : '',
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
    for (const piece of call.arguments.match(argumentPieces) ?? []) {
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

/** The frames of a streamed answer; `head` starts each chunk. Without `no-finish` a finish chunk comes before usage. */
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
