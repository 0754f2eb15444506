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

/** Settles a stream; left is what the caller must be told instead of the last event. */
export type SettleStream = (
  last: LastEvent,
  observation: Observation,
) => Promise<E.Either<GatewayError, void>>;

export interface Relay {
  readonly path: AnswerPath;
  readonly reply: UpstreamReply & { kind: 'stream' };
  readonly hold: Hold;
  readonly disconnect: ClientDisconnect;
  /** Aborts the upstream call at once. */
  readonly cancel: () => void;
  /** Records the events that go to the caller. */
  readonly payload: StreamPayload;
  /** Called once, when the first content arrives. */
  readonly firstContent: () => void;
  readonly settle: SettleStream;
}

/**
 * Forwards a stream as it arrives. Its end is held back until the settlement is committed, so that every caller who
 * received the end is in the ledger. It runs to its end even after a client disconnect, so that it is settled.
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

/** The caller already has the failure in the upstream's own words: a second failure must not follow it. */
const hasItsWords = (end: LastEvent): boolean => end.kind === 'failed' && end.alreadyShown === true;

/** Reads usage and tool calls from the stream, and notices when its answer is complete or has failed. */
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
    // A disconnect after a failure that the upstream reported is not early: there is nothing to wait for.
    if (failing === true && disconnect.answered()) reply.endWithin(heldTerminalMs);
  }
}

/**
 * Separates what goes to the caller before the settlement from what waits for it: a held chunk, and all that follow it.
 */
class OutboundStream {
  /** An end that the translation reached by itself. */
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

  /** What the upstream's last event adds before the settlement. */
  rest(last: LastEvent): readonly Chunk[] {
    return this.translation === undefined ? [] : this.translated([last]);
  }

  /** No more can be held back, so there is no point in reading the upstream any further. */
  isFull(): boolean {
    return this.heldBytes > maxHeldBytes;
  }

  /** All that was held back, when the answer is complete; after a failure, only what does not make it look complete. */
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

  /**
   * From the first held chunk on, all chunks are held, to keep the order: nobody may have the answer before it is
   * settled.
   */
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

/** For a chunk that is serialized again, about the bytes that it will take. */
const bytesOf = ({ wire, chunk }: Chunk): number => wire?.length ?? JSON.stringify(chunk).length;
