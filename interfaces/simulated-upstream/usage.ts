import type { Directives } from './directives.ts';

/** Token counts derived from the texts; `reasoning` is part of `completion` and undefined without reasoning. */
export interface Counts {
  readonly prompt: number;
  readonly completion: number;
  readonly reasoning: number | undefined;
}

const digitsOnly = /^-?\d+$/;

/** The sum of two JSON numbers as JSON text: exact for whole numbers, `null` when there is none. */
const sum = (a: string, b: string): string =>
  digitsOnly.test(a) && digitsOnly.test(b)
    ? String(BigInt(a) + BigInt(b))
    : JSON.stringify(Number(a) + Number(b));

/** A member as JSON text; an empty value leaves the member out. */
const member = (name: string, value: string): readonly string[] =>
  value === '' ? [] : [`"${name}":${value}`];

/** The usage object as JSON text: the derived counts, except where a directive dictates the text of a number. */
export function usageJson(counts: Counts, directives: Directives): string {
  const prompt = directives['prompt-tokens'] ?? String(counts.prompt);
  const completion = directives['completion-tokens'] ?? String(counts.completion);
  const reasoning =
    directives['reasoning-tokens'] ?? (counts.reasoning === undefined ? '' : String(counts.reasoning));
  const details = member('reasoning_tokens', reasoning).map(
    (text) => `"completion_tokens_details":{${text}}`,
  );
  return `{${[
    ...member('prompt_tokens', prompt),
    ...member('completion_tokens', completion),
    ...member('total_tokens', directives['total-tokens'] ?? sum(prompt, completion)),
    ...details,
  ].join(',')}}`;
}
