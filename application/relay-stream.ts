import * as E from 'fp-ts/lib/Either.js';
import type { GatewayError } from '../domain/shared/gateway-error.ts';
import type { JsonObject } from '../domain/shared/json.ts';
import { afterTerminalMs, heldTerminalMs, maxHeldBytes } from '../domain/shared/limits.ts';
import type { StreamChunk, StreamEnd, StreamEvent } from '../domain/shared/stream-event.ts';
import type { StreamPayload } from '../domain/payload/stream-payload.ts';
import type { Run } from '../domain/shared/stream-machine.ts';
import { hasContent } from '../domain/upstream/first-content.ts';
import type { Observation, StreamObserver } from '../domain/upstream/observation.ts';
import type { Departure } from './departure.ts';
import type { AnswerPath, WriteEvents } from './model-request.ts';
import type { Hold, UpstreamReply } from './ports/upstream.ts';

type Chunk = StreamChunk<JsonObject>;
type End = StreamEnd<JsonObject>;

/** A stream's settlement; left is what the caller must be told instead of the end. */
export type SettleStream = (end: End, observation: Observation) => Promise<E.Either<GatewayError, void>>;

export interface Relay {
  readonly path: AnswerPath;
  readonly reply: UpstreamReply & { kind: 'stream' };
  readonly hold: Hold;
  readonly departure: Departure;
  /** Ends the upstream call at once. */
  readonly cancel: () => void;
  /** Sees what the caller is told. */
  readonly payload: StreamPayload;
  /** Told once, when content begins to come. */
  readonly firstContent: () => void;
  readonly settle: SettleStream;
}

/**
 * Passes a stream on as it comes. What ends it is held back until the settlement is committed: whoever received the
 * end is in the ledger. It runs to its end even when the caller has left.
 */
export const relayStream =
  ({ path, reply, hold, departure, cancel, payload, firstContent, settle }: Relay) =>
  async (tell: WriteEvents): Promise<void> => {
    const write: WriteEvents = (events) => {
      for (const event of events) if (event.kind === 'chunk') payload.see(event);
      return tell(events);
    };
    const observer = path.speaks.observer();
    let begun = false;
    const telling = new Telling(path.translation?.stream());
    const last = await reply.forward((chunks) => {
      watch(chunks, observer, departure, reply);
      if (!begun && chunks.some(({ chunk }) => hasContent(path.speaks.family, chunk))) {
        begun = true;
        firstContent();
      }
      const told = telling.chunks(chunks);
      if (telling.end !== undefined || telling.full()) cancel();
      return told.length === 0 ? undefined : write(told);
    }, hold);
    departure.over();
    if (last.kind === 'failed' && last.chunk !== undefined) observer.see(last.chunk);
    const rest = telling.rest(last);
    if (rest.length > 0) await write(rest);
    const end = telling.end ?? last;
    const settled = await settle(end, observer.observed());
    await write(
      E.isLeft(settled) && !isTold(end) ? [{ kind: 'failed', error: settled.left }] : telling.close(end),
    );
  };

/** The upstream's own failure is settled as a failure, and told already. */
const isTold = (end: End): boolean => end.kind === 'failed' && end.alreadyShown === true;

function watch(
  chunks: readonly Chunk[],
  observer: StreamObserver,
  departure: Departure,
  reply: Relay['reply'],
): void {
  for (const { chunk, terminal, held, failing } of chunks) {
    observer.see(chunk);
    if (terminal && departure.answered()) reply.endWithin(held === true ? heldTerminalMs : afterTerminalMs);
    // The upstream has told its failure: who hangs up on it has not left early.
    if (failing === true && departure.answered()) reply.endWithin(heldTerminalMs);
  }
}

/** What the caller is told of a stream, and when: translated where that is needed, a held chunk and its followers last. */
class Telling {
  /** An end that the translation came to by itself. */
  end: End | undefined;
  private readonly translation: Run<StreamEvent<JsonObject>, StreamEvent<JsonObject>> | undefined;
  private readonly held: Chunk[] = [];
  private heldBytes = 0;

  constructor(translation: Run<StreamEvent<JsonObject>, StreamEvent<JsonObject>> | undefined) {
    this.translation = translation;
  }

  chunks(chunks: readonly Chunk[]): readonly Chunk[] {
    return this.translation === undefined ? this.withoutHeld(chunks) : this.translated(chunks);
  }

  /** What is left to be told before the settlement. */
  rest(last: End): readonly Chunk[] {
    return this.translation === undefined ? [] : this.translated([last]);
  }

  /** No more can be held: the upstream is not listened to any longer. */
  full(): boolean {
    return this.heldBytes > maxHeldBytes;
  }

  /** What is told once it is settled: what completes the answer, or what of it does not. */
  close(end: End): readonly StreamEvent<JsonObject>[] {
    return [...(end.kind === 'done' ? this.held : this.held.filter(({ held }) => held !== true)), end];
  }

  private translated(events: readonly StreamEvent<JsonObject>[]): readonly Chunk[] {
    const told: Chunk[] = [];
    for (const event of events) {
      if (this.end !== undefined) break;
      for (const each of this.translation?.push(event) ?? []) {
        if (each.kind === 'chunk') told.push(each);
        else this.end = each;
      }
    }
    return this.withoutHeld(told);
  }

  /** From the first held chunk on nothing leaves: the order stays, and nobody has the answer before it is settled. */
  private withoutHeld(chunks: readonly Chunk[]): readonly Chunk[] {
    const from = this.held.length > 0 ? 0 : chunks.findIndex(({ held }) => held === true);
    if (from < 0) return chunks;
    for (const chunk of chunks.slice(from)) {
      if (this.held.length > 0) this.heldBytes += chunk.wire?.length ?? 0;
      this.held.push(chunk);
    }
    return chunks.slice(0, from);
  }
}
