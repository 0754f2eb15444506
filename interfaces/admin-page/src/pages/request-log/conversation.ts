import { fieldsOf, type Fields, itemsOf, printedJson, asText } from '../../api/loose-json.ts';
import { chatAnswer, chatTurns } from './chat-turns.ts';
import { embeddingsAnswer, embeddingsTurns } from './embeddings-turns.ts';
import { messagesAnswer, messagesTurns } from './messages-turns.ts';
import { responsesAnswer, responsesTurns } from './responses-turns.ts';
import type { Answered, Piece, Turn } from './turns.ts';

export interface ConversationTurns {
  readonly turns: readonly Turn[];
  /** Names of the tools that the request offered. */
  readonly tools: readonly string[];
}

interface Family {
  readonly asked: (body: Fields) => readonly Turn[];
  readonly answered: (answer: Answered) => readonly Turn[];
}

const families: Readonly<Record<string, Family>> = {
  chat_completions: { asked: chatTurns, answered: chatAnswer },
  messages: { asked: messagesTurns, answered: messagesAnswer },
  responses: { asked: responsesTurns, answered: responsesAnswer },
  embeddings: { asked: embeddingsTurns, answered: embeddingsAnswer },
};

/**
 * A stored payload as a conversation. `undefined` when there is nothing to read in it; its raw JSON then says more.
 * Never throws, because a payload may have any shape, and parts of it may be truncated or redacted. Linear in the
 * payload.
 */
export function saidOf(
  operation: unknown,
  request: unknown,
  response: unknown,
): ConversationTurns | undefined {
  const name = asText(operation) ?? '';
  const family = Object.hasOwn(families, name) ? families[name] : undefined;
  if (family === undefined) return undefined;
  const body = fieldsOf(fieldsOf(request)['body']);
  const answer = fieldsOf(response);
  const events = answer['stream'] === true ? itemsOf(answer['events']) : undefined;
  const turns = joined([
    ...family.asked(body),
    ...family.answered({ body: fieldsOf(answer['body']), events }),
    ...errorTurns(answer),
  ]);
  return turns.length === 0 ? undefined : { turns, tools: toolNames(body) };
}

/** The error that the caller got. */
function errorTurns(answer: Fields): readonly Turn[] {
  const error = answer['error'] ?? fieldsOf(answer['body'])['error'];
  if (error === undefined || error === null) return [];
  const text = asText(fieldsOf(error)['message']) ?? asText(error) ?? printedJson(error);
  return [{ role: 'error', from: 'answer', pieces: [{ kind: 'text', text }] }];
}

/** Names in the shapes of every family: `function.name`, `name`, or the type of a provider's own tool. */
const toolNames = (body: Fields): readonly string[] =>
  [...itemsOf(body['tools']), ...itemsOf(body['functions'])].map((tool) => {
    const fields = fieldsOf(tool);
    return (
      asText(fieldsOf(fields['function'])['name']) ??
      asText(fields['name']) ??
      asText(fields['type']) ??
      printedJson(tool)
    );
  });

type Call = Extract<Piece, { kind: 'call' }>;
type Result = Extract<Piece, { kind: 'result' }>;

/**
 * Moves results to the calls that they answer. Results without a call stay where they are. Some upstreams give several
 * calls the same id, in one turn or in several: their results answer them in order.
 */
function joined(turns: readonly Turn[]): readonly Turn[] {
  const calls = new Map<string, { readonly all: Call[]; answered: number }>();
  const results = new Map<Piece, Result>();
  const moved = new Set<Piece>();
  for (const piece of turns.flatMap(({ pieces }) => pieces))
    if (piece.kind === 'call' && piece.id !== undefined) {
      const same = calls.get(piece.id) ?? { all: [], answered: 0 };
      same.all.push(piece);
      calls.set(piece.id, same);
    } else if (piece.kind === 'result' && piece.callId !== undefined) {
      const same = calls.get(piece.callId);
      const call = same?.all[same.answered];
      if (same === undefined || call === undefined) continue;
      same.answered += 1;
      results.set(call, piece);
      moved.add(piece);
    }
  return turns.flatMap((turn) => {
    const pieces = turn.pieces
      .filter((piece) => !moved.has(piece))
      .map((piece) => withResult(piece, results));
    return pieces.length === 0 && turn.pieces.length > 0 ? [] : [{ ...turn, pieces }];
  });
}

function withResult(piece: Piece, results: ReadonlyMap<Piece, Result>): Piece {
  const result = results.get(piece);
  return piece.kind === 'call' && result !== undefined ? { ...piece, result } : piece;
}
