import * as E from 'fp-ts/lib/Either.js';
import { permissive } from '../../../domain/routing/capabilities.ts';
import { type JsonObject, parseExactObject } from '../../../domain/shared/json.ts';
import { andThen, type Sealed, seal } from '../../../domain/shared/stream-machine.ts';
import type { TextFrame } from '../../../domain/shared/text-frame.ts';
import type { CompatAuth } from '../../../infrastructure/config/provider-auth.ts';
import { configuredHeader } from '../../../infrastructure/providers/auth/configured-header.ts';
import { outboundHeaders } from '../../../infrastructure/providers/outbound-headers.ts';
import type {
  Dialect,
  Endpoint,
  ProviderContext,
  ProviderImplementation,
} from '../../../infrastructure/providers/provider.ts';
import { isJsonLines, jsonLineFrames } from '../../../infrastructure/providers/wire/json-lines.ts';
import { isEventStream, reportingSseFrames } from '../../../infrastructure/providers/wire/sse.ts';
import { oracleRequest } from './oracle-request.ts';
import { oracleCompletion } from './oracle-response.ts';
import { oracleStream } from './oracle-stream.ts';

/** The base URL of the oracle, and the word that authenticates. */
interface OracleConfig {
  readonly baseUrl: string;
  readonly auth: CompatAuth;
  readonly defaultHeaders: Readonly<Record<string, string>>;
}

/**
 * The example of docs/adding-a-provider.md: an upstream with a body of its own, `{"question": …}`, that answers
 * `{"answer": …, "spent": {"in": n, "out": n}}`, or streams `{"piece": …}` and ends with `{"spent": …}`.
 */
export const oracle: ProviderImplementation<OracleConfig> = {
  supports: () => ({ ...permissive, responses: false, embeddings: false, tools: false, vision: false }),
  takes: (_, family) => (family === 'chat_completions' ? 'translated' : undefined),
  connect: (config, context) => {
    const endpoint: Endpoint = {
      baseUrl: new URL(config.baseUrl),
      authenticate: configuredHeader(config.auth),
    };
    const dialect = chat(config, context);
    return {
      endpoints: [endpoint],
      speak: ({ family }) => (family === 'chat_completions' ? { endpoint, dialect } : undefined),
    };
  },
};

const chat = ({ defaultHeaders }: OracleConfig, { sanitise }: ProviderContext): Dialect => ({
  encode: (call) =>
    E.map((body: JsonObject) => ({
      path: call.stream ? '/muse' : '/answer',
      headers: outboundHeaders(defaultHeaders, call, streamTypes),
      body: JSON.stringify(body),
    }))(oracleRequest(parseExactObject(call.body), call.route)),
  decode: (body, { answer }) =>
    E.map((value: JsonObject) => ({ value, text: JSON.stringify(value) }))(
      oracleCompletion(body.toString('utf8'), answer),
    ),
  events: (contentType, { answer }) => {
    const frames = framesOf(contentType, sanitise);
    return frames && andThen(frames, seal(oracleStream(answer, sanitise))).begin();
  },
});

/** The answer says whether it is a stream, whatever was requested. */
const streamTypes = 'application/x-ndjson, text/event-stream';

function framesOf(
  contentType: string,
  sanitise: ProviderContext['sanitise'],
): Sealed<Buffer, TextFrame> | undefined {
  if (isEventStream(contentType)) return reportingSseFrames(sanitise);
  return isJsonLines(contentType) ? jsonLineFrames : undefined;
}
