import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { callerAnswer } from '../../application/caller-answer.ts';
import { chatCompletions, countTokens, embeddings, messages, responses } from '../../application/families.ts';
import type { AnswerPath, Family } from '../../application/model-request.ts';
import type { CallTerms, UpstreamReply, WholeAnswer } from '../../application/ports/upstream.ts';
import { relayStream } from '../../application/relay-stream.ts';
import { StreamPayload } from '../../domain/payload/stream-payload.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { StreamEvent } from '../../domain/shared/stream-event.ts';
import type { Run } from '../../domain/shared/stream-machine.ts';
import type { Observation } from '../../domain/upstream/observation.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import {
  chatFormat,
  embeddingsFormat,
  messagesFormat,
  responsesFormat,
} from '../../interfaces/http/public/wire-format.ts';
import { openContext } from '../../interfaces/http/request-context.ts';
import type { CallerFamily, Sample } from './sample.ts';
import { callTo, dialectFor, type Upstream, upstreams } from './upstreams.ts';

/** What a caller receives, and what the gateway observes beside it. */
export interface Replayed {
  readonly bytes: Buffer;
  readonly observation: Observation;
}

type Answering = Pick<Family<never>, 'answerPath'>;

const families: Readonly<Record<CallerFamily, Answering>> = {
  chat_completions: chatCompletions,
  messages,
  responses: responses((text) => text),
  embeddings,
  count_tokens: countTokens,
};

const formats = {
  chat_completions: chatFormat,
  messages: messagesFormat,
  responses: responsesFormat,
  embeddings: embeddingsFormat,
  count_tokens: messagesFormat,
} as const;

const request = new IncomingMessage(new Socket());
const context = openContext(request, new ServerResponse(request), 0, () => 'request-1');

interface Way {
  readonly path: AnswerPath;
  readonly upstream: Upstream;
  readonly call: CallTerms;
}

/** The path of an answer from its upstream to a caller. */
function wayOf(sample: Sample<unknown>, caller: CallerFamily, stream: boolean): Way {
  const upstream = upstreams[sample.upstream];
  const path = families[caller].answerPath({ model: 'asked' }, upstream.resolved, 'row-1');
  return { path, upstream, call: callTo(upstream, path.speaks.family, stream) };
}

/** A streamed sample, split into these pieces, as its caller receives it. */
export async function replayStream(
  sample: Sample<unknown>,
  caller: CallerFamily,
  pieces: readonly Buffer[],
): Promise<Replayed> {
  const { path, upstream, call } = wayOf(sample, caller, true);
  const dialect = dialectFor(upstream, call);
  const run = 'events' in dialect ? dialect.events?.(sample.contentType.toLowerCase(), call) : undefined;
  if (run === undefined) throw new Error(`${sample.contentType} is no stream of this upstream`);
  const written: (string | Uint8Array)[] = [];
  const settled: Observation[] = [];
  const spell = formats[caller].writer(context);
  await relayStream({
    path,
    reply: streamReply(run, pieces),
    hold: () => undefined,
    disconnect: { early: () => undefined, answered: () => true, goesOn: () => true, over: () => undefined },
    cancel: () => undefined,
    payload: new StreamPayload({ streamMaxEvents: 1, responseMaxBytes: 1 }),
    firstContent: () => undefined,
    settle: (_, observed) => {
      settled.push(observed);
      return Promise.resolve(E.right(undefined));
    },
  })((events) => {
    written.push(...events.map(spell));
    return undefined;
  });
  const [observation] = settled;
  if (observation === undefined) throw new Error('the stream was not settled');
  return { bytes: joined(written), observation };
}

const joined = (written: readonly (string | Uint8Array)[]): Buffer =>
  Buffer.concat(written.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));

/** An upstream's stream without a network. */
const streamReply = (
  run: Run<Buffer, StreamEvent<JsonObject>>,
  pieces: readonly Buffer[],
): UpstreamReply & { kind: 'stream' } => ({
  kind: 'stream',
  status: 200,
  endWithin: () => undefined,
  forward: async (pass) => {
    for (const events of eventsOf(run, pieces)) {
      const chunks = events.filter((event) => event.kind === 'chunk');
      if (chunks.length > 0) await pass(chunks);
      const end = events.find((event) => event.kind !== 'chunk');
      if (end !== undefined) return end;
    }
    throw new Error('the stream has no end');
  },
});

function* eventsOf(
  run: Run<Buffer, StreamEvent<JsonObject>>,
  pieces: readonly Buffer[],
): Generator<readonly StreamEvent<JsonObject>[]> {
  for (const piece of pieces) yield run.push(piece);
  yield run.end({ kind: 'eof' });
}

/**
 * A non-streamed sample as its caller receives it; `inputs` is the number of texts in each exchange of an
 * embeddings call.
 */
export function replayWhole(
  sample: Sample<unknown>,
  caller: CallerFamily,
  inputs = 1,
): Either<UpstreamFault, Replayed> {
  const { path, upstream, call } = wayOf(sample, caller, false);
  const dialect = dialectFor(upstream, call);
  const { body } = sample;
  const decoded: Either<UpstreamFault, WholeAnswer> =
    'decode' in dialect ? dialect.decode(body, call) : dialect.decodeMany([{ body, inputs }], call);
  return E.chain((answer: WholeAnswer) => {
    const { text, observation } = callerAnswer(path, answer);
    return E.map((said: WholeAnswer['text']): Replayed => ({ bytes: joined([said]), observation }))(text);
  })(decoded);
}
