import type { Directives } from './directives.ts';

/** Token counts derived from the texts. `reasoning` is part of `completion`, and `undefined` without reasoning. */
export interface Counts {
  readonly prompt: number;
  readonly completion: number;
  readonly reasoning: number | undefined;
}

const digitsOnly = /^-?\d+$/;

/** The sum of two JSON numbers as JSON text: exact for whole numbers, `null` when there is no sum. */
const sum = (a: string, b: string): string =>
  digitsOnly.test(a) && digitsOnly.test(b)
    ? String(BigInt(a) + BigInt(b))
    : JSON.stringify(Number(a) + Number(b));

/** A member as JSON text. An empty value leaves the member out. */
const member = (name: string, value: string): readonly string[] =>
  value === '' ? [] : [`"${name}":${value}`];

const object = (...members: readonly (readonly string[])[]): string => `{${members.flat().join(',')}}`;

/** An object with these members, or nothing when all of them are left out. */
const details = (name: string, ...members: readonly (readonly string[])[]): readonly string[] =>
  members.flat().length === 0 ? [] : member(name, object(...members));

/** The counts as JSON text, unless a directive dictates the text. */
interface CountTexts {
  readonly prompt: string;
  readonly completion: string;
  readonly total: string;
  readonly reasoning: string;
  readonly cached: string;
  readonly written: string;
}

function textsOf(counts: Counts, d: Directives, unknown: string): CountTexts {
  const prompt = d['prompt-tokens'] ?? String(counts.prompt);
  const completion = d['completion-tokens'] ?? String(counts.completion);
  return {
    prompt,
    completion,
    total: d['total-tokens'] ?? sum(prompt, completion),
    reasoning: d['reasoning-tokens'] ?? (counts.reasoning === undefined ? unknown : String(counts.reasoning)),
    cached: d['cached-tokens'] ?? unknown,
    written: d['cache-write-tokens'] ?? unknown,
  };
}

/** The usage of a chat completion as JSON text. Details are included only when there are any. */
export function chatUsageJson(counts: Counts, directives: Directives): string {
  const { prompt, completion, total, reasoning, cached, written } = textsOf(counts, directives, '');
  return object(
    member('prompt_tokens', prompt),
    member('completion_tokens', completion),
    member('total_tokens', total),
    details('prompt_tokens_details', member('cached_tokens', cached), member('cache_write_tokens', written)),
    details('completion_tokens_details', member('reasoning_tokens', reasoning)),
  );
}

/** The usage of a response as JSON text. Details are always included. */
export function responsesUsageJson(counts: Counts, directives: Directives): string {
  const { prompt, completion, total, reasoning, cached, written } = textsOf(counts, directives, '0');
  return object(
    member('input_tokens', prompt),
    details('input_tokens_details', member('cached_tokens', cached), member('cache_write_tokens', written)),
    member('output_tokens', completion),
    details('output_tokens_details', member('reasoning_tokens', reasoning)),
    member('total_tokens', total),
  );
}

/** The usage of a message as JSON text: cached tokens are listed apart from the input tokens, and there is no total. */
export function messagesUsageJson(counts: Counts, directives: Directives): string {
  const { prompt, completion, reasoning } = textsOf(counts, directives, '');
  return object(
    member('input_tokens', prompt),
    member('cache_creation_input_tokens', directives['cache-write-tokens'] ?? '0'),
    member('cache_read_input_tokens', directives['cached-tokens'] ?? '0'),
    member('output_tokens', completion),
    details('output_tokens_details', member('thinking_tokens', reasoning)),
  );
}

/** The usage of embeddings as JSON text: there is no completion, so the total is the prompt. */
export function embeddingsUsageJson(prompt: number, directives: Directives): string {
  const text = directives['prompt-tokens'] ?? String(prompt);
  return object(member('prompt_tokens', text), member('total_tokens', directives['total-tokens'] ?? text));
}
