import * as E from 'fp-ts/lib/Either.js';
import { scanDocument } from '../../../domain/shared/json-scan.ts';
import { maxStreamEventMembers, maxStreamEventValues } from '../../../domain/shared/limits.ts';

/** No shorter text has so many values, or members. */
const maxPlainChars = 2 * maxStreamEventValues;

/**
 * The data of an event has more than `maxStreamEventValues` JSON values, or `maxStreamEventMembers` of their members: it
 * is not worked on in the event loop.
 */
export function holdsTooMuch(data: string): boolean {
  if (data.length <= maxPlainChars) return false;
  const scanned = scanDocument(data, {}, maxStreamEventValues);
  return E.isLeft(scanned)
    ? scanned.left.tooManyValues === true
    : scanned.right.memberCount > maxStreamEventMembers;
}
