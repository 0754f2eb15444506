import { isDeeperThan, isObject, isString, type Json, numberOf } from './json.ts';
import { maxJsonDepth } from './limits.ts';

/** The text that a value is meant as: some upstreams send a piece that consists of digits as a number. */
export const meantText = (value: Json | undefined): string => {
  if (isString(value)) return value;
  return numberOf(value) === undefined ? '' : JSON.stringify(value);
};

/** The same where the text is JSON: some upstreams send arguments, or what a schema asked for, as the object itself. */
export const meantJsonText = (value: Json | undefined): string =>
  isObject(value) && !isDeeperThan(value, maxJsonDepth) ? JSON.stringify(value) : meantText(value);
