import { spelling } from './spelling.ts';
import { type Edit, edited, marker } from './text-edits.ts';

/** Texts that must not be kept, wherever they stand: configured credentials and callers' keys. */
export interface Secrets {
  readonly patterns: readonly Pattern[];
  /** Characters of the shortest one: no shorter text can hold any. */
  readonly minChars: number;
  /** One of them could stand as a JSON number. */
  readonly numeric: boolean;
}

/** One secret or several, in every spelling. */
interface Pattern {
  /** Letters and digits that stand in each spelling: most texts are told apart by them at once. */
  readonly core: string;
  readonly sources: () => readonly string[];
  readonly matcher: () => RegExp;
}

/** Shorter values are words, not secrets; replacing them would garble what is kept. */
const minSecretChars = 8;

export const noSecrets: Secrets = { patterns: [], minChars: Number.POSITIVE_INFINITY, numeric: false };

/** Compiled once for the configuration; the few of a caller are added with {@link withSecrets}. */
export const secretsOf = (values: readonly string[]): Secrets => {
  const secrets = [...new Set(values.filter(isSecret))].sort(longestFirst);
  return secrets.length === 0 ? noSecrets : secretsIn(secrets, [pattern('', () => secrets.map(spelling))]);
};

/** Those of one caller, on each of its requests: what they look like is only worked out where one may stand. */
export function withSecrets(secrets: Secrets, values: readonly string[]): Secrets {
  const own = values.filter(isSecret).sort(longestFirst);
  if (own.length === 0) return secrets;
  const core = coreOf(own.at(-1) ?? '');
  const together = own.every((secret) => secret.includes(core));
  const more = secretsIn(
    own,
    together
      ? [pattern(core, () => own.map(spelling))]
      : own.map((secret) => pattern(coreOf(secret), () => [spelling(secret)])),
  );
  return {
    patterns: [...secrets.patterns, ...more.patterns],
    minChars: Math.min(secrets.minChars, more.minChars),
    numeric: secrets.numeric || more.numeric,
  };
}

const secretsIn = (secrets: readonly string[], patterns: readonly Pattern[]): Secrets => ({
  patterns,
  minChars: Math.min(...secrets.map(({ length }) => length)),
  numeric: secrets.some((secret) => /^[-+.\deE]+$/.test(secret)),
});

/** It is compiled where a text may hold one for the first time. */
function pattern(core: string, sources: Pattern['sources']): Pattern {
  let compiled: RegExp | undefined;
  const matcher = (): RegExp => {
    compiled ??= new RegExp(sources().join('|'), 'g');
    return compiled;
  };
  return { core, sources, matcher };
}

/** Any caller's key, whoever's it is: `gwk_<public id>.<secret>` with a secret as they are generated and written. */
const callerKeys = `gwk${spelling('_')}[A-Za-z0-9]{8,64}${spelling('.')}[A-Za-z0-9_-]{32,512}`;
const minCallerKeyChars = 'gwk_'.length + 8 + 1 + 32;

/** Looked for together with those that are there already: a text is looked through once. */
export const withCallerKeys = (secrets: Secrets): Secrets => ({
  ...secrets,
  patterns: [pattern('', () => [...secrets.patterns.flatMap(({ sources }) => sources()), callerKeys])],
  minChars: Math.min(secrets.minChars, minCallerKeyChars),
});

/** What the marker itself says cannot be hidden by it. */
const isSecret = (value: string): boolean => value.length >= minSecretChars && !marker.includes(value);

const longestFirst = (a: string, b: string): number => b.length - a.length;

/** The longest run of letters and digits. */
const coreOf = (secret: string): string =>
  (secret.match(/[A-Za-z0-9]+/g) ?? []).reduce(
    (longest, run) => (run.length > longest.length ? run : longest),
    '',
  );

export function holdsSecret(text: string, { patterns, minChars }: Secrets): boolean {
  return (
    text.length >= minChars &&
    patterns.some(({ core, matcher }) => {
      if (!text.includes(core)) return false;
      const pattern = matcher();
      pattern.lastIndex = 0;
      return pattern.test(text);
    })
  );
}

export const withoutSecrets = (text: string, secrets: Secrets): string =>
  holdsSecret(text, secrets) ? edited(text, secretEdits(text, secrets)) : text;

/** Where the secrets stand, those of the configuration and those of the caller as one where they overlap. */
export function secretEdits(text: string, { patterns, minChars }: Secrets): readonly Edit[] {
  if (text.length < minChars) return [];
  const found = patterns
    .flatMap(({ core, matcher }) => (text.includes(core) ? matches(text, matcher()) : []))
    .sort((a, b) => a.from - b.from);
  const edits: Edit[] = [];
  for (const { from, to } of found) {
    const last = edits.at(-1);
    if (last === undefined || from >= last.to) edits.push({ from, to, by: marker });
    else if (to > last.to) edits[edits.length - 1] = { ...last, to };
  }
  return edits;
}

function matches(text: string, pattern: RegExp): Omit<Edit, 'by'>[] {
  pattern.lastIndex = 0;
  return Array.from(text.matchAll(pattern), ({ 0: found, index }) => ({
    from: index,
    to: index + found.length,
  }));
}
