import { type Edit, edited, marker } from './text-edits.ts';

/** Texts that must not be kept, wherever they stand: configured credentials and callers' keys. */
export interface Secrets {
  readonly patterns: readonly RegExp[];
  /** Characters of the shortest spelling: no shorter text can hold one. */
  readonly minChars: number;
  /** One of them could stand as a JSON number. */
  readonly numeric: boolean;
}

/** Shorter values are words, not secrets; replacing them would garble what is kept. */
const minSecretChars = 8;

export const noSecrets: Secrets = { patterns: [], minChars: Number.POSITIVE_INFINITY, numeric: false };

/** Compiled once for the configuration; the few of a caller are added with {@link withSecrets}. */
export function secretsOf(values: readonly string[]): Secrets {
  const spellings = [...new Set(values.filter(isSecret).flatMap(spellingsOf))].sort(longestFirst);
  if (spellings.length === 0) return noSecrets;
  return {
    patterns: [new RegExp(spellings.map(literal).join('|'), 'g')],
    minChars: Math.min(...spellings.map(({ length }) => length)),
    numeric: spellings.some((spelling) => /^[-+.\deE]+$/.test(spelling)),
  };
}

export const withSecrets = (secrets: Secrets, values: readonly string[]): Secrets => {
  const more = secretsOf(values);
  return {
    patterns: [...secrets.patterns, ...more.patterns],
    minChars: Math.min(secrets.minChars, more.minChars),
    numeric: secrets.numeric || more.numeric,
  };
};

/** Any caller's key, whoever's it is: `gwk_<public id>.<secret>` with a secret as they are generated and written. */
const callerKeys = /gwk_[A-Za-z0-9]{8,64}\.[A-Za-z0-9_-]{32,512}/g;
const minCallerKeyChars = 'gwk_'.length + 8 + 1 + 32;

export const withCallerKeys = (secrets: Secrets): Secrets => ({
  ...secrets,
  patterns: [...secrets.patterns, callerKeys],
  minChars: Math.min(secrets.minChars, minCallerKeyChars),
});

/** What the marker itself says cannot be hidden by it. */
const isSecret = (value: string): boolean => value.length >= minSecretChars && !marker.includes(value);

const longestFirst = (a: string, b: string): number => b.length - a.length;

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/** As it is, in JSON inside a text, in JSON inside such JSON, and in a URL. */
function spellingsOf(secret: string): readonly string[] {
  const once = inJson(secret);
  return [secret, once, inJson(once), once.replaceAll('/', '\\/'), encodeURIComponent(secret.toWellFormed())];
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

export function holdsSecret(text: string, { patterns, minChars }: Secrets): boolean {
  if (text.length < minChars) return false;
  return patterns.some((pattern) => {
    pattern.lastIndex = 0;
    return pattern.test(text);
  });
}

export const withoutSecrets = (text: string, secrets: Secrets): string =>
  holdsSecret(text, secrets) ? edited(text, secretEdits(text, secrets)) : text;

/** Where the secrets stand, those of the configuration and those of the caller as one where they overlap. */
export function secretEdits(text: string, { patterns, minChars }: Secrets): readonly Edit[] {
  if (text.length < minChars) return [];
  const found = patterns.flatMap((pattern) => matches(text, pattern)).sort((a, b) => a.from - b.from);
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
