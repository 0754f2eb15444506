import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions, embeddings, messages, responses } from '../../application/families.ts';
import type { Ask, AskTerms, Family } from '../../application/model-request.ts';
import type { LargeBody, Redaction } from '../../application/ports/large-bodies.ts';
import { redactedRequest, type StoredPayload } from '../../domain/payload/payload.ts';
import { forCaller, redactionRules } from '../../domain/payload/redact.ts';
import type { ApiFamily, ResolvedRoute } from '../../domain/routing/model.ts';
import type { ProviderContext } from '../providers/provider.ts';
import { implementations } from '../providers/registry.ts';
import { type Written, type WrittenPart, written } from '../providers/written.ts';
import { textDigest } from '../text-digest.ts';
import type { Answers, Task } from './messages.ts';

/** The work of the thread: the same rules as for small bodies, one body after the other. */
export function bodyWork(): (task: Task) => Answers[Task['kind']] {
  // Most bodies are read and written one right after the other.
  let last: { readonly id: string; readonly opened: OpenedBody } | undefined;
  const opened = (body: LargeBody): E.Either<Refusal, OpenedBody> => {
    if (last?.id === body.id) return E.right(last.opened);
    last = undefined;
    const found = open(body);
    if (E.isRight(found)) last = { id: body.id, opened: found.right };
    return found;
  };
  return (task) => {
    switch (task.kind) {
      case 'read':
        return E.map(({ terms }: OpenedBody) => terms)(opened(task.body));
      case 'write':
        return E.chain(({ write }: OpenedBody) => write(task))(opened(task.body));
      case 'redact':
        if (last?.id === task.body.id) last = undefined;
        return redact(task.body, task.redaction);
    }
  };
}

type Refusal = Extract<Answers['read'], { readonly _tag: 'Left' }>['left'];
type Writing = Extract<Task, { readonly kind: 'write' }>;

interface OpenedBody {
  readonly terms: AskTerms;
  readonly write: (writing: Writing) => Answers['write'];
}

const textOf = ({ text }: LargeBody): string =>
  Buffer.from(text.buffer, text.byteOffset, text.length).toString();

const opening =
  <A extends Ask>(family: Family<A>) =>
  (body: LargeBody): E.Either<Refusal, OpenedBody> =>
    E.map((ask: A): OpenedBody => {
      const { model, stream, needs, exposedToolCount } = ask;
      return {
        terms: { model, stream, needs, exposedToolCount },
        write: (writing) => {
          const text = family.write(ask, resolvedOf(writing));
          return E.isLeft(text) ? text : encoded(writing, text.right);
        },
      };
    })(family.read(textOf(body), body.maxValues));

const openings: Readonly<Record<ApiFamily, (body: LargeBody) => E.Either<Refusal, OpenedBody>>> = {
  chat_completions: opening(chatCompletions),
  messages: opening(messages),
  responses: opening(responses(textDigest)),
  embeddings: opening(embeddings),
};

const open = (body: LargeBody): E.Either<Refusal, OpenedBody> => openings[body.family](body);

/** Who is behind a route is made of the configuration: functions cannot be sent. */
function resolvedOf({ terms: { route }, config }: Writing): ResolvedRoute {
  const { supports, takes } = implementations[config.kind];
  const { id, kind, pricingProviderId } = config;
  return { route, provider: { id, kind, pricingProviderId, supports, takes } };
}

function encoded({ terms, config }: Writing, body: string): Answers['write'] {
  const spoken = implementations[config.kind].connect(config, context).speak(terms);
  if (spoken === undefined) throw new Error('The route is not spoken by its provider.');
  return E.map((requests: Written) => requests.map(asBytes))(written(spoken.dialect, { ...terms, body }));
}

/** Only requests are written here: nothing is signed, sent or told. */
const context: ProviderContext = {
  sanitise: (message) => message,
  digest: textDigest,
  conceal: () => undefined,
  warn: () => undefined,
};

/** As bytes, which are handed over; a text would be copied. */
const asBytes = (request: WrittenPart): WrittenPart =>
  typeof request.body === 'string' ? { ...request, body: new TextEncoder().encode(request.body) } : request;

function redact(body: LargeBody, { headers, callerKey, source, maxBytes }: Redaction): StoredPayload {
  const rules = forCaller(redactionRules(source.redactionPaths, source.credentials), callerKey);
  return redactedRequest(headers, { text: textOf(body), isParsed: false }, rules, maxBytes);
}
