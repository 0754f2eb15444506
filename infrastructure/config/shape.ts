import type { Json } from '../../domain/shared/json.ts';

/**
 * What a codec accepts, as data. Each codec of the configuration carries its shape, so that the JSON Schema, the known
 * keys in an error message and the places of secrets all come from the codec that decodes.
 */
export type Shape =
  | TextShape
  | NumberShape
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly values: readonly string[] }
  | { readonly kind: 'list'; readonly of: Shape; readonly maxItems: number }
  | HeadersShape
  | { readonly kind: 'json-object' }
  | ObjectShape
  | TaggedShape
  | { readonly kind: 'scalar-or-object'; readonly scalar: Shape; readonly object: Shape };

export interface TextShape {
  readonly kind: 'text';
  /** Completes "must be …". */
  readonly what: string;
  /** In characters; the minimum is 1. */
  readonly maxLength: number;
  readonly pattern: string | undefined;
  /** A YAML number is accepted too, by its source text and never through a `number`. */
  readonly orNumber: boolean;
  readonly secret: SecretRule | undefined;
}

/**
 * Whether the rest of a value, without its `${NAME}` placeholders, is a secret in itself. A field without such a rule
 * contains no secret.
 */
export type SecretRule = (residue: string) => boolean;

export interface NumberShape {
  readonly kind: 'number';
  readonly integer: boolean;
  readonly minimum: number;
  readonly maximum: number;
}

export interface HeadersShape {
  readonly kind: 'headers';
  readonly namePattern: string;
  readonly valuePattern: string;
  readonly maxEntries: number;
}

export interface ObjectShape {
  readonly kind: 'object';
  readonly fields: Readonly<Record<string, FieldShape>>;
}

/** One of several objects; the member named by `tag` determines which. */
export interface TaggedShape {
  readonly kind: 'tagged';
  readonly tag: string;
  readonly doc: string;
  readonly cases: Readonly<Record<string, ObjectShape>>;
}

export interface FieldShape {
  readonly doc: string;
  readonly presence: Presence;
  readonly shape: Shape;
}

/** A default is given as the file would write it, and goes through the same codec. */
export type Presence =
  | { readonly kind: 'required' }
  | { readonly kind: 'optional' }
  | { readonly kind: 'default'; readonly input: Json };
