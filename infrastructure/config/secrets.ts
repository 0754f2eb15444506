import { kindOf, redactedKeys } from '../../domain/payload/known-fields.ts';
import { isSecretHeader } from '../../domain/payload/secret-headers.ts';
import { isArray, isObject, type Json } from '../../domain/shared/json.ts';
import { residueOf } from './interpolation.ts';
import { wholeSecret } from './formats.ts';
import type { Path } from './problem.ts';
import type { ObjectShape, SecretRule, Shape } from './shape.ts';

/** Replaces a secret that is written inline in the file and therefore must not leave it. */
export const inlineMarker = '$inline';

/** As {@link redactedKeys}, without what {@link isSecretKey} ignores. */
const secretKeys: ReadonlySet<string> = new Set(redactedKeys.map((key) => key.replaceAll('_', '')));

/** Whether a key of `extra_body` has a secret value: one that is redacted in stored bodies, also without its `_`. */
export const isSecretKey = (key: string): boolean =>
  secretKeys.has(key.toLowerCase().replaceAll(/[-_]/g, '')) || kindOf(key) === 'redacted';

/** A part of the file before interpolation, without its inline secrets, and the paths where they were. */
export interface Masked {
  readonly value: Json;
  readonly inline: readonly Path[];
}

/**
 * Replaces inline secrets by the marker; placeholders stay. The codec's shape says where secrets can be. `resolved` is
 * the same tree after interpolation and determines which case of a tagged object applies.
 */
export function maskSecrets(shape: Shape, raw: Json, resolved: Json): Masked {
  const inline: Path[] = [];
  const value = mask({ shape, raw, resolved, path: [] }, inline);
  return { value, inline };
}

interface Spot {
  readonly shape: Shape;
  readonly raw: Json;
  readonly resolved: Json;
  readonly path: Path;
}

function mask(spot: Spot, inline: Path[]): Json {
  const { shape, raw, resolved, path } = spot;
  if (shape.kind === 'text') return maskText(raw, shape.secret, path, inline);
  if (shape.kind === 'headers') return maskHeaders(raw, path, inline);
  if (shape.kind === 'json-object') return maskJson(raw, path, inline);
  if (shape.kind === 'list')
    return isArray(raw) ? raw.map((item, index) => mask(inItem(spot, shape.of, item, index), inline)) : raw;
  if (shape.kind === 'scalar-or-object')
    return mask({ ...spot, shape: isObject(raw) ? shape.object : shape.scalar }, inline);
  return maskMembers(spot, possibleFields(shape, resolved), inline);
}

/** The members that an object may have; none for a scalar. */
export function possibleFields(shape: Shape, resolved: Json): ObjectShape['fields'] {
  if (shape.kind === 'object') return shape.fields;
  const tag = shape.kind === 'tagged' && isObject(resolved) ? resolved[shape.tag] : undefined;
  return shape.kind === 'tagged' && typeof tag === 'string' ? (shape.cases[tag]?.fields ?? {}) : {};
}

const inItem = (spot: Spot, shape: Shape, raw: Json, index: number): Spot => ({
  shape,
  raw,
  resolved: isArray(spot.resolved) ? (spot.resolved[index] ?? null) : null,
  path: [...spot.path, index],
});

const maskMembers = ({ raw, resolved, path }: Spot, fields: ObjectShape['fields'], inline: Path[]): Json =>
  mapMembers(raw, (key, value) => {
    const shape = fields[key]?.shape;
    const inner = isObject(resolved) ? (resolved[key] ?? null) : null;
    return shape === undefined
      ? value
      : mask({ shape, raw: value, resolved: inner, path: [...path, key] }, inline);
  });

const maskHeaders = (raw: Json, path: Path, inline: Path[]): Json =>
  mapMembers(raw, (name, value) =>
    isSecretHeader(name) ? maskText(value, wholeSecret, [...path, name], inline) : value,
  );

const mapMembers = (raw: Json, change: (key: string, value: Json) => Json): Json =>
  isObject(raw)
    ? Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, change(key, value ?? null)]))
    : raw;

function maskText(raw: Json, secret: SecretRule | undefined, path: Path, inline: Path[]): Json {
  if (secret === undefined || raw === null || (typeof raw === 'string' && !secret(residueOf(raw))))
    return raw;
  inline.push(path);
  return inlineMarker;
}

function maskJson(raw: Json, path: Path, inline: Path[]): Json {
  if (isArray(raw)) return raw.map((item, index) => maskJson(item, [...path, index], inline));
  return mapMembers(raw, (key, value) => {
    const inner = [...path, key];
    if (!isSecretKey(key)) return maskJson(value, inner, inline);
    if (holdsNoLiteral(value)) return value;
    inline.push(inner);
    return inlineMarker;
  });
}

/** Whether a value under a secret key consists of placeholders alone. */
const holdsNoLiteral = (value: Json | undefined): boolean => {
  if (typeof value === 'string') return !wholeSecret(residueOf(value));
  if (isArray(value)) return value.every(holdsNoLiteral);
  return value === null || (isObject(value) && Object.values(value).every(holdsNoLiteral));
};
