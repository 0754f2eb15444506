import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { Dispatcher } from 'undici';
import type { Decompression } from '../../application/ports/decompression.ts';
import { sharedText } from '../../application/ports/shared-text.ts';
import type { Hold, UpstreamReply, WholeAnswer } from '../../application/ports/upstream.ts';
import { withoutMark } from '../../domain/shared/byte-order-mark.ts';
import { contentCodingOf } from '../../domain/shared/content-coding.ts';
import { addFragment } from '../../domain/shared/fragments.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { maxUpstreamBodyBytes, maxUpstreamErrorBytes } from '../../domain/shared/limits.ts';
import type { StreamEnd, StreamEvent } from '../../domain/shared/stream-event.ts';
import type { Run } from '../../domain/shared/stream-machine.ts';
import {
  answeredWith,
  headersOnError,
  type UpstreamFault,
  used,
} from '../../domain/upstream/upstream-fault.ts';
import { askedWait, codeLabels, upstreamFailure } from '../../domain/upstream/upstream-words.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { decompress } from './decompression.ts';
import { errorIn } from './error-body.ts';
import { endingOf, transportFault } from './transport-fault.ts';
import { Forwarding } from './forwarding.ts';
import type { ConnectedProvider, ProviderContext, WrittenRequest } from './provider.ts';
import { fitsEventLoop } from './event-loop-limits.ts';

type Controller = Dispatcher.DispatchController;
type Head = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** After the last event, the response has this long to end by itself, so that its connection can be reused. */
const lingerMs = 1000;

/** What an exchange needs to know about its call. */
export interface ExchangeOptions {
  readonly stream: boolean;
  readonly decode: (body: Buffer) => Either<UpstreamFault, WholeAnswer>;
  /** A large answer is handed on undecoded, to be read in a worker thread. */
  readonly mayBeLarge?: boolean;
  readonly events?: (contentType: string) => Run<Buffer, StreamEvent<JsonObject>> | undefined;
  readonly sanitise: ProviderContext['sanitise'];
  readonly errorCode?: ConnectedProvider['errorCode'];
  readonly deadlines: Deadlines;
  readonly firstByteMs: number;
  readonly totalMs: number;
  /** Accounts for the buffered bytes of an answer that is not a stream. */
  readonly hold: Hold;
}

/** Sends one request of a call, and returns its exchange. */
export type Sender = (
  request: WrittenRequest,
  options: Pick<ExchangeOptions, 'stream' | 'mayBeLarge' | 'decode' | 'events'>,
) => Exchange;

/**
 * One HTTP exchange with an upstream, from dispatch to the last byte. Nothing that the upstream does throws: `reply`
 * settles once, and a stream ends with `done` or `failed`.
 */
export class Exchange implements Dispatcher.DispatchHandler, Timed {
  readonly reply: Promise<Either<UpstreamFault, UpstreamReply>>;
  deadlineAt = Number.POSITIVE_INFINITY;
  private lateAt = Number.POSITIVE_INFINITY;
  private readonly totalAt: number;
  private readonly options: ExchangeOptions;
  private answer: (reply: Either<UpstreamFault, UpstreamReply>) => void = () => undefined;
  private controller: Controller | undefined;
  private sentAt = 0;
  private status = 0;
  private head: Head = {};
  private stream: Forwarding | undefined;
  private decompression: Decompression | undefined;
  /** What the exchange ends with, once all bytes received are decompressed. */
  private closing: UpstreamFault | undefined;
  private arrived = 0;
  private chunks: Uint8Array[] = [];
  private bytes = 0;
  private readonly forgetDeadline: () => void;
  private ended = false;
  private lingering = false;

  constructor(options: ExchangeOptions) {
    this.options = options;
    this.totalAt = performance.now() + options.totalMs;
    this.reply = new Promise((resolve) => {
      this.answer = resolve;
    });
    this.forgetDeadline = options.deadlines.add(this);
  }

