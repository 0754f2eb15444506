import { jsonEdits, jsonErrorEdits } from './json-edits.ts';
import { failureKeys, type KeyKind, kindOf, withoutQuery } from './known-fields.ts';
import {
  endsAt,
  type PathNode,
  type PathPlace,
  pathsOf,
  placeOfItems,
  placeOfMember,
} from './redaction-paths.ts';
import {
  holdsSecret,
  mayHoldSecret,
  noSecrets,
  type Secrets,
  secretsOf,
  withoutSecrets,
  withSecrets,
} from './secrets.ts';
import { escapedForm } from '../text/escaped-forms.ts';
import { quoteEscape } from '../text/quote-escapes.ts';
import { edited, marker, untilStable } from '../text/text-edits.ts';
import { urlEdits } from '../text/urls.ts';
import {
  Digits,
  isText,
  Items,
  changedItems,
  changedMembers,
  Members,
  decodedText,
  type Text,
  type Written,
} from '../text/written.ts';

/** What a payload must not keep, in addition to the built-in keys and headers. */
export interface RedactionRules {
  readonly paths: PathNode;
  readonly secrets: Secrets;
}

/** What the rules are compiled from: `redaction_paths`, and every credential in the configuration. */
export interface RedactionSource {
  readonly redactionPaths: readonly string[];
  readonly credentials: readonly string[];
}

/** Compiled once per configuration: its `redaction_paths`, every credential in it, and the forms of keys and tokens. */
export const redactionRules = (
  redactionPaths: readonly string[],
  credentials: readonly string[],
): RedactionRules => ({ paths: pathsOf(redactionPaths), secrets: secretsOf(credentials) });

/** The rules for one caller, whose own key is redacted everywhere too: the whole key, and its secret alone. */
export const forCaller = (rules: RedactionRules, keys: readonly string[]): RedactionRules => ({
  paths: rules.paths,
  secrets: withSecrets(rules.secrets, keys),
});

/**
 * Built-in and admin redaction of a wrapped payload, in one walk that copies only what it changes. The payload is
 * nested no deeper than a payload may be.
 */
export const redacted = (payload: Members, rules: RedactionRules): Members =>
  members(payload, { place: [rules.paths], error: false, field: undefined }, rules);

/** What a value's place says about it. */
interface Context {
  readonly place: PathPlace;
  /** The value is part of an error. */
  readonly error: boolean;
  /** Its strings are URLs (`url`), or may be (`media`). */
  readonly field: 'url' | 'media' | undefined;
}

/** No path, error or URL field applies. Nearly every value has this context. */
const anywhere: Context = { place: [], error: false, field: undefined };

const contextOf = (place: PathPlace, error: boolean, kind: KeyKind | undefined): Context =>
  place.length === 0 && !error && kind === undefined
    ? anywhere
    : { place, error, field: kind === 'url' || kind === 'media' ? kind : undefined };

function walk(value: Written, at: Context, rules: RedactionRules): Written {
  if (isText(value)) return textOf(value, at, rules.secrets);
  if ((value instanceof Members || value instanceof Items) && isClear(value, at, rules)) return value;
  if (value instanceof Members) return members(value, at, rules);
  if (value instanceof Items)
    return at.place.length === 0 ? items(value, at, rules) : items(value, itemsOf(at), rules);
  if (value instanceof Digits && rules.secrets.numeric)
    return holdsSecret(value.text, rules.secrets) ? marker : value;
  return value;
}

/** Nothing to redact in it: no path or field applies, no built-in rule found anything, and there is no secret. */
const isClear = ({ notes }: Members | Items, at: Context, { secrets }: RedactionRules): boolean =>
  !notes.mayHide && at === anywhere && secrets === noSecrets;

const itemsOf = (at: Context): Context => ({ ...at, place: placeOfItems(at.place) });

const items = (array: Items, at: Context, rules: RedactionRules): Items =>
  changedItems(array, endsAt(at.place, 'redacted') ? () => marker : (value) => walk(value, at, rules));

function members(object: Members, at: Context, rules: RedactionRules): Members {
  const failed = saysFailed(object);
  let secretKey = false;
  const clean = changedMembers(object, (value, key) => {
    secretKey ||= key.length >= rules.secrets.minChars && holdsSecret(key, rules.secrets);
    const kind = kindOf(key);
    const place = placeOfMember(at.place, key);
    if (kind === 'redacted' || endsAt(place, 'redacted')) return marker;
    const error =
      at.error ||
      kind === 'error' ||
      (failed && key === 'content') ||
      (!(value instanceof Members) && endsAt(place, 'error'));
    return walk(value, contextOf(place, error, kind), rules);
  });
  return secretKey ? withCleanKeys(clean, rules.secrets) : clean;
}

/** The object says that it failed, so its `content` is an error. */
const saysFailed = ({ keys, values }: Members): boolean =>
  values.includes(true) && keys.some((key, index) => values[index] === true && failureKeys.has(key));

/** A key may contain a secret, too. */
const withCleanKeys = ({ keys, values }: Members, secrets: Secrets): Members =>
  new Members(
    keys.map((key) => withoutSecrets(key, secrets)),
    values,
  );

/** A redacted error message. The caller receives the same text that is stored. */
export const redactedError = (words: string, { secrets }: Pick<RedactionRules, 'secrets'>): string =>
  redactedText(words, contextOf([], true, undefined), secrets);

function textOf(text: Text, at: Context, secrets: Secrets): Text {
  if (at.field === undefined && !at.error && isClearText(text, secrets)) return text;
  const decoded = decodedText(text);
  const clean = redactedText(decoded, at, secrets);
  return clean === decoded ? text : clean;
}

/** Whether a string has nothing to redact, judged by its literal without decoding it. */
function isClearText(text: Text, secrets: Secrets): boolean {
  if (typeof text === 'string') return secrets === noSecrets && !text.includes('"');
  return !text.mayHide && (secrets === noSecrets || !mayHoldSecret(text.literal, secrets));
}

function redactedText(text: string, at: Context, secrets: Secrets): string {
  const clean = applied(text, at, secrets);
  return clean === text ? text : untilStable(clean, (before) => applied(before, at, secrets), Object.is);
}

/**
 * A request's SigV4 signature, which some services repeat together with the header that it was in. Anyone who has it
 * can repeat the request for some minutes.
 */
const signature = new RegExp(`(Signature${escapedForm('=')})[0-9a-f]{64}`, 'gi');
const withoutSignatures = (text: string): string => text.replace(signature, `$1${marker}`);

function applied(text: string, { error, field }: Context, secrets: Secrets): string {
  let clean = withoutSecrets(text, secrets);
  if (field !== undefined) clean = withoutQuery(clean, field);
  if (error) clean = withoutSignatures(edited(clean, urlEdits(clean)));
  if (!clean.includes('"') && !clean.includes(quoteEscape)) return clean;
  if (!error) clean = edited(clean, jsonErrorEdits(clean));
  return edited(clean, jsonEdits(clean));
}
