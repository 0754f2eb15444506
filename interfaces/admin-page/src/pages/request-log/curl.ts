import { fieldsOf, parsedJson } from '../../api/loose-json.ts';
import { memberText } from './json-text.ts';

const paths: Readonly<Record<string, string>> = {
  chat_completions: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
};

/** Headers that belong to the request. All others are about its connection, its client or its key. */
const toldHeaders = /^(?:x-gateway-[a-z-]+|anthropic-version|anthropic-beta)$/;

/**
 * The command that sends the request again, without its key. `undefined` when its body was not stored. `requestText` is
 * the stored request as JSON text, so that every digit of the body is sent as it was received.
 */
export function curlOf({
  origin,
  operation,
  stream,
  requestText,
}: {
  /** For example `https://gateway.example.com`. */
  readonly origin: string;
  readonly operation: unknown;
  readonly stream: boolean;
  readonly requestText: string | undefined;
}): string | undefined {
  const path =
    typeof operation === 'string' && Object.hasOwn(paths, operation) ? paths[operation] : undefined;
  const body = requestText === undefined ? undefined : memberText(requestText, 'body')?.trim();
  if (path === undefined || body === undefined || body === 'null') return undefined;
  const headers = headersOf(requestText ?? '').map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return [
    `curl -sS${stream ? 'N' : ''} ${quoted(origin + path)}`,
    '-H "authorization: Bearer $GATEWAY_API_KEY"',
    "-H 'content-type: application/json'",
    ...headers,
    `--data-raw ${quoted(body)}`,
  ].join(' \\\n  ');
}

function headersOf(requestText: string): readonly (readonly [string, string])[] {
  const headers = fieldsOf(parsedJson(memberText(requestText, 'headers') ?? ''));
  return Object.entries(headers).filter(
    (entry): entry is [string, string] => toldHeaders.test(entry[0]) && typeof entry[1] === 'string',
  );
}

/** Quoted as one word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