  accepted(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  private refused(): boolean {
    return this.status > 0 && !this.accepted();
  }

  cancel(): void {
    this.stop({ kind: 'transport' });
  }

  endWithin(milliseconds: number): void {
    this.deadlineAt = Math.min(this.deadlineAt, performance.now() + milliseconds);
  }

  /** The time in which an upstream is not read, because its caller has no room, is not the upstream's. */
  get endAt(): number {
    return Math.min(this.lateAt, this.totalAt + (this.stream?.waitedMs() ?? 0));
  }

  expire(): void {
    const now = performance.now();
    const isOver = Math.min(this.deadlineAt, this.totalAt) <= now;
    // An upstream that is not read is not late with its end.
    if (this.deadlineAt > now && this.stream?.isWaiting() === true) this.lateAt = now + lingerMs;
    else this.stop({ kind: 'timeout', phase: isOver || this.status > 0 ? 'total' : 'first_byte' });
  }

  /** Ends the exchange, and aborts its connection unless the response has ended. Nothing that still arrives is read. */
  stop(fault: UpstreamFault | undefined): void {
    this.finish(fault);
    this.controller?.abort(new Error(fault?.kind ?? 'enough'));
  }

  onRequestStart(controller: Controller): void {
    this.controller = controller;
    this.sentAt = performance.now();
    if (this.ended) controller.abort(new Error('cancelled'));
  }

  onResponseStart(_controller: Controller, status: number, head: Head): void {
    if (this.ended) return;
    // undici restarts its timeout at each informational (1xx) response, so this bounds the wait as a whole.
    this.lateAt = status < 200 ? this.sentAt + this.options.firstByteMs : Number.POSITIVE_INFINITY;
    if (status < 200) return;
    this.status = status;
    this.head = head;
    const { events, stream } = this.options;
    const coding = codingOf(head);
    if (coding === undefined) return;
    if (coding !== 'identity')
      this.decompression = decompress(coding, {
        take: (piece) => this.take(piece),
        over: (whole) => this.stop(this.closing ?? (whole || this.refused() ? undefined : notDecoded)),
        full: () => this.controller?.pause(),
        room: () => this.controller?.resume(),
      });
    const run = this.accepted() && stream ? events?.(headValue(head, 'content-type')) : undefined;
    if (run === undefined) return;
    const forwarding = new Forwarding(run, {
      pause: () => (this.decompression ?? this.controller)?.pause(),
      resume: () => (this.decompression ?? this.controller)?.resume(),
      ended: (end) => this.letGo(end),
    });
    this.stream = forwarding;
    const forward: Forwarding['forward'] = (pass, hold) => forwarding.forward(pass, hold);
    const endWithin = (milliseconds: number) => void (this.lateAt = performance.now() + milliseconds);
    this.answer(E.right({ kind: 'stream', status, forward, endWithin }));
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    if (this.ended || this.lingering) return;
    if (this.decompression === undefined) return this.take(chunk);
    this.arrived += chunk.length;
    // A compressed answer can go on without producing any output.
    if (this.stream === undefined && this.arrived > maxUpstreamBodyBytes) this.stop(tooLarge);
    else this.decompression.write(chunk);
  }

  private take(chunk: Buffer): void {
    if (this.ended || this.lingering) return;
    if (this.stream !== undefined) return this.stream.push(chunk);
    addFragment(this.chunks, chunk);
    this.bytes += chunk.length;
    if (!this.accepted() || this.options.stream) {
      // This body is only read for its error message.
      if (this.bytes > maxUpstreamErrorBytes) this.stop(undefined);
    } else if (this.bytes > maxUpstreamBodyBytes) this.stop(tooLarge);
    else if (this.options.hold(this.bytes) !== undefined) this.letGoOfAnswer();
  }

  /** Frees the buffered answer at once, because other answers that arrive at the same time need the room. */
  private letGoOfAnswer(): void {
    this.chunks = [];
    this.options.hold(0);
    this.stop({ kind: 'no_room' });
  }

  onResponseEnd(): void {
    this.close(undefined);
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.close(transportFault(error));
  }

  /**
   * No more bytes will arrive; those that did are decompressed first. An answer with an error status is reported by
   * that status, however its body ended.
   */
  private close(fault: UpstreamFault | undefined): void {
    if (this.ended) return;
    const ending = this.refused() ? undefined : fault;
    if (this.decompression === undefined || this.lingering) return this.finish(ending);
    this.closing = ending;
    this.decompression.end();
  }

  private finish(fault: UpstreamFault | undefined): void {
    if (this.ended) return;
    this.ended = true;
    this.decompression?.cancel();
    this.forgetDeadline();
    if (this.stream !== undefined) this.stream.end(endingOf(fault));
    else this.answer(fault === undefined ? this.wholeReply() : E.left(this.afterHead(fault)));
  }

  /**
   * Called after the last event. The connection of a failed stream is aborted. A complete response may run to its end,
   * so that its connection can be reused.
   */
  private letGo({ kind }: StreamEnd<JsonObject>): void {
    if (this.ended) return;
    if (kind === 'failed') return this.stop({ kind: 'transport' });
    this.lingering = true;
    this.lateAt = performance.now() + lingerMs;
  }

  private wholeReply(): Either<UpstreamFault, UpstreamReply> {
    return pipe(
      this.whole(),
      E.mapLeft((fault) => this.afterHead(fault)),
    );
  }

  private afterHead(fault: UpstreamFault): UpstreamFault {
    return this.status > 0 ? answeredWith(this.status, fault) : fault;
  }

  private whole(): Either<UpstreamFault, UpstreamReply> {
    const pieces = withoutMark(this.chunks);
    this.chunks = [];
    const isRead = codingOf(this.head) !== undefined;
    if (this.options.mayBeLarge && this.accepted() && isRead && !fitsEventLoop(pieces))
      return E.right({
        kind: 'large',
        status: this.status,
        parts: [{ text: sharedText(pieces), inputs: 1 }],
      });
    const body = Buffer.concat(pieces);
    if (!this.accepted()) return E.left(this.refusal(body));
    if (!isRead) return E.left(unreadCoding);
    if (this.options.stream) return E.left(this.notAStream(body));
    const decoded = this.options.decode(body);
    if (E.isLeft(decoded)) return decoded;
    return E.right({ kind: 'whole', status: this.status, answer: decoded.right });
  }

  private refusal(body: Buffer): UpstreamFault {
    const { sanitise, errorCode } = this.options;
    const reported = errorIn(body);
    const failure = upstreamFailure(reported, `The upstream answered with status ${this.status}.`, sanitise);
    const wait = askedWait(reported);
    return {
      kind: 'status',
      status: this.status,
      ...codeLabels(errorCode?.(this.head), sanitise),
      ...failure,
      headers: {
        ...(wait === undefined ? {} : { 'retry-after': wait }),
        ...headersOnError(this.head, sanitise),
      },
    };
  }

  /** A whole answer is a failure here, but the upstream may bill for it, so its usage is kept. */
  private notAStream(body: Buffer): UpstreamFault {
    const { decode, sanitise } = this.options;
    const decoded = decode(body);
    const usage = E.isRight(decoded) ? decoded.right.value['usage'] : decoded.left.usage;
    const otherwise = 'The upstream answered a streamed request with something else.';
    return { kind: 'protocol', ...upstreamFailure(errorIn(body), otherwise, sanitise), ...used(usage) };
  }
}

const malformed = (message: string): UpstreamFault => ({ kind: 'protocol', message });
const tooLarge = malformed('The upstream sent an answer that is too large.');
const unreadCoding = malformed('The upstream compressed its answer in a way that the gateway does not read.');
const notDecoded = malformed('The upstream sent an answer that is not compressed as it says.');

const headValue = (head: Head, name: string): string => String(head[name] ?? '').toLowerCase();
/** Some upstreams compress although the gateway sends `accept-encoding: identity`. */
const codingOf = (head: Head) => contentCodingOf(headValue(head, 'content-encoding'));
