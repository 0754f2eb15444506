import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { sharedText } from '../../application/ports/shared-text.ts';
import type { UpstreamExecution, UpstreamReply, WholeAnswer } from '../../application/ports/upstream.ts';
import { answeredWith, type UpstreamFault, used } from '../../domain/upstream/upstream-fault.ts';
import type { Exchange, Sender } from './exchange.ts';
import type { PartAnswer } from './provider.ts';
import { fitsEventLoop } from './event-loop-limits.ts';
import type { WrittenCall, WrittenPart } from './written.ts';

/** Concurrent exchanges of one call: enough to hide latency, few enough not to look like a flood to a quota. */
const maxAtOnce = 8;

type Reply = Either<UpstreamFault, UpstreamReply>;

/** Runs one call as several exchanges, a few at a time, and keeps their order. The first fault cancels all of them. */
export function fanOut(
  requests: WrittenCall,
  send: Sender,
  decodeMany: (parts: readonly PartAnswer[]) => Either<UpstreamFault, WholeAnswer>,
): UpstreamExecution {
  const open = new Set<Exchange>();
  let accepted = false;
  let deadlineAt = Number.POSITIVE_INFINITY;
  const cancel = (): void => {
    for (const exchange of open) exchange.cancel();
  };

  const one = async (request: WrittenPart): Promise<Reply> => {
    const exchange = send(request, { stream: false, decode: (body) => E.right({ value: {}, text: body }) });
    // All exchanges together have the total timeout of one.
    deadlineAt = Math.min(deadlineAt, exchange.deadlineAt, exchange.endAt);
    exchange.endWithin(deadlineAt - performance.now());
    open.add(exchange);
    const reply = await exchange.reply;
    open.delete(exchange);
    accepted ||= exchange.accepted();
    return reply;
  };

  return {
    reply: inTurn(requests, one, cancel).then(({ parts, fault }) => {
      if (parts.length === 0 && fault !== undefined) return E.left(fault);
      if (!fitsEventLoop(parts.map(({ body }) => body))) return E.right(large(parts, fault));
      return wholeReply(decodeMany(parts), fault);
    }),
    accepted: () => accepted || [...open].some((exchange) => exchange.accepted()),
    cancel,
    cancelWithin: (milliseconds) => {
      deadlineAt = Math.min(deadlineAt, performance.now() + milliseconds);
      for (const exchange of open) exchange.endWithin(milliseconds);
    },
  };
}

/** The status of a call whose exchanges were all answered. */
const answeredStatus = 200;

/** The result of a call: the answer of all its exchanges, or the fault that ended them with the usage of the others. */
const wholeReply = (read: Either<UpstreamFault, WholeAnswer>, fault: UpstreamFault | undefined): Reply =>
  fault === undefined
    ? pipe(
        read,
        E.bimap(
          (malformed) => answeredWith(answeredStatus, malformed),
          (answer): UpstreamReply => ({ kind: 'whole', status: answeredStatus, answer }),
        ),
      )
    : E.left({ ...fault, ...used(E.isRight(read) ? read.right.value['usage'] : read.left.usage) });

const large = (parts: readonly PartAnswer[], fault: UpstreamFault | undefined): UpstreamReply => ({
  kind: 'large',
  status: answeredStatus,
  parts: parts.map(({ body, inputs }) => ({ text: sharedText([body]), inputs })),
  ...(fault === undefined ? {} : { fault }),
});

/** The answers that arrived, in the order of the requests, and the fault that ended the call before the others. */
interface Answered {
  readonly parts: readonly PartAnswer[];
  readonly fault: UpstreamFault | undefined;
}

async function inTurn(
  requests: WrittenCall,
  one: (request: WrittenPart) => Promise<Reply>,
  cancel: () => void,
): Promise<Answered> {
  const answers: PartAnswer[] = [];
  const waiting = requests.entries();
  let fault: UpstreamFault | undefined;
  const work = async (): Promise<void> => {
    for (const [index, request] of waiting) {
      const reply = await one(request);
      if (E.isRight(reply)) answers[index] = { body: bodyOf(reply.right), inputs: request.inputs };
      else if (fault === undefined) {
        fault = reply.left;
        cancel();
      }
      if (fault !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: maxAtOnce }, work));
  // Failed and unsent requests leave holes.
  return { parts: answers.filter((each) => each !== undefined), fault };
}

const bodyOf = (reply: UpstreamReply): Buffer =>
  reply.kind === 'whole' ? Buffer.from(reply.answer.text as Uint8Array) : Buffer.alloc(0);
