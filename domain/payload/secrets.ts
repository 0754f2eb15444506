import { findAny } from '../text/find-any.ts';
import { halfForm, charForms, escapedForm } from '../text/escaped-forms.ts';
import { type Edit, edited, marker } from '../text/text-edits.ts';

/** Texts that must not be kept, wherever they stand: configured credentials, callers' keys and admins' tokens. */
export interface Secrets {
  readonly groups: readonly Group[];
  /** How each of them begins. */
  readonly beginnings: readonly (readonly Beginning[])[];
  /** Characters of the shortest one: no shorter text can hold any. */
  readonly minChars: number;
  /** One of them could stand as a JSON number. */
  readonly numeric: boolean;
}

/**
 * Secrets that are searched for together. A secret's pattern is compiled only when its core was found: it is costly.
 */
interface Group {
  /** The secrets whose cores the text contains: nearly always none. */
  readonly presentIn: (text: string) => readonly Secret[];
}

interface Secret {
  /** Letters and digits of it, which are the same in each escaped form. */
  readonly core: string;
  readonly pattern: () => RegExp;
}

/** How a secret begins, for texts that end before it does. */
export interface Beginning {
  /** Letters and digits that each escaped form begins with. */
  readonly head: string;
  /** Matches as much of the secret, in any escaped form, as there is before the end of the text. */
  readonly half: () => RegExp;
  /** Characters that it may take. */
  readonly maxChars: number;
}

/** Shorter values are words, not secrets; replacing them would garble what is kept or told. */
export const minSecretChars = 8;

/** Characters that a core must have for {@link findAny}: what it hashes, and a few more so that it can skip. */
const minSearchedChars = 6;

export const noSecrets: Secrets = {
  groups: [],
  beginnings: [],
  minChars: Number.POSITIVE_INFINITY,
  numeric: false,
};

/** Compiled once for a configuration, with the forms of callers' keys and admins' tokens. */
export function secretsOf(values: readonly string[]): Secrets {
  const secrets = wordless(values);
  const groups = [...knownGroups, ...(secrets.length === 0 ? [] : [anyOf(secrets.map(secretOf))])];
  return {
    groups,
    beginnings: [knownBeginnings, secrets.map(beginningOf)],
    minChars: leastOf(secrets, minKnownChars),
    numeric: secrets.some(isNumber),
  };
}

/** The few of one caller are added on each of its requests. */
export const withSecrets = (secrets: Secrets, values: readonly string[]): Secrets =>
  joinedSecrets(secrets, fewSecrets(values));

/** A few secrets by themselves, such as those of one caller: prepared once, to be joined to others. */
export function fewSecrets(values: readonly string[]): Secrets {
  const own = wordless(values);
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

const wordless = (values: readonly string[]): readonly string[] => [...new Set(values)].filter(isSecret);

const leastOf = (values: readonly string[], least: number): number =>
  Math.min(least, ...values.map(({ length }) => length));

const isNumber = (secret: string): boolean => /^[-+.\deE]+$/.test(secret);

const secretOf = (secret: string): Secret => ({
  core: coreOf(secret),
  pattern: lazily(() => new RegExp(escapedForm(secret), 'g')),
});

const beginningOf = (secret: string): Beginning => ({
  head: /^[A-Za-z0-9]{0,4}/.exec(secret)?.[0] ?? '',
  half: lazily(() => new RegExp(halfForm(charForms(secret)), 'y')),
  maxChars: secret.length * maxFormChars,
});

/** Characters that one character takes at most in JSON inside JSON: `\\\\\\\\u002f`. */
const maxFormChars = 16;

/** The longest run of letters and digits. */
const coreOf = (secret: string): string =>
  (secret.match(/[A-Za-z0-9]+/g) ?? []).reduce(
    (longest, run) => (run.length > longest.length ? run : longest),
    '',
  );

const nothing: readonly Secret[] = [];

/** A key and the secret that it ends with have one core. */
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

/**
 * Some characters of a core, from its first digit on: they are rarer in texts than letters, so the search is faster.
 */
function probeOf(core: string): string {
  const from = Math.min(Math.max(0, core.search(/\d/)), Math.max(0, core.length - probeChars));
  return core.slice(from, from + probeChars);
}
const probeChars = 6;

/** So many cores are found one by one in less time than by {@link findAny}. */
const fewCores = 8;

/** Cores that are few, or too short for {@link findAny}, are searched for one by one. */
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

/** What keys and tokens of the gateway look like: `<head>_<public id>.<secret>`. */
interface KnownForm {
  readonly head: string;
  readonly publicId: Signs;
  readonly secret: Signs;
}

/** A class of a pattern, and how many of its characters there are. */
interface Signs {
  readonly of: string;
  readonly least: number;
  readonly most: number;
}

/**
 * Any caller's key, also of a caller that is not known, with a secret as they are generated and written; and any API
 * token of an admin, which only the gateway makes.
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

const times = ({ of, least, most }: Signs): string => `${of}{${least},${most}}`;
const begun = ({ of, most }: Signs): string => `${of}{1,${most}}`;

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
  half: lazily(
    () =>
      new RegExp(halfForm([head, escapedForm('_'), begun(publicId), escapedForm('.'), begun(secret)]), 'y'),
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

/** A value that is part of the marker is not replaced by it: it would still be there. */
const isSecret = (value: string): boolean => value.length >= minSecretChars && !marker.includes(value);

/** False: no secret is in the text, nor in the value whose JSON it is, unless it has a {@link letterByNumber}. */
export const mayHoldSecret = (text: string, secrets: Secrets): boolean =>
  text.length >= secrets.minChars && presentIn(text, secrets).length > 0;

/** A letter or digit as a `\u` escape, which JSON allows and does not need: no core is found across it. */
export const letterByNumber = /\\u00(?:3\d|[46][1-9a-f]|[57][\da])/i;

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

/** An edit for each place of a secret; places that overlap are one edit. */
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
