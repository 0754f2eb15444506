import * as E from 'fp-ts/lib/Either.js';
import type { UpstreamCall } from '../../../application/ports/upstream.ts';
import { readChatCompletion } from '../../../domain/chat/chat-completion.ts';
import { chatStream } from '../../../domain/chat/chat-stream.ts';
import { type Capabilities, permissive } from '../../../domain/routing/capabilities.ts';
import { andThen, seal } from '../../../domain/shared/stream-machine.ts';
import type { CompatProvider } from '../../config/provider-config.ts';
import type { Authenticator, Dialect, ProviderContext, ProviderImplementation } from '../provider.ts';
import { sseFrames } from '../wire/sse.ts';

const namespace = 'compat';

/** Responses and embeddings become true with their dialects. */
const supported: Capabilities = { ...permissive, responses: false, embeddings: false };

/** A generic upstream that speaks the common chat-style API. */
export const compat: ProviderImplementation<CompatProvider> = {
  kind: 'compat',
  supports: () => supported,
  connect: (config, context) => {
    const chat = chatDialect(config.defaultHeaders, context);
    return {
      baseUrl: new URL(config.baseUrl),
      authenticate: authenticator(config.auth),
      dialect: () => chat,
    };
  },
};

/** Pass-through: the body is the caller's, the answer the upstream's, but for the rules of chat streams. */
const chatDialect = (
  defaultHeaders: Readonly<Record<string, string>>,
  { sanitise }: ProviderContext,
): Dialect => ({
  encode: (call) => ({
    path: '/chat/completions',
    headers: outboundHeaders(defaultHeaders, call),
    body: call.body,
  }),
  decode: (body) => {
    const text = body.toString('utf8');
    const completion = readChatCompletion(text, namespace, sanitise);
    if (E.isLeft(completion)) return completion;
    const { value, rewritten } = completion.right;
    // Plain ASCII says the same as text, which goes out with its head in one write; other bytes go as they came.
    return E.right({ value, text: rewritten ?? (text.length === body.length ? text : body) });
  },
  events: andThen(sseFrames, seal(chatStream({ namespace, sanitise }))),
});

/** Later ones win: defaults of the provider, then of the route; names are compared without case. */
function outboundHeaders(
  defaultHeaders: Readonly<Record<string, string>>,
  { route, stream, traceContext }: UpstreamCall,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: stream ? 'text/event-stream' : 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'model-gateway',
  };
  for (const [name, value] of Object.entries(defaultHeaders)) headers[name.toLowerCase()] = value;
  for (const [name, value] of Object.entries(route.extraHeaders)) headers[name.toLowerCase()] = value;
  return Object.assign(headers, traceContext);
}

/** `extra_headers` never replace authentication: it is put on last. */
function authenticator(auth: CompatProvider['auth']): Authenticator {
  switch (auth.mode) {
    case 'bearer':
      return withHeader('authorization', `Bearer ${auth.token}`);
    case 'header':
      return withHeader(auth.name.toLowerCase(), auth.value);
    case 'none':
      return (request) => request;
  }
}

const withHeader =
  (name: string, value: string): Authenticator =>
  (request) => ({ ...request, headers: { ...request.headers, [name]: value } });
