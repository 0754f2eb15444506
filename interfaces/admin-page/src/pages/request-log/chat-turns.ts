import { fieldsOf, type Fields, itemsOf, printedJson, asText, wholeOf } from '../../api/loose-json.ts';
import { type Answered, mediaPiece, otherPiece, type Piece, textPiece, type Turn } from './turns.ts';

/** Messages of a chat request. */
export const chatTurns = (body: Fields): readonly Turn[] =>
  itemsOf(body['messages']).map((message) => turnOf(message, 'request'));

function turnOf(message: unknown, from: Turn['from']): Turn {
  const fields = fieldsOf(message);
  const role = asText(fields['role']) ?? (from === 'answer' ? 'assistant' : 'other');
  if (role === 'tool' || role === 'function') return { role, from, pieces: [resultOf(fields)] };
  const pieces = [
    ...textPiece(reasoningOf(fields), 'reasoning'),
    ...contentPieces(fields['content']),
    ...textPiece(asText(fields['refusal']) ?? '', 'refusal'),
    ...itemsOf(fields['tool_calls']).map(callOf),
  ];
  if (pieces.length > 0) return { role, from, pieces };
  return { role, from, pieces: message === '' || role !== 'other' ? [] : [otherPiece(message)] };
}

/** From fields of its own, or from where the gateway keeps a provider's: `provider_metadata.<provider>.reasoning`. */
const reasoningOf = (fields: Fields): string =>
  thoughtIn(fields['reasoning_content']) ||
  thoughtIn(fields['reasoning']) ||
  thoughtIn(fields['reasoning_details']) ||
  Object.values(fieldsOf(fields['provider_metadata']))
    .map((own) => thoughtIn(fieldsOf(own)['reasoning']))
    .join('');

/** Thinking is a text, or blocks that contain one a few levels deep. */
function thoughtIn(value: unknown, layers = 4): string {
  const text = asText(value);
  if (text !== undefined || layers === 0) return text ?? '';
  if (Array.isArray(value)) return value.map((block) => thoughtIn(block, layers - 1)).join('');
  const { thinking, text: said, summary, reasoningText, reasoningContent } = fieldsOf(value);
  return thoughtIn(thinking ?? said ?? summary ?? reasoningText ?? reasoningContent, layers - 1);
}

const resultOf = (fields: Fields): Piece => ({
  kind: 'result',
  callId: asText(fields['tool_call_id']),
  text: plainText(fields['content']),
  failed: false,
});

/** The text of a content of any shape. */
export function plainText(content: unknown): string {
  const text = asText(content);
  if (text !== undefined) return text;
  const parts = itemsOf(content).map((part) => asText(fieldsOf(part)['text']));
  return parts.length > 0 && parts.every((part) => part !== undefined)
    ? parts.join('\n')
    : content === undefined || content === null
      ? ''
      : printedJson(content);
}

export function contentPieces(content: unknown): readonly Piece[] {
  const text = asText(content);
  if (text !== undefined) return textPiece(text);
  return itemsOf(content).flatMap((part) => {
    const words = asText(part) ?? asText(fieldsOf(part)['text']);
    if (words !== undefined) return textPiece(words);
    const refusal = asText(fieldsOf(part)['refusal']);
    return refusal === undefined
      ? [mediaPiece(part) ?? otherPiece(part)]
      : [{ kind: 'refusal' as const, text: refusal }];
  });
}

function callOf(call: unknown): Piece {
  const fields = fieldsOf(call);
  const called = { ...fieldsOf(fields['custom']), ...fieldsOf(fields['function']) };
  return {
    kind: 'call',
    id: asText(fields['id']),
    name: asText(called['name']) ?? 'tool',
    args: asText(called['arguments']) ?? asText(called['input']) ?? printedJson(call),
  };
}

/** What the model said, with one turn per choice. */
export function chatAnswer({ body, events }: Answered): readonly Turn[] {
  if (events !== undefined) return streamed(events);
  return itemsOf(body['choices'])
    .map((choice) => turnOf(fieldsOf(choice)['message'], 'answer'))
    .filter(({ pieces }) => pieces.length > 0);
}

interface CallSoFar {
  id: string | undefined;
  name: string;
  readonly args: string[];
}
class ChoiceSoFar {
  readonly reasoning: string[] = [];
  readonly content: string[] = [];
  readonly refusal: string[] = [];
  private readonly calls = new Map<number, CallSoFar>();

  see(delta: Fields): void {
    this.reasoning.push(reasoningOf(delta));
    this.content.push(asText(delta['content']) ?? '');
    this.refusal.push(asText(delta['refusal']) ?? '');
    for (const [place, call] of itemsOf(delta['tool_calls']).entries()) this.seeCall(fieldsOf(call), place);
  }

  private seeCall(call: Fields, place: number): void {
    const index = wholeOf(call['index']) ?? place;
    const known = this.calls.get(index) ?? { id: undefined, name: '', args: [] };
    const called = fieldsOf(call['function']);
    known.id ??= asText(call['id']);
    known.name ||= asText(called['name']) ?? '';
    known.args.push(asText(called['arguments']) ?? '');
    this.calls.set(index, known);
  }

  turn(): Turn {
    const calls = [...this.calls.values()].map(
      ({ id, name, args }): Piece => ({
        kind: 'call',
        id,
        name: name === '' ? 'tool' : name,
        args: args.join(''),
      }),
    );
    return {
      role: 'assistant',
      from: 'answer',
      pieces: [
        ...textPiece(this.reasoning.join(''), 'reasoning'),
        ...textPiece(this.content.join('')),
        ...textPiece(this.refusal.join(''), 'refusal'),
        ...calls,
      ],
    };
  }
}

function streamed(events: readonly unknown[]): readonly Turn[] {
  const choices = new Map<number, ChoiceSoFar>();
  for (const event of events)
    for (const choice of itemsOf(fieldsOf(event)['choices'])) {
      const fields = fieldsOf(choice);
      const index = wholeOf(fields['index']) ?? 0;
      const known = choices.get(index) ?? new ChoiceSoFar();
      known.see(fieldsOf(fields['delta']));
      choices.set(index, known);
    }
  return [...choices.values()].map((choice) => choice.turn()).filter(({ pieces }) => pieces.length > 0);
}
