import { findAny } from '../text/find-any.ts';
import { partialForm, charForms, escapedForm } from '../text/escaped-forms.ts';
import { type Edit, edited, marker } from '../text/text-edits.ts';

/** Strings that must not be kept anywhere: configured credentials, callers' keys and admins' tokens. */
export interface Secrets {
  readonly groups: readonly Group[];
  /** How each secret begins. */
  readonly beginnings: readonly (readonly Beginning[])[];
  /** Characters of the shortest secret: no shorter text can contain one. */
  readonly minChars: number;
  /** Some secret could appear as a JSON number. */
  readonly numeric: boolean;
}

/** Secrets that are searched for together. A pattern is expensive, and compiled only once its core was found. */
interface Group {
  /** The secrets whose cores may be in the text: nearly always none. */
  readonly presentIn: (text: string) => readonly Secret[];
}

interface Secret {
  /** A run of letters and digits of the secret, which is the same in every escaped form. */
  readonly core: string;
  readonly pattern: () => RegExp;
}

/** How a secret begins, for finding one that the end of a text truncates. */
export interface Beginning {
  /** The letters and digits that every escaped form begins with. */
  readonly head: string;
  /** Matches as much of the secret, in any escaped form, as there is before the end of the text. */
  readonly partial: () => RegExp;
  /** The most characters that its escaped form is expected to take: how far from the end the search begins. */
  readonly maxChars: number;
}

/** Shorter values are words, not secrets. Replacing them would garble what is kept or shown. */
export const minSecretChars = 8;

/** Characters that a core needs for {@link findAny}: as many as it hashes, and a few more so that it can skip. */
const minSearchedChars = 6;

export const noSecrets: Secrets = {
  groups: [],
  beginnings: [],
  minChars: Number.POSITIVE_INFINITY,
  numeric: false,
};

/** Compiled once per configuration, with the forms of callers' keys and admins' tokens. */
export function secretsOf(values: readonly string[]): Secrets {
  const secrets = distinctSecrets(values);
  const groups = [...knownGroups, ...(secrets.length === 0 ? [] : [anyOf(secrets.map(secretOf))])];
  return {
    groups,
    beginnings: [knownBeginnings, secrets.map(beginningOf)],
    minChars: leastOf(secrets, minKnownChars),
    numeric: secrets.some(isNumber),
  };
}

/** Adds the few secrets of one caller, on each of its requests. */
export const withSecrets = (secrets: Secrets, values: readonly string[]): Secrets =>
  joinedSecrets(secrets, fewSecrets(values));

/** A few secrets alone, such as those of one caller: compiled once, then joined with others. */
export function fewSecrets(values: readonly string[]): Secrets {
  const own = distinctSecrets(values);
  return {
    groups: byCore(own.map(secretOf)),
    beginnings: [own.map(beginningOf)],
    minChars: leastOf(own, noSecrets.minChars),
    numeric: own.some(isNumber),
  };
}

export const joinedSecrets = (some: Secrets, others: Secrets): Secrets => ({
  groups: [...some.groups, ...others.groups],
  beginnings: [...some.beginnings, ...others.beginnings],
  minChars: Math.min(some.minChars, others.minChars),
  numeric: some.numeric || others.numeric,
});

const distinctSecrets = (values: readonly string[]): readonly string[] =>
  [...new Set(values)].filter(isSecret);

const leastOf = (values: readonly string[], least: number): number =>
  values.reduce((fewest, { length }) => Math.min(fewest, length), least);

const isNumber = (secret: string): boolean => /^[-+.\deE]+$/.test(secret);

const secretOf = (secret: string): Secret => ({
  core: coreOf(secret),
  pattern: lazily(() => new RegExp(escapedForm(secret), 'g')),
});

const beginningOf = (secret: string): Beginning => ({
  head: /^[A-Za-z0-9]{0,4}/.exec(secret)?.[0] ?? '',
  partial: lazily(() => new RegExp(partialForm(charForms(secret)), 'y')),
  maxChars: secret.length * maxFormChars,
});

/** Characters allowed for one character of a secret in JSON inside JSON. `\\\\\\\\u002f` takes 13. */
const maxFormChars = 16;

/** The longest run of letters and digits. */
const coreOf = (secret: string): string =>
  (secret.match(/[A-Za-z0-9]+/g) ?? []).reduce(
    (longest, run) => (run.length > longest.length ? run : longest),
    '',
  );

const nothing: readonly Secret[] = [];

/** Secrets with the same core share a group, as a key and the secret at its end do. */
const byCore = (secrets: readonly Secret[]): readonly Group[] =>
  [...new Set(secrets.map(({ core }) => core))].map((core) =>
    havingCore(
      core,
      secrets.filter((secret) => secret.core === core),
    ),
  );

const havingCore = (core: string, secrets: readonly Secret[]): Group => {
  const probe = probeOf(core);
  return { presentIn: (text) => (text.includes(probe) ? secrets : nothing) };
};

