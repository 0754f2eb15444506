import {
  fieldsOf,
  type Fields,
  itemsOf,
  parsedJson,
  printedJson,
  asText,
  wholeOf,
} from '../../api/loose-json.ts';
import { type Answered, mediaPiece, otherPiece, type Piece, textPiece, type Turn } from './turns.ts';

/** Messages of a chat request. */
export const chatTurns = (body: Fields): readonly Turn[] =>
  itemsOf(body['messages']).map((message) => turnOf(message, 'request'));

function turnOf(message: unknown, from: Turn['from']): Turn {
  const fields = fieldsOf(message);
  const role = asText(fields['role']) ?? (from === 'answer' ? 'assistant' : 'other');
  if (role === 'tool' || role === 'function') return { role, from, pieces: [resultOf(fields)] };
  const pieces = [...saidIn(fields), ...callsIn(fields).map(callOf)];
  if (pieces.length > 0) return { role, from, pieces };
  return { role, from, pieces: message === '' || role !== 'other' ? [] : [otherPiece(message)] };
}

/** What a message says besides its calls, or what a delta adds to it. */
const saidIn = (fields: Fields): readonly Piece[] => [
  ...textPiece(reasoningOf(fields), 'reasoning'),
  ...contentPieces(fields['content']),
  ...audioPieces(fieldsOf(fields['audio'])),
  ...itemsOf(fields['images']).map((image) => mediaPiece(image) ?? otherPiece(image)),
  ...textPiece(asText(fields['refusal']) ?? '', 'refusal'),
];

/** Speech is shown by its transcript; a later request has only its id. */
function audioPieces({ transcript, id }: Fields): readonly Piece[] {
  const text = asText(transcript);
  if (text !== undefined) return textPiece(text);
  const known = asText(id);
  return known === undefined ? [] : [{ kind: 'media', what: 'audio', text: known }];
}

/** The calls of a message or delta: those in `tool_calls`, or else the single one of the older API. */
function callsIn(fields: Fields): readonly unknown[] {
  const calls = itemsOf(fields['tool_calls']);
  const legacy = fieldsOf(fields['function_call']);
  // Some upstreams always send the older field, filled with empty strings.
  const isLegacy = calls.length === 0 && [legacy['name'], legacy['arguments']].some((part) => asText(part));
  return isLegacy ? [{ function: legacy }] : calls;
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
    if (fieldsOf(part)['type'] === 'thinking') return textPiece(thoughtIn(part), 'reasoning');
    const refusal = asText(fieldsOf(part)['refusal']);
    return refusal === undefined
      ? [mediaPiece(part) ?? otherPiece(part)]
      : [{ kind: 'refusal' as const, text: refusal }];
  });
}

/** The function of a call, or its custom tool, whose `input` is free text. */
const calleeOf = (call: Fields): Fields => ({ ...fieldsOf(call['custom']), ...fieldsOf(call['function']) });

function callOf(call: unknown): Piece {
  const fields = fieldsOf(call);
  const called = calleeOf(fields);
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
  private readonly said: Piece[] = [];
  private readonly calls: CallSoFar[] = [];
  /** The last call of each index. */
  private readonly last = new Map<number, CallSoFar>();

  see(delta: Fields): void {
    this.said.push(...saidIn(delta));
    for (const [place, call] of callsIn(delta).entries()) this.seeCall(fieldsOf(call), place);
  }

  /** Some upstreams give all parallel calls the same index: a named piece with another id begins another call. */
  private seeCall(call: Fields, place: number): void {
    const index = wholeOf(call['index']) ?? place;
    const called = calleeOf(call);
    const id = asText(call['id']) || undefined;
    const name = asText(called['name']) ?? '';
    const before = this.last.get(index);
    const known = before === undefined || (name !== '' && isAnother(before, id)) ? this.begin(index) : before;
    known.id ??= id;
    known.name ||= name;
    known.args.push(asText(called['arguments']) ?? asText(called['input']) ?? '');
  }

  private begin(index: number): CallSoFar {
    const call = { id: undefined, name: '', args: [] };
    this.calls.push(call);
    this.last.set(index, call);
    return call;
  }

  turn(): Turn {
    const calls = this.calls.map(
      ({ id, name, args }): Piece => ({
        kind: 'call',
        id,
        name: name === '' ? 'tool' : name,
        args: args.join(''),
      }),
    );
    const media = this.said.filter(({ kind }) => kind === 'media' || kind === 'other');
    return {
      role: 'assistant',
      from: 'answer',
      pieces: [
        ...this.allOf('reasoning'),
        ...this.allOf('text'),
        ...media,
        ...this.allOf('refusal'),
        ...calls,
      ],
    };
  }

  private allOf(kind: 'reasoning' | 'text' | 'refusal'): readonly Piece[] {
    const texts = this.said.map((piece) => (piece.kind === kind ? piece.text : ''));
    return textPiece(texts.join(''), kind);
  }
}

/** Whether a named piece is of another call than the one before: its id differs, or without ids, that one came whole. */
const isAnother = ({ id: before, args }: CallSoFar, id: string | undefined): boolean =>
  id === undefined && before === undefined
    ? args.length === 1 && typeof parsedJson(args[0] ?? '') === 'object'
    : id !== undefined && before !== undefined && id !== before;

function streamed(events: readonly unknown[]): readonly Turn[] {
  const choices = new Map<number, ChoiceSoFar>();
  for (const event of events)
    for (const each of itemsOf(fieldsOf(event)['choices'])) {
      const fields = fieldsOf(each);
      const index = wholeOf(fields['index']) ?? 0;
      const known = choices.get(index);
      // Some upstreams stream the whole message in one chunk. After deltas it only repeats them.
      const added = fields['delta'] ?? (known === undefined ? fields['message'] : undefined);
      const choice = known ?? new ChoiceSoFar();
      choice.see(fieldsOf(added));
      choices.set(index, choice);
    }
  return [...choices.values()].map((choice) => choice.turn()).filter(({ pieces }) => pieces.length > 0);
}
