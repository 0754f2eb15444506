import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { scopeOf } from '../domain/identity/caller.ts';
import { redactedRequest, type StoredPayload } from '../domain/payload/payload.ts';
import type { RedactionRules } from '../domain/payload/redact.ts';
import type { ResolvedRoute } from '../domain/routing/model.ts';
import { type GatewayError, overloaded } from '../domain/shared/gateway-error.ts';
import { bytesOfValue, maxEventLoopValues } from '../domain/shared/limits.ts';
import { type OutboundText, outboundBytes, outboundText } from '../domain/shared/outbound-text.ts';
import { requestTermsOf, writtenBy } from './families.ts';
import type { ParsedRequest, RequestTerms, Family, ModelRequest, ReadFault } from './model-request.ts';
import type { ServePolicy } from './serve-ports.ts';
import type { LargeBodies, LargeBody } from './ports/large-bodies.ts';
import type { CallTerms, PreparedCall, Upstream, UpstreamCall } from './ports/upstream.ts';
import { type SharedText, sharedText } from './ports/shared-text.ts';

/** The body of one request, and what the pipeline did with it. */
export interface RequestBody {
  readonly read: () => Promise<Either<ReadFault, RequestTerms>>;
  /** Writes the upstream's own request from what was read, or reports what it cannot express. Nothing is sent. */
  readonly prepare: (
    resolved: ResolvedRoute,
    terms: CallTerms,
  ) => Promise<Either<GatewayError, PreparedCall>>;
  /** What may be kept of it, also when it could not be read. */
  readonly redacted: (rules: RedactionRules, policy: Redacting) => StoredPayload | Promise<StoredPayload>;
}

type Redacting = Pick<ServePolicy, 'payloads' | 'redactionSource'>;

export interface RequestBodyPorts {
  readonly upstream: Upstream;
  readonly largeBodies: LargeBodies;
}

/**
 * Small bodies are processed at once. Bodies that are large in bytes (the HTTP layer decides) or in values are
 * processed in a worker thread. The memory of a parsed body is reserved with the request's.
 */
export function requestBody<A extends ParsedRequest>(
  ports: RequestBodyPorts,
  family: Family<A>,
  request: ModelRequest,
  maxValues: number,
): RequestBody {
  let isParsed = false;
  /** Dropped when the body is prepared: a parsed body takes many times its text, and the upstream may take minutes. */
  let opened: A | undefined;
  let large =
    E.isRight(request.body) && typeof request.body.right !== 'string' ? request.body.right : undefined;
  const largeBody = (text: SharedText): LargeBody => ({
    id: request.requestLogId,
    text,
    scope: scopeOf(request.caller),
    family: family.name,
    maxValues,
  });

  return {
    read: async () => {
      if (E.isLeft(request.body)) return request.body;
      const body = request.body.right;
      if (typeof body !== 'string') return ports.largeBodies.read(largeBody(body));
      const found = family.read(body, Math.min(maxValues, maxEventLoopValues));
      if (E.isRight(found)) {
        opened = found.right;
        isParsed = true;
        const hasRoom = request.memory.hold(opened.document.valueCount * bytesOfValue);
        return hasRoom ? E.right(requestTermsOf(opened)) : E.left(overloaded);
      }
      if (found.left.tooManyValues !== true || maxValues <= maxEventLoopValues) return found;
      large = sharedText([new TextEncoder().encode(body)]);
      return ports.largeBodies.read(largeBody(large));
    },
    prepare: async (resolved, terms) => {
      if (large !== undefined) return ports.largeBodies.prepare(largeBody(large), terms);
      const parsed = opened;
      if (parsed === undefined) throw new Error('A body is read before it is prepared, once.');
      opened = undefined;
      return writtenBy(family, parsed, resolved, (body) =>
        ports.upstream.prepare({ ...terms, ...written(body, request) }),
      );
    },
    redacted: (rules, { payloads: { requestMaxBytes }, redactionSource }) => {
      const { headers, body, callerKey } = request;
      if (large !== undefined)
        return ports.largeBodies.redacted(largeBody(large), {
          headers,
          callerKey,
          source: redactionSource,
          maxBytes: requestMaxBytes,
        });
      const text = E.isRight(body) && typeof body.right === 'string' ? body.right : undefined;
      const asCame = text === undefined ? undefined : { text, isParsed };
      return redactedRequest(headers, asCame, rules, requestMaxBytes);
    },
  };
}

/** If the body is made of the caller's own text, the bytes in which that arrived go along with it. */
function written(
  body: OutboundText,
  { body: came, takeUtf8 }: Pick<ModelRequest, 'body' | 'takeUtf8'>,
): Pick<UpstreamCall, 'body' | 'utf8'> {
  const utf8 = takeUtf8?.();
  const isCallers = utf8 !== undefined && E.isRight(came) && came.right === body.before;
  return { body: outboundText(body), utf8: isCallers ? outboundBytes(body, utf8) : undefined };
}
