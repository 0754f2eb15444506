import * as E from 'fp-ts/lib/Either.js';
import { isSecretHeader } from '../../domain/payload/secret-headers.ts';
import { eachText, isArray, isObject, isString, type Json } from '../../domain/shared/json.ts';
import { placeholderValuesIn, type PlaceholderValues } from './interpolation.ts';
import { possibleFields, isSecretKey } from './secrets.ts';
import type { ObjectShape, Shape, TextShape } from './shape.ts';

/**
 * Every credential of a resolved file, as texts that must not be stored. The codec's shape says where they can be.
 * Callers' keys are not included: they are recognized by their form, and there may be many.
 */
export function credentialsIn(shape: Shape, resolved: Json | undefined): readonly string[] {
  const texts = new Set<string>();
  const found: Found = (value) => {
    for (const text of spellings(value)) texts.add(text);
  };
  visit(shape, resolved ?? null, {
    text: (of, value) => visitText(of, value, found),
    headers: (value) => visitHeaders(value, found),
    json: (value) => visitJson(value, false, found),
  });
  return [...texts];
}

/**
 * The values of the placeholders in headers and bodies for upstreams. Whatever is kept out of the file is a credential,
 * whatever its header or key is called. `raw` is the file before interpolation.
 */
export function placeholdersForUpstreams(
  shape: Shape,
  raw: Json,
  values: PlaceholderValues,
): readonly string[] {
  const texts = new Set<string>();
  const take = (value: Json): void =>
    eachText(value, (text) => {
      for (const found of placeholderValuesIn(text, values)) texts.add(found);
    });
  visit(shape, raw, { text: () => undefined, headers: take, json: take });
  return [...texts];
}

type Found = (value: string) => void;

/** Called for each value that may be or contain a credential. */
interface Places {
  readonly text: (shape: TextShape, value: Json) => void;
  readonly headers: (value: Json) => void;
  readonly json: (value: Json) => void;
}

function visit(shape: Shape, value: Json, places: Places): void {
  switch (shape.kind) {
    case 'text':
      return places.text(shape, value);
    case 'headers':
      return places.headers(value);
    case 'json-object':
      return places.json(value);
    case 'list':
      return visitItems(shape.of, value, places);
    case 'scalar-or-object':
      return visit(isObject(value) ? shape.object : shape.scalar, value, places);
    case 'object':
    case 'tagged':
      return visitFields(possibleFields(shape, value), value, places);
    case 'boolean':
    case 'choice':
    case 'number':
      return undefined;
  }
}

function visitText({ secret }: TextShape, value: Json, found: Found): void {
  if (isString(value) && secret?.(value) === true && !callerKey.test(value)) found(value);
}

function visitHeaders(value: Json, found: Found): void {
  if (!isObject(value)) return;
  for (const [name, text] of Object.entries(value)) if (isString(text) && isSecretHeader(name)) found(text);
}

const callerKey = /^gwk_/;

function visitItems(of: Shape, value: Json, places: Places): void {
  if (isArray(value)) for (const item of value) visit(of, item, places);
}

function visitFields(fields: ObjectShape['fields'], value: Json, places: Places): void {
  if (!isObject(value)) return;
  for (const [key, { shape }] of Object.entries(fields)) visit(shape, value[key] ?? null, places);
}

/** Everything under a secret key is a secret, at any depth. */
function visitJson(value: Json, secret: boolean, found: Found): void {
  if (secret) eachText(value, found);
  else if (isArray(value)) for (const item of value) visitJson(item, secret, found);
  else if (isObject(value))
    for (const [key, member] of Object.entries(value)) visitJson(member ?? null, isSecretKey(key), found);
}

/** The value itself, the part after a scheme word, and the password of a URL, decoded. */
function spellings(value: string): readonly string[] {
  const [, afterScheme] = /^\S+\s+(\S+)$/.exec(value) ?? [];
  const [, password] = /:\/\/[^/@]*:([^@/]+)@/.exec(value) ?? [];
  const [, inQuery] = /[?&]password=([^&]+)/i.exec(value) ?? [];
  return [value, afterScheme, decoded(password), decoded(inQuery)].filter((text) => text !== undefined);
}

const decoded = (text: string | undefined): string | undefined =>
  text === undefined
    ? undefined
    : E.getOrElse(() => text)(
        E.tryCatch(
          () => decodeURIComponent(text),
          () => 'taken as it is',
        ),
      );
