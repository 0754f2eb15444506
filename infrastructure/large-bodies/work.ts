import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import {
  chatCompletions,
  countTokens,
  embeddings,
  messages,
  responses,
  requestTermsOf,
  writtenBy,
} from '../../application/families.ts';
import type { ParsedRequest, RequestTerms, Family } from '../../application/model-request.ts';
import type { LargeBody, Redaction } from '../../application/ports/large-bodies.ts';
import { callerAnswer } from '../../application/caller-answer.ts';
import { redactedRequest, redactedResponse } from '../../domain/payload/payload.ts';
import { forCaller, type RedactionRules, redactionRules } from '../../domain/payload/redact.ts';
import type { ApiFamily, ResolvedRoute, Route } from '../../domain/routing/model.ts';
import { outboundText } from '../../domain/shared/outbound-text.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import type { ProviderConfig } from '../config/provider-config.ts';
import { connectedProvider, routingProvider } from '../providers/registry.ts';
import { sanitiser } from '../providers/sanitiser.ts';
import { exceedsAnswerLimits } from '../providers/wire/bounded-data.ts';
import { type WrittenPart, writtenCall } from '../providers/written.ts';
import { textDigest } from '../text-digest.ts';
import type { TaskKind, Tasks } from './messages.ts';

/** The tasks of the thread, which follow the same rules as small bodies. */
export type Work = { readonly [K in TaskKind]: (parsed: Tasks[K]['input']) => Tasks[K]['answer'] };

export function largeWork(): Work {
  // Most bodies are read and written one right after the other.
  let last: { readonly id: string; readonly opened: OpenedBody } | undefined;
  const opened = (body: LargeBody): ReturnType<typeof open> => {
    if (last?.id === body.id) return E.right(last.opened);
    last = undefined;
    const found = open(body);
    if (E.isRight(found)) last = { id: body.id, opened: found.right };
    return found;
  };
  return {
    read: ({ body }) =>
      pipe(
        opened(body),
        E.map(({ terms }) => terms),
      ),
    write: (writing) =>
      pipe(
        opened(writing.body),
        E.chain(({ write }) => write(writing)),
      ),
    redact: ({ body, redaction }) => {
      if (last?.id === body.id) last = undefined;
      const { headers, maxBytes } = redaction;
      const text = { text: textOf(body.text), isParsed: false };
      return redactedRequest(headers, text, rulesOf(redaction), maxBytes);
    },
    readAnswer,
    redactAnswer: ({ text, rules }) => redactedResponse(textOf(text), rulesOf(rules), rules.maxBytes),
  };
}

const textOf = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('utf8');

/** Each byte as a character, which takes half the memory of some texts, and keeps all that JSON consists of. */
const bytesAsText = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString('latin1');

const rulesOf = ({ source, callerKey }: Pick<Redaction, 'source' | 'callerKey'>): RedactionRules =>
  forCaller(redactionRules(source.redactionPaths, source.credentials), callerKey);

type Writing = Tasks['write']['input'];

interface OpenedBody {
  readonly terms: RequestTerms;
  readonly write: (writing: Writing) => Tasks['write']['answer'];
}

/** A family whose type of reading view is hidden. */
interface OpenFamily {
  readonly open: (body: LargeBody) => Either<Refusal, OpenedBody>;
  readonly answerPath: Family<never>['answerPath'];
}

type Refusal = Extract<Tasks['read']['answer'], { readonly _tag: 'Left' }>['left'];

const familyOf = <A extends ParsedRequest>(family: Family<A>): OpenFamily => ({
  answerPath: family.answerPath,
  open: (body) =>
    pipe(
      family.read(textOf(body.text), body.maxValues),
      E.map(
        (parsed): OpenedBody => ({
          terms: requestTermsOf(parsed),
          write: (writing) => {
            const resolved = resolvedOf(writing.terms.route, writing.config);
            return writtenBy(family, parsed, resolved, (body) => encoded(writing, outboundText(body)));
          },
        }),
      ),
    ),
});

const families: Readonly<Record<ApiFamily, OpenFamily>> = {
  chat_completions: familyOf(chatCompletions),
  messages: familyOf(messages),
  responses: familyOf(responses(textDigest)),
  embeddings: familyOf(embeddings),
  count_tokens: familyOf(countTokens),
};

const open = (body: LargeBody): Either<Refusal, OpenedBody> => families[body.family].open(body);

/** The resolved route is rebuilt from the configuration, because functions cannot be sent to a thread. */
const resolvedOf = (route: Route, config: ProviderConfig): ResolvedRoute => ({
  route,
  provider: routingProvider(config),
});

/** The provider of a route, only for writing requests and reading answers: nothing is signed, sent or logged here. */
function reachedBy(config: ProviderConfig, terms: Writing['terms'], sanitise: (message: string) => string) {
  const context = { sanitise, digest: textDigest, conceal: () => undefined, warn: () => undefined };
  const reached = connectedProvider(config, context).speak(terms);
  if (reached === undefined) throw new Error('The provider has no dialect for the route.');
  return reached;
}

function encoded({ terms, config }: Writing, body: string): Tasks['write']['answer'] {
  const { dialect } = reachedBy(config, terms, (message) => message);
  return pipe(
    writtenCall(dialect, { ...terms, body }),
    E.map((requests) => requests.map(asBytes)),
  );
}

/** Encodes a text as bytes, which can be transferred; a text would be copied. */
const asBytes = (request: WrittenPart): WrittenPart =>
  typeof request.body === 'string' ? { ...request, body: bytesOf(request.body) } : request;

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

const tooManyValues: UpstreamFault = {
  kind: 'protocol',
  message: 'The upstream sent an answer with too many JSON values.',
};

function readAnswer({ answer, config }: Tasks['readAnswer']['input']): Tasks['readAnswer']['answer'] {
  const { terms, parts, family, requestLogId, source } = answer;
  if (parts.some(({ text }) => exceedsAnswerLimits(bytesAsText(text)))) return E.left(tooManyValues);
  const rules = redactionRules(source.redactionPaths, source.credentials);
  const { dialect } = reachedBy(
    config,
    terms,
    sanitiser(config, () => rules),
  );
  const bodies = parts.map(({ text, inputs }) => ({ body: Buffer.from(text), inputs }));
  const path = families[family].answerPath(terms.answer, resolvedOf(terms.route, config), requestLogId);
  const read =
    'decodeMany' in dialect
      ? dialect.decodeMany(bodies, terms)
      : dialect.decode(bodies[0]?.body ?? Buffer.alloc(0), terms);
  return pipe(
    read,
    E.map((answered) => {
      const { observation, text } = callerAnswer(path, answered);
      const bytes = pipe(
        text,
        E.map((whole) => (typeof whole === 'string' ? bytesOf(whole) : whole)),
      );
      return { observation, text: bytes };
    }),
  );
}
