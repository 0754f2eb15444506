import * as E from 'fp-ts/lib/Either.js';
import { permissive } from '../../../domain/routing/capabilities.ts';
import { type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { andThen, seal } from '../../../domain/shared/stream-machine.ts';
import { outboundHeaders } from '../../../infrastructure/providers/outbound-headers.ts';
import type {
  Dialect,
  Endpoint,
  ProviderContext,
  ProviderImplementation,
} from '../../../infrastructure/providers/provider.ts';
import { isEventStream, sseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { oracleRequest } from './oracle-request.ts';
import { oracleCompletion } from './oracle-response.ts';
import { oracleStream } from './oracle-stream.ts';

/** Where the oracle is, and the word that opens it. */
export interface OracleConfig {
  readonly url: string;
  readonly word: string;
}

/**
 * The example of docs/adding-a-provider.md: an upstream with a body of its own, `{"question": …}`, that answers
 * `{"answer": …, "spent": {"in": n, "out": n}}`, or streams `{"piece": …}` and ends with `{"spent": …}`.
 */
export const oracle: Omit<ProviderImplementation<OracleConfig>, 'kind'> = {
  supports: () => ({ ...permissive, responses: false, embeddings: false, tools: false, vision: false }),
  takes: (_, family) => (family === 'chat_completions' ? 'translated' : undefined),
  connect: ({ url, word }, context) => {
    const endpoint: Endpoint = {
      baseUrl: new URL(url),
      authenticate: (request) => ({
        ...request,
        headers: { ...request.headers, authorization: `Word ${word}` },
      }),
    };
    const dialect = chat(context);
    return {
      endpoints: [endpoint],
      speak: ({ family }) => (family === 'chat_completions' ? { endpoint, dialect } : undefined),
    };
  },
};

const chat = ({ sanitise }: ProviderContext): Dialect => ({
  encode: (call) =>
    E.map((body: JsonObject) => ({
      path: call.stream ? '/muse' : '/answer',
      headers: outboundHeaders({}, call),
      body: JSON.stringify(body),
    }))(oracleRequest(parseExact(call.body) as JsonObject, call.route)),
  decode: (body, { answer }) =>
    E.map((value: JsonObject) => ({ value, text: JSON.stringify(value) }))(
      oracleCompletion(body.toString('utf8'), answer),
    ),
  events: (contentType, { answer }) =>
    isEventStream(contentType) ? andThen(sseFrames, seal(oracleStream(answer, sanitise))).begin() : undefined,
});
