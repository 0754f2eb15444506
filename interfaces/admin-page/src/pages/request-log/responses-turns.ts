import { contentPieces, plainText } from './chat-turns.ts';
import { fieldsOf, type Fields, itemsOf, printedJson, asText, wholeOf } from '../../api/loose-json.ts';
import { type Answered, otherPiece, type Piece, textPiece, type Turn } from './turns.ts';

/** The instructions and the input of a responses request. */
export function responsesTurns(body: Fields): readonly Turn[] {
  const instructions = textPiece(asText(body['instructions']) ?? '');
  const text = asText(body['input']);
  const input: readonly Turn[] =
    text === undefined
      ? itemsOf(body['input']).flatMap((item) => (isSilent(item) ? [] : [itemTurn(item, 'request')]))
      : [{ role: 'user', from: 'request', pieces: textPiece(text) }];
  return [
    ...(instructions.length === 0
      ? []
      : [{ role: 'system', from: 'request', pieces: instructions } as const]),
    ...input,
  ];
}

function itemTurn(item: unknown, from: Turn['from']): Turn {
  const fields = fieldsOf(item);
  const type = asText(fields['type']) ?? (fields['role'] === undefined ? '' : 'message');
  if (type === 'message') {
    const role = asText(fields['role']) ?? (from === 'answer' ? 'assistant' : 'other');
    return { role, from, pieces: contentPieces(fields['content']) };
  }
  if (type.endsWith('_call_output')) return { role: 'tool', from, pieces: [resultOf(fields)] };
  if (type === 'reasoning') return { role: 'assistant', from, pieces: reasoningPieces(fields) };
  if (type === 'function_call' || type === 'custom_tool_call')
    return { role: 'assistant', from, pieces: [callOf(fields)] };
  return { role: from === 'answer' ? 'assistant' : 'other', from, pieces: [otherPiece(item)] };
}

/** Reasoning of which only the id is sent back. */
const isSilent = (item: unknown): boolean =>
  fieldsOf(item)['type'] === 'reasoning' && reasoningPieces(fieldsOf(item)).length === 0;

const resultOf = (fields: Fields): Piece => ({
  kind: 'result',
  callId: asText(fields['call_id']),
  text: plainText(fields['output']),
  failed: false,
});

const callOf = (fields: Fields): Piece => ({
  kind: 'call',
  id: asText(fields['call_id']) ?? asText(fields['id']),
  name: asText(fields['name']) ?? 'tool',
  args: asText(fields['arguments']) ?? asText(fields['input']) ?? printedJson(fields),
});

function reasoningPieces(fields: Fields): readonly Piece[] {
  const texts = [...itemsOf(fields['summary']), ...itemsOf(fields['content'])]
    .map((part) => asText(fieldsOf(part)['text']) ?? '')
    .filter((text) => text !== '');
  if (texts.length > 0) return textPiece(texts.join('\n\n'), 'reasoning');
  return asText(fields['encrypted_content']) === undefined
    ? []
    : textPiece('Encrypted by the provider.', 'reasoning');
}

/** What the model said, with one turn per item. */
export function responsesAnswer({ body, events }: Answered): readonly Turn[] {
  const items = events === undefined ? itemsOf(body['output']) : streamedItems(events);
  const turns = items.map((item) => itemTurn(item, 'answer')).filter(({ pieces }) => pieces.length > 0);
  return merged(turns);
}

/** Joins the reasoning, words and calls of one answer into one turn. */
function merged(turns: readonly Turn[]): readonly Turn[] {
  if (!turns.every(({ role }) => role === 'assistant')) return turns;
  const pieces = turns.flatMap((turn) => turn.pieces);
  return pieces.length === 0 ? [] : [{ role: 'assistant', from: 'answer', pieces }];
}

interface ItemSoFar {
  item: Fields;
  done: boolean;
  readonly texts: string[];
  readonly refusals: string[];
}

/** Items as completed by the stream; an incomplete one as far as it came. */
function streamedItems(events: readonly unknown[]): readonly unknown[] {
  const items = new Map<number, ItemSoFar>();
  for (const event of events) {
    const fields = fieldsOf(event);
    const type = asText(fields['type']) ?? '';
    const index = wholeOf(fields['output_index']) ?? 0;
    const known = items.get(index);
    if (type === 'response.output_item.added' || type === 'response.output_item.done')
      items.set(index, {
        item: fieldsOf(fields['item']),
        done: type.endsWith('.done'),
        texts: known?.texts ?? [],
        refusals: known?.refusals ?? [],
      });
    else if (type === 'response.refusal.delta') known?.refusals.push(asText(fields['delta']) ?? '');
    else if (type.endsWith('.delta')) known?.texts.push(asText(fields['delta']) ?? '');
  }
  return [...items.values()].map((each) => (each.done ? each.item : asFar(each)));
}

function asFar({ item, texts, refusals }: ItemSoFar): Fields {
  if (texts.length === 0 && refusals.length === 0) return item;
  const text = texts.join('');
  const refusal = refusals.length === 0 ? [] : [{ type: 'refusal', refusal: refusals.join('') }];
  if (item['type'] === 'message') return { ...item, content: [{ type: 'output_text', text }, ...refusal] };
  if (item['type'] === 'reasoning') return { ...item, summary: [{ text }] };
  return { ...item, arguments: text };
}
