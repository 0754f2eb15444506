import { isArray, isObject, isString, type Json, type JsonObject, numberOf } from '../shared/json.ts';
import { jsonEdits, jsonErrorEdits } from './json-in-text.ts';
import { type KeyKind, kindOf, withoutQuery } from './known-fields.ts';
import { mappedItems, mappedMembers } from './mapped.ts';
import {
  endsAt,
  type PathNode,
  type PathPlace,
  pathsOf,
  placeOfItems,
  placeOfMember,
} from './redaction-paths.ts';
import { holdsSecret, type Secrets, secretsOf, withoutSecrets, withSecrets } from './secrets.ts';
import { edited, marker, settled } from './text-edits.ts';
import { urlEdits } from './urls.ts';

/** What a payload must not keep, beside the built-in keys and headers. */
export interface RedactionRules {
  readonly paths: PathNode;
  readonly secrets: Secrets;
}

/** What rules are compiled from: `redaction_paths`, and every credential of the configuration. */
export interface RedactionSource {
  readonly redactionPaths: readonly string[];
  readonly credentials: readonly string[];
}

/** Compiled once for a configuration: its `redaction_paths`, every credential in it, and the form of callers' keys. */
export const redactionRules = (
  redactionPaths: readonly string[],
  credentials: readonly string[],
): RedactionRules => ({ paths: pathsOf(redactionPaths), secrets: secretsOf(credentials) });

/** The rules for one caller, whose key survives nowhere either: the whole key, and its secret alone. */
export const forCaller = (rules: RedactionRules, keys: readonly string[]): RedactionRules => ({
  paths: rules.paths,
  secrets: withSecrets(rules.secrets, keys),
});

/**
 * Built-in and admin redaction of a wrapped payload, in one walk that copies only what it changes. The payload is
 * nested no deeper than a payload may be.
 */
export const redacted = (payload: JsonObject, rules: RedactionRules): JsonObject =>
  members(payload, { place: [rules.paths], error: false, field: undefined }, rules);

/** What is known of a value from where it stands. */
interface Standing {
  readonly place: PathPlace;
  /** It is inside of what went wrong. */
  readonly error: boolean;
  /** Its texts are URLs, or may be. */
  readonly field: 'url' | 'media' | undefined;
}

/** Where nearly everything stands. */
const anywhere: Standing = { place: [], error: false, field: undefined };

const standing = (place: PathPlace, error: boolean, kind: KeyKind | undefined): Standing =>
  place.length === 0 && !error && kind === undefined
    ? anywhere
    : { place, error, field: kind === 'url' || kind === 'media' ? kind : undefined };

function walk(value: Json, at: Standing, rules: RedactionRules): Json {
  if (isString(value)) return redactedText(value, at, rules.secrets);
  if (isArray(value)) return items(value, at.place.length === 0 ? at : itemsOf(at), rules);
  if (isObject(value) && numberOf(value) === undefined) return members(value, at, rules);
  return rules.secrets.numeric && holdsSecret(JSON.stringify(value), rules.secrets) ? marker : value;
}

const itemsOf = (at: Standing): Standing => ({ ...at, place: placeOfItems(at.place) });

const items = (values: readonly Json[], at: Standing, rules: RedactionRules): readonly Json[] =>
  endsAt(at.place, 'redacted')
    ? values.map(() => marker)
    : mappedItems(values, (value) => walk(value, at, rules));

function members(object: JsonObject, at: Standing, rules: RedactionRules): JsonObject {
  const failed = object['is_error'] === true || object['isError'] === true;
  let secretKey = false;
  const clean = mappedMembers(object, (value, key) => {
    secretKey ||= key.length >= rules.secrets.minChars && holdsSecret(key, rules.secrets);
    const kind = kindOf(key);
    const place = placeOfMember(at.place, key);
    if (kind === 'redacted' || endsAt(place, 'redacted')) return marker;
    const error =
      at.error ||
      kind === 'error' ||
      (failed && key === 'content') ||
      (!isObject(value) && endsAt(place, 'error'));
    return walk(value, standing(place, error, kind), rules);
  });
  return secretKey ? withCleanKeys(clean, rules.secrets) : clean;
}

/** A secret may be a key, too. Of two keys that are the same without it the last one stays. */
const withCleanKeys = (object: JsonObject, secrets: Secrets): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [withoutSecrets(key, secrets), value]));

/** What went wrong, in anybody's words: it is told as it is kept. */
export const redactedError = (words: string, { secrets }: Pick<RedactionRules, 'secrets'>): string =>
  redactedText(words, standing([], true, undefined), secrets);

function redactedText(text: string, at: Standing, secrets: Secrets): string {
  const clean = applied(text, at, secrets);
  return clean === text ? text : settled(clean, (before) => applied(before, at, secrets), Object.is);
}

function applied(text: string, { error, field }: Standing, secrets: Secrets): string {
  let clean = withoutSecrets(text, secrets);
  if (field !== undefined) clean = withoutQuery(clean, field);
  if (error) clean = edited(clean, urlEdits(clean));
  if (!clean.includes('"')) return clean;
  if (!error) clean = edited(clean, jsonErrorEdits(clean));
  return edited(clean, jsonEdits(clean));
}
