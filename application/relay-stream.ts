import * as E from 'fp-ts/lib/Either.js';
import type { GatewayError } from '../domain/shared/gateway-error.ts';
import type { JsonObject } from '../domain/shared/json.ts';
import { afterTerminalMs, heldTerminalMs, maxHeldBytes } from '../domain/shared/limits.ts';
import type { StreamChunk, StreamEnd, StreamEvent } from '../domain/shared/stream-event.ts';
import type { StreamPayload } from '../domain/payload/stream-payload.ts';
import type { Run } from '../domain/shared/stream-machine.ts';
import { hasContent } from '../domain/upstream/first-content.ts';
import type { Observation, StreamObserver } from '../domain/upstream/observation.ts';
import type { ClientDisconnect } from './client-disconnect.ts';
import type { AnswerPath, WriteEvents } from './model-request.ts';
import type { Hold, UpstreamReply } from './ports/upstream.ts';

type Chunk = StreamChunk<JsonObject>;
type LastEvent = StreamEnd<JsonObject>;
type Translating = Run<StreamEvent<JsonObject>, StreamEvent<JsonObject>>;

/** A stream's settlement; left is what the caller must be told instead of the last event. */
export type SettleStream = (
  last: LastEvent,
  observation: Observation,
) => Promise<E.Either<GatewayError, void>>;

export interface Relay {
  readonly path: AnswerPath;
  readonly reply: UpstreamReply & { kind: 'stream' };
  readonly hold: Hold;
  readonly disconnect: ClientDisconnect;
  /** Ends the upstream call at once. */
  readonly cancel: () => void;
  /** Sees the events that go to the caller. */
  readonly payload: StreamPayload;
  /** Called once, when content begins to come. */
  readonly firstContent: () => void;
  readonly settle: SettleStream;
}

/**
 * Passes a stream on as it comes. What ends it is held back until the settlement is committed: whoever received the
 * end is in the ledger. It runs to its end even when the caller has left, so that it is settled.
 */
export const relayStream =
  ({ path, reply, hold, disconnect, cancel, payload, firstContent, settle }: Relay) =>
  async (writeToCaller: WriteEvents): Promise<void> => {
    const write: WriteEvents = (events) => {
      for (const event of events) if (event.kind === 'chunk') payload.see(event);
      return writeToCaller(events);
    };
    const observer = path.speaks.observer();
    let begun = false;
    const outbound = new OutboundStream(path.translation?.stream());
    const last = await reply.forward((chunks) => {
      watch(chunks, observer, disconnect, reply);
      if (!begun && chunks.some(({ chunk }) => hasContent(path.speaks.family, chunk))) {
        begun = true;
        firstContent();
      }
      const ready = outbound.chunks(chunks);
      if (outbound.end !== undefined || outbound.isFull()) cancel();
      return ready.length === 0 ? undefined : write(ready);
    }, hold);
    disconnect.over();
    if (last.kind === 'failed' && last.chunk !== undefined) observer.see(last.chunk);
    const rest = outbound.rest(last);
    if (rest.length > 0) await write(rest);
    const end = outbound.end ?? last;
    const settled = await settle(end, observer.observed());
    await write(
      E.isLeft(settled) && !hasItsWords(end)
        ? [{ kind: 'failed', error: settled.left }]
        : outbound.afterSettlement(end),
    );
  };

/** The caller has the upstream's own words for the failure: a second failure behind them would be one too many. */
const hasItsWords = (end: LastEvent): boolean => end.kind === 'failed' && end.alreadyShown === true;

/** Reads usage and tool calls beside the stream, and sees when its answer is complete or has failed. */
function watch(
  chunks: readonly Chunk[],
  observer: StreamObserver,
  disconnect: ClientDisconnect,
  reply: Relay['reply'],
): void {
  for (const { chunk, terminal, reopens, held, failing } of chunks) {
    observer.see(chunk);
    if (terminal && disconnect.answered()) reply.endWithin(held === true ? heldTerminalMs : afterTerminalMs);
    if (reopens === true && disconnect.goesOn()) reply.endWithin(Number.POSITIVE_INFINITY);
    // Whoever hangs up on a failure that the upstream has told has not left early: there is nothing to wait for.
    if (failing === true && disconnect.answered()) reply.endWithin(heldTerminalMs);
  }
}

/** What goes to the caller before the settlement, and what waits for it: a held chunk, and all that follows one. */
class OutboundStream {
  /** An end that the translation came to by itself. */
  end: LastEvent | undefined;
  private readonly translation: Translating | undefined;
  private readonly held: Chunk[] = [];
  private heldBytes = 0;

  constructor(translation: Translating | undefined) {
    this.translation = translation;
  }

  chunks(chunks: readonly Chunk[]): readonly Chunk[] {
    return this.translation === undefined ? this.withoutHeld(chunks) : this.translated(chunks);
  }

  /** What the last event of the upstream adds before the settlement. */
  rest(last: LastEvent): readonly Chunk[] {
    return this.translation === undefined ? [] : this.translated([last]);
  }

  /** No more can be held: the upstream need not be listened to any longer. */
  isFull(): boolean {
    return this.heldBytes > maxHeldBytes;
  }

  /** All that waited, where the answer is complete; of a failed one, what does not make it look complete. */
  afterSettlement(end: LastEvent): readonly StreamEvent<JsonObject>[] {
    return [...(end.kind === 'done' ? this.held : this.held.filter(({ held }) => held !== true)), end];
  }

  private translated(events: readonly StreamEvent<JsonObject>[]): readonly Chunk[] {
    const chunks: Chunk[] = [];
    for (const event of events) {
      for (const each of this.translation?.push(event) ?? []) {
        if (each.kind === 'chunk') chunks.push(each);
        else this.end = each;
      }
    }
    return this.withoutHeld(chunks);
  }

  /** From the first held chunk on nothing leaves: the order stays, and nobody has the answer before it is settled. */
  private withoutHeld(chunks: readonly Chunk[]): readonly Chunk[] {
    const from = this.held.length > 0 ? 0 : chunks.findIndex(({ held }) => held === true);
    if (from < 0) return chunks;
    for (const chunk of chunks.slice(from)) {
      if (this.held.length > 0) this.heldBytes += bytesOf(chunk);
      this.held.push(chunk);
    }
    return chunks.slice(0, from);
  }
}

/** Of what is spelled anew: about as many as it will take. */
const bytesOf = ({ wire, chunk }: Chunk): number => wire?.length ?? JSON.stringify(chunk).length;
