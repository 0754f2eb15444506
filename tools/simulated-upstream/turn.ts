import { wholeTextMaxChars } from './bounds.ts';
import type { Conversation } from './conversation.ts';
import type { Directives } from './directives.ts';
import { badRequest, type ErrorAnswer } from './error-answer.ts';
import {
  echoText,
  fillerPieces,
  inPieces,
  type Pieces,
  reasoningText,
  tokensIn,
  toolResultText,
} from './text.ts';
import { objectFor } from './schema-value.ts';
import { type ToolCall, toolCallsFor } from './tool-calls.ts';
import type { Counts } from './usage.ts';

/** What the simulated model says in its turn, in any family. Tool calls replace the text. */
export interface Turn {
  readonly reasoning: Pieces | undefined;
  readonly content: Pieces;
  readonly toolCalls: readonly ToolCall[];
  readonly counts: Counts;
}

/** Tokens that a message costs besides its text. */
const tokensPerMessage = 3;

/** The largest N in directives that name a delta: a text without `chunks` is made long enough to reach it. */
const farthest = (d: Directives): number =>
  Math.max(
    0,
    ...[d.break, d.cut, d.eof, d.hang, d['error-at'], d.garbage, d.foreign].filter(
      (at) => typeof at === 'number',
    ),
  );

function textOf({ schema, lastRole, lastText }: Conversation): string {
  if (schema !== undefined) return JSON.stringify(objectFor(schema));
  return lastRole === 'tool' ? toolResultText(lastText) : echoText(lastText);
}

function contentOf(conversation: Conversation, directives: Directives): Pieces {
  const text = textOf(conversation);
  const natural = inPieces(text);
  const count = directives.chunks ?? Math.max(natural.count, farthest(directives));
  const bytes = directives['chunk-bytes'];
  if (bytes !== undefined) return fillerPieces(count, bytes);
  return count === natural.count ? natural : inPieces(text, count);
}

/** Plans what is said. The ids of tool calls are `callStem` and a number. */
export function planTurn(conversation: Conversation, directives: Directives, callStem: string): Turn {
  const toolCalls = toolCallsFor(conversation, directives, callStem);
  const content = toolCalls.length > 0 ? inPieces('', 0) : contentOf(conversation, directives);
  const reasoning =
    directives.reasoning === true ? inPieces(reasoningText(conversation.lastText)) : undefined;
  const reasoningTokens = reasoning === undefined ? undefined : tokensIn(reasoning.chars);
  const calledChars = toolCalls.reduce((chars, call) => chars + call.name.length + call.arguments.length, 0);
  return {
    reasoning,
    content,
    toolCalls,
    counts: {
      prompt: tokensIn(conversation.promptChars) + tokensPerMessage * conversation.messageCount,
      completion: tokensIn(content.chars + calledChars) + (reasoningTokens ?? 0),
      reasoning: reasoningTokens,
    },
  };
}

/** The 400 for a text that would have to be in memory as a whole and is too long for that. */
export const tooLongToJoin = ({ content }: Turn): ErrorAnswer | undefined =>
  content.chars > wholeTextMaxChars
    ? badRequest(`A whole answer has at most ${wholeTextMaxChars} characters.`, 'simulate')
    : undefined;
