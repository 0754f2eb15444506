import { expect } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { type JsonObject, objectsOf, parseExact } from '../../domain/shared/json.ts';
import { unifiedRequest } from '../../infrastructure/providers/cloud-b/unified-request.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';

export interface About {
  readonly model?: string;
  readonly stream?: boolean;
  readonly cloudB?: JsonObject;
  readonly extraBody?: JsonObject;
  readonly translated?: true;
}

export const asked = (body: JsonObject, about: About = {}) =>
  unifiedRequest(
    parseExact(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...body }),
    ) as JsonObject,
    {
      route: {
        upstreamModel: about.model ?? 'amazon.nova-lite-v1:0',
        compatibility: { cloud_b: { api_style: 'runtime_unified', ...about.cloudB } },
        extraBody: about.extraBody ?? {},
      },
      stream: about.stream ?? false,
      ...(about.translated && { translated: true }),
    },
    textDigest,
  );

/** The converse body that is sent upstream. */
export function sent(body: JsonObject, about?: About): JsonObject {
  const request = asked(body, about);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return JSON.parse(JSON.stringify(request.right.body)) as JsonObject;
}

/** The field that a request is rejected for. */
export function rejected(body: JsonObject, about?: About): string | undefined {
  const request = asked(body, about);
  if (E.isRight(request)) throw new Error(`accepted: ${JSON.stringify(request.right)}`);
  expect(request.left).toMatchObject({ code: 'invalid_request' });
  expect(request.left.message).toContain(`\`${request.left.param}\``);
  return request.left.param;
}

/** The turns of these messages, without the one that precedes them if the assistant begins. */
export function turns(messages: readonly JsonObject[], about?: About): readonly JsonObject[] {
  const told = objectsOf(sent({ messages, tools: [tool('f'), tool('g')] }, about)['messages']);
  return messages[0]?.['role'] === 'assistant' ? told.slice(1) : told;
}
export const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  type: 'function',
  function: { name, ...more },
});
export const call = (id: string, name = 'f', text = '{}'): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
export const text = (words: string): JsonObject => ({ type: 'text', text: words });
export const image = (url: string): JsonObject => ({ type: 'image_url', image_url: { url } });
export const file = (filename: string | undefined, file_data: string): JsonObject => ({
  type: 'file',
  file: { ...(filename === undefined ? {} : { filename }), file_data },
});
export const user = (...content: readonly JsonObject[]): JsonObject => ({ role: 'user', content });

export const png = 'data:image/png;base64,iVBORw0KGgo=';
