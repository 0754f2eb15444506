import { contentPieces, plainText } from './chat-turns.ts';
import { fieldsOf, type Fields, itemsOf, printedJson, asText, wholeOf } from '../../api/loose-json.ts';
import { type Answered, mediaPiece, otherPiece, type Piece, textPiece, type Turn } from './turns.ts';

/** The system text and the messages of a messages request. */
export function messagesTurns(body: Fields): readonly Turn[] {
  const system = contentPieces(body['system']);
  const messages = itemsOf(body['messages']).map((message): Turn => {
    const fields = fieldsOf(message);
    const text = asText(fields['content']);
    const pieces = text === undefined ? itemsOf(fields['content']).flatMap(blockPieces) : textPiece(text);
    return {
      role: asText(fields['role']) ?? 'other',
      from: 'request',
      pieces: pieces.length === 0 && fields['content'] === undefined ? [otherPiece(message)] : pieces,
    };
  });
  return system.length === 0 ? messages : [{ role: 'system', from: 'request', pieces: system }, ...messages];
}

function blockPieces(block: unknown): readonly Piece[] {
  const fields = fieldsOf(block);
  const type = asText(fields['type']) ?? '';
  if (type === 'text') return textPiece(asText(fields['text']) ?? '');
  if (type === 'thinking') return textPiece(asText(fields['thinking']) ?? '', 'reasoning');
  if (type === 'redacted_thinking') return textPiece('Encrypted by the provider.', 'reasoning');
  if (type.endsWith('tool_use'))
    return [
      {
        kind: 'call',
        id: asText(fields['id']),
        name: asText(fields['name']) ?? 'tool',
        args: asText(fields['input']) ?? printedJson(fields['input']),
      },
    ];
  if (type.endsWith('tool_result'))
    return [
      {
        kind: 'result',
        callId: asText(fields['tool_use_id']),
        text: plainText(fields['content']),
        failed: fields['is_error'] === true || isErrorOf(fields['content']),
      },
    ];
  return [mediaPiece(block) ?? otherPiece(block)];
}

/** The provider's own tools report a failure in the type of the content. */
const isErrorOf = (content: unknown): boolean =>
  asText(fieldsOf(content)['type'])?.endsWith('_error') === true;

/** What the model said. */
export function messagesAnswer({ body, events }: Answered): readonly Turn[] {
  const pieces =
    events === undefined ? itemsOf(body['content']).flatMap(blockPieces) : streamedPieces(events);
  return pieces.length === 0 ? [] : [{ role: 'assistant', from: 'answer', pieces }];
}

interface BlockSoFar {
  readonly begun: Fields;
  readonly texts: string[];
  readonly json: string[];
}

function streamedPieces(events: readonly unknown[]): readonly Piece[] {
  const blocks = new Map<number, BlockSoFar>();
  for (const event of events) {
    const fields = fieldsOf(event);
    const index = wholeOf(fields['index']) ?? 0;
    if (fields['type'] === 'content_block_start')
      blocks.set(index, { begun: fieldsOf(fields['content_block']), texts: [], json: [] });
    if (fields['type'] !== 'content_block_delta') continue;
    const delta = fieldsOf(fields['delta']);
    const block = blocks.get(index) ?? { begun: { type: 'text' }, texts: [], json: [] };
    block.texts.push(asText(delta['text']) ?? asText(delta['thinking']) ?? asText(delta['content']) ?? '');
    block.json.push(asText(delta['partial_json']) ?? '');
    blocks.set(index, block);
  }
  return [...blocks.values()].flatMap(({ begun, texts, json }) => {
    const text = texts.join('');
    const input = json.join('');
    return blockPieces({
      ...begun,
      ...(begun['type'] === 'text' ? { text: (asText(begun['text']) ?? '') + text } : {}),
      ...(begun['type'] === 'thinking' ? { thinking: (asText(begun['thinking']) ?? '') + text } : {}),
      ...(begun['type'] === 'compaction' ? { content: text } : {}),
      ...(input === '' ? {} : { input }),
    });
  });
}
