import { grouped } from '../../ui/amounts.ts';
import { fieldsOf, type Fields, itemsOf, printedJson, asText } from '../../api/loose-json.ts';
import type { Answered, Turn } from './turns.ts';

/** The inputs to embed: texts, or lists of tokens. */
export function embeddingsTurns(body: Fields): readonly Turn[] {
  const input = body['input'];
  if (input === undefined || input === null) return [];
  const several = itemsOf(input);
  const isOneOfTokens = several.length > 0 && typeof several[0] === 'number';
  const inputs = Array.isArray(input) && !isOneOfTokens ? several : [input];
  return [
    {
      role: 'user',
      from: 'request',
      pieces: inputs.map((each) => {
        const text = asText(each);
        return text === undefined
          ? { kind: 'other' as const, what: 'tokens', text: JSON.stringify(each) }
          : { kind: 'text' as const, text };
      }),
    },
  ];
}

const shownNumbers = 4;

/** Vectors, shown by their length and first numbers. */
export function embeddingsAnswer({ body }: Answered): readonly Turn[] {
  const pieces = itemsOf(body['data']).map((each) => ({
    kind: 'other' as const,
    what: 'vector',
    text: vectorText(fieldsOf(each)['embedding']),
  }));
  return pieces.length === 0 ? [] : [{ role: 'assistant', from: 'answer', pieces }];
}

function vectorText(vector: unknown): string {
  const text = asText(vector);
  if (text !== undefined) return `${fullLength(text)} characters of base64`;
  if (!Array.isArray(vector)) return printedJson(vector);
  const numbers = itemsOf(vector);
  const rest = numbers.length > shownNumbers ? ', …' : '';
  const cut = asText(numbers.at(-1));
  const count =
    cut === undefined
      ? `${grouped(numbers.length)} numbers`
      : `${grouped(numbers.length - 1)} numbers and ${cut}`;
  return `${count}: ${numbers.slice(0, shownNumbers).map(String).join(', ')}${rest}`;
}

/** The length of a text before it was truncated. */
function fullLength(text: string): number {
  const mark = /\[TRUNCATED (\d+) characters\]$/.exec(text);
  return mark === null ? text.length : mark.index + Number(mark[1]);
}
