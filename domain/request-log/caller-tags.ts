import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from '../shared/gateway-error.ts';
import { maxBespokeTags, maxTagKeyChars, maxTagValueChars } from '../shared/limits.ts';

/** Universal caller tags, and at most five bespoke ones. */
export interface CallerTags {
  readonly service: string | undefined;
  readonly component: string | undefined;
  readonly env: string | undefined;
  readonly bespoke: readonly BespokeTag[];
}

export interface BespokeTag {
  readonly key: string;
  readonly value: string;
}

export const noTags: CallerTags = { service: undefined, component: undefined, env: undefined, bespoke: [] };

/** All values of one header, in a request that may repeat it. */
export type HeaderValues = (name: string) => readonly string[];

const universal = ['service', 'component', 'env'] as const;

/** Whether a bespoke tag may not have this key because a universal tag has it. */
export const isUniversalTag = (key: string): boolean => universal.some((reserved) => reserved === key);
const keyShape = /^[a-z][a-z0-9._-]*$/;
const valueShape = /^[A-Za-z0-9._/:-]+$/;

/**
 * `x-gateway-service`, `x-gateway-component`, `x-gateway-env`, and `x-gateway-tags: k=v; k2=v2`; each header at most
 * once. The error for a violation names the header (rule 33.23).
 */
export function readCallerTags(headers: HeaderValues): Either<GatewayError, CallerTags> {
  const values: Record<(typeof universal)[number], string | undefined> = {
    service: undefined,
    component: undefined,
    env: undefined,
  };
  for (const tag of universal) {
    const header = `x-gateway-${tag}`;
    const value = headers(header);
    if (value.length === 0) continue;
    const error = once(header, value) ?? valueError(header, value[0] ?? '');
    if (error !== undefined) return E.left(error);
    values[tag] = value[0];
  }
  const bespoke = readBespoke(headers('x-gateway-tags'));
  return E.isLeft(bespoke) ? bespoke : E.right({ ...values, bespoke: bespoke.right });
}

function readBespoke(values: readonly string[]): Either<GatewayError, readonly BespokeTag[]> {
  const header = 'x-gateway-tags';
  const repeated = once(header, values);
  if (repeated !== undefined) return E.left(repeated);
  const tags: BespokeTag[] = [];
  for (const pair of (values[0] ?? '').split(';').map((each) => each.trim())) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const key = pair.slice(0, Math.max(0, equals)).trim();
    const value = pair.slice(equals + 1).trim();
    const error = keyError(header, key, tags) ?? valueError(header, value);
    if (error !== undefined) return E.left(error);
    if (tags.length === maxBespokeTags)
      return E.left(invalidRequest(`\`${header}\` holds more than ${maxBespokeTags} tags.`, header));
    tags.push({ key, value });
  }
  return E.right(tags);
}

const once = (header: string, values: readonly string[]): GatewayError | undefined =>
  values.length > 1 ? invalidRequest(`The header \`${header}\` is repeated.`, header) : undefined;

const valueError = (header: string, value: string): GatewayError | undefined =>
  value.length <= maxTagValueChars && valueShape.test(value)
    ? undefined
    : invalidRequest(
        `A value in \`${header}\` must be 1 to ${maxTagValueChars} characters of A-Z a-z 0-9 . _ / : -`,
        header,
      );

function keyError(header: string, key: string, tags: readonly BespokeTag[]): GatewayError | undefined {
  if (key.length > maxTagKeyChars || !keyShape.test(key))
    return invalidRequest(
      `A key in \`${header}\` must be 1 to ${maxTagKeyChars} characters: a-z, then a-z 0-9 . _ -`,
      header,
    );
  if (isUniversalTag(key))
    return invalidRequest(`\`${header}\` must not use the reserved key \`${key}\`.`, header);
  return tags.some((tag) => tag.key === key)
    ? invalidRequest(`\`${header}\` repeats the key \`${key}\`.`, header)
    : undefined;
}