/** A few characters of a core, from its first digit on if possible: digits are rarer in texts, so this is faster. */
function probeOf(core: string): string {
  const from = Math.min(Math.max(0, core.search(/\d/)), Math.max(0, core.length - probeChars));
  return core.slice(from, from + probeChars);
}
const probeChars = 6;

/** Up to this many cores are found faster one by one than by {@link findAny}. */
const fewCores = 8;

/** Few cores, and cores too short for {@link findAny}, are searched for one by one. */
function anyOf(secrets: readonly Secret[]): Group {
  const isShort = ({ core }: Secret): boolean => core.length < minSearchedChars || secrets.length <= fewCores;
  const long = secrets.filter((secret) => !isShort(secret));
  const others = byCore(secrets.filter(isShort));
  const find = long.length === 0 ? undefined : findAny(long.map(({ core }) => core));
  return {
    presentIn: (text) => {
      let found = others.length === 0 ? nothing : others.flatMap(({ presentIn }) => presentIn(text));
      find?.(text, (index) => {
        const secret = long[index];
        if (secret !== undefined && !found.includes(secret)) found = [...found, secret];
      });
      return found;
    },
  };
}

/** The form of the gateway's keys and tokens: `<head>_<public id>.<secret>`. */
interface KnownForm {
  readonly head: string;
  readonly publicId: Repeated;
  readonly secret: Repeated;
}

/** A character class of a pattern, and the bounds on how often it repeats. */
interface Repeated {
  readonly of: string;
  readonly least: number;
  readonly most: number;
}

/**
 * Any caller's key, even an unknown one, whose secret has the form of generated and operator-written ones; and any API
 * token of an admin, which only the gateway generates.
 */
const knownForms: readonly KnownForm[] = [
  {
    head: 'gwk',
    publicId: { of: '[A-Za-z0-9_-]', least: 1, most: 64 },
    secret: { of: '[A-Za-z0-9_-]', least: 32, most: 512 },
  },
  {
    head: 'gwa',
    publicId: { of: '[0-9a-f]', least: 32, most: 32 },
    secret: { of: '[0-9a-f]', least: 64, most: 64 },
  },
];

const times = ({ of, least, most }: Repeated): string => `${of}{${least},${most}}`;
const begun = ({ of, most }: Repeated): string => `${of}{1,${most}}`;

const knownGroups = knownForms.map(({ head, publicId, secret }) =>
  havingCore(head, [
    {
      core: head,
      pattern: lazily(
        () =>
          new RegExp(`${head}${escapedForm('_')}${times(publicId)}${escapedForm('.')}${times(secret)}`, 'g'),
      ),
    },
  ]),
);
const knownBeginnings: readonly Beginning[] = knownForms.map(({ head, publicId, secret }) => ({
  head,
  partial: lazily(
    () =>
      new RegExp(
        partialForm([head, escapedForm('_'), begun(publicId), escapedForm('.'), begun(secret)]),
        'y',
      ),
  ),
  maxChars: 1024,
}));
const minKnownChars = Math.min(
  ...knownForms.map(({ head, publicId, secret }) => `${head}_.`.length + publicId.least + secret.least),
);

function lazily<A>(make: () => A): () => A {
  let made: A | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** A value that is part of the marker cannot be redacted: the marker would still contain it. */
const isSecret = (value: string): boolean => value.length >= minSecretChars && !marker.includes(value);

/** False when no secret is in the text, nor in the value whose JSON it is, unless it has an {@link escapedAlphanumeric}. */
export const mayHoldSecret = (text: string, secrets: Secrets): boolean =>
  text.length >= secrets.minChars && presentIn(text, secrets).length > 0;

/** A letter or digit as a `\u` escape, which JSON allows but does not need. It hides a core from the search. */
export const escapedAlphanumeric = /\\u00(?:3\d|[46][1-9a-f]|[57][\da])/i;

export const holdsSecret = (text: string, secrets: Secrets): boolean =>
  text.length >= secrets.minChars &&
  presentIn(text, secrets).some(({ pattern }) => {
    pattern().lastIndex = 0;
    return pattern().test(text);
  });

function presentIn(text: string, { groups }: Secrets): readonly Secret[] {
  let all = nothing;
  for (const group of groups) {
    const found = group.presentIn(text);
    if (found.length > 0) all = [...all, ...found];
  }
  return all;
}

export const withoutSecrets = (text: string, secrets: Secrets): string =>
  text.length < secrets.minChars ? text : edited(text, secretEdits(text, secrets));

/** One edit for each occurrence of a secret. Overlapping occurrences are merged. */
export function secretEdits(text: string, secrets: Secrets): readonly Edit[] {
  if (text.length < secrets.minChars) return [];
  const present = presentIn(text, secrets);
  if (present.length === 0) return [];
  const found = present.flatMap(({ pattern }) => matches(text, pattern())).sort((a, b) => a.from - b.from);
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
