import { expect } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { JsonObject } from '../../domain/shared/json.ts';
import { parseExact } from '../../domain/shared/json.ts';
import { generateContentRequest } from '../../infrastructure/providers/cloud-a/generate-content-request.ts';

export const hi = [{ role: 'user', content: 'Hi' }];
export const older = 'gemini-2.5-flash';
export const newer = 'gemini-3-pro-preview';

export const outcome = (body: object, model = older) =>
  generateContentRequest(parseExact(JSON.stringify({ messages: hi, ...body })) as JsonObject, model);

export function sent(body: object, model = older): JsonObject {
  const request = outcome(body, model);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return JSON.parse(JSON.stringify(request.right)) as JsonObject;
}
export const contents = (messages: readonly object[], model = older) => sent({ messages }, model)['contents'];

export function refused(body: object, model = older) {
  const request = outcome(body, model);
  expect(E.isLeft(request)).toBe(true);
  const error = E.isLeft(request) ? request.left : undefined;
  expect(error?.code).toBe('invalid_request');
  expect(error?.message).toContain(`\`${error?.param}\``);
  return error?.param;
}
