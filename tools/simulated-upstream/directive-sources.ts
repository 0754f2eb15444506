import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type DirectiveName, type Directives, readDirectives } from './directives.ts';
import { isJsonObject } from './json-object.ts';

type Pair = readonly [name: string, text: string | undefined];

/** Words in a model name such as `simulated-slow` or `sim-parallel-tools`, with the directives that they stand for. */
const modelWords: ReadonlyMap<string, readonly Pair[]> = new Map<
  string,
  readonly (readonly [DirectiveName, string])[]
>([
  [
    'slow',
    [
      ['latency-ms', '1000'],
      ['chunk-delay-ms', '100'],
    ],
  ],
  ['reasoning', [['reasoning', 'on']]],
  ['tools', [['tools', 'on']]],
  ['parallel', [['parallel-tools', 'on']]],
]);

/**
 * The directives in a model name: its words if the first one is `sim` or `simulated` (unknown words are ignored), then
 * everything after the first `?`, read as a query string (so `+` is a space, and `%2B` a plus sign).
 */
function fromModel(model: string): readonly Pair[] {
  const mark = model.indexOf('?');
  const [first = '', ...words] = (mark < 0 ? model : model.slice(0, mark)).split('-');
  const spoken = first === 'sim' || first === 'simulated' ? words : [];
  return [
    ...spoken.flatMap((word) => modelWords.get(word) ?? []),
    ...(mark < 0 ? [] : fromQuery(model.slice(mark + 1))),
  ];
}

const fromQuery = (query: string): readonly Pair[] => [...new URLSearchParams(query)];

/** A member of the body's `simulate` object: true stands for an empty text, false and null remove the directive. */
const textOf = (value: unknown): string | undefined => {
  if (value === true) return '';
  if (value === false || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/**
 * The directives of a request, read from the model name, the `x-simulate` header and the body's `simulate` object, in
 * this order: the later one wins. Left is a sentence that says what is not understood.
 */
export function directivesOf(
  model: string,
  header: string | undefined,
  simulate: unknown,
): Either<string, Directives> {
  if (simulate !== undefined && !isJsonObject(simulate)) return E.left("'simulate' must be an object.");
  const fromBody = Object.entries(simulate ?? {}).map(([name, value]): Pair => [name, textOf(value)]);
  return readDirectives([...fromModel(model), ...fromQuery(header ?? ''), ...fromBody]);
}
