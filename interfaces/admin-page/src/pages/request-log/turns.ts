import { type Fields, fieldsOf, printedJson, asText } from '../../api/loose-json.ts';

/** Part of a turn. */
export type Piece =
  | { readonly kind: 'text' | 'reasoning' | 'refusal'; readonly text: string }
  | {
      readonly kind: 'call';
      readonly id: string | undefined;
      readonly name: string;
      /** JSON text as the model wrote it, which may be invalid. */
      readonly args: string;
      readonly result?: Extract<Piece, { kind: 'result' }> | undefined;
    }
  | {
      readonly kind: 'result';
      readonly callId: string | undefined;
      readonly text: string;
      readonly failed: boolean;
    }
  /** An image, audio or a file. `text` is its URL, its name, or the mark that replaces its data. */
  | { readonly kind: 'media'; readonly what: string; readonly text: string }
  /** The JSON of an unknown shape. */
  | { readonly kind: 'other'; readonly what: string; readonly text: string };

export interface Turn {
  readonly role: string;
  readonly from: 'request' | 'answer';
  readonly pieces: readonly Piece[];
}

/** The answer to a request. */
export interface Answered {
  readonly body: Fields;
  /** The events of a stream, as they were sent to the caller. */
  readonly events: readonly unknown[] | undefined;
}

export const textPiece = (text: string, kind: 'text' | 'reasoning' | 'refusal' = 'text'): readonly Piece[] =>
  text === '' ? [] : [{ kind, text }];

/** An unknown item is shown as it is. */
export const otherPiece = (value: unknown): Piece => ({
  kind: 'other',
  what: asText(fieldsOf(value)['type']) ?? 'item',
  text: printedJson(value),
});

const mediaType = /image|audio|video|file|document/;

/** Media of any family. Its URL, name or data is in one of a few fields. */
export function mediaPiece(value: unknown): Piece | undefined {
  const fields = fieldsOf(value);
  const type = asText(fields['type']) ?? '';
  if (!mediaType.test(type)) return undefined;
  const inner = { ...fieldsOf(fields[type]), ...fieldsOf(fields['source']) };
  for (const key of ['url', 'image_url', 'file_url', 'filename', 'file_id', 'data', 'file_data']) {
    const text = asText(inner[key]) ?? asText(fields[key]);
    if (text !== undefined) return { kind: 'media', what: type, text };
  }
  return { kind: 'media', what: type, text: printedJson(value) };
}
