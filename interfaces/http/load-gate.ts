import type { HeldMemory } from '../../application/model-request.ts';

/** The resources that one request holds. Released when it ends, except for memory that is kept for longer. */
export interface Lease extends HeldMemory {
  /**
   * Names the owner of the request, before it holds anything. False when that owner has as many in flight as allowed.
   */
  readonly belongsTo: (owner: string) => boolean;
  /** Gives back bytes before the request ends, because what they were reserved for was dropped. */
  readonly giveBack: (bytes: number) => void;
  readonly release: () => void;
}

export interface LoadLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerOwner: number;
  readonly maxBufferedBytes: number;
}

/** The load of one owner, over all of its requests. */
interface OwnerLoad {
  requests: number;
  bytes: number;
}

/**
 * At most `server.max_in_flight` requests and `server.max_buffered_bytes` bytes. One owner has at most its share of the
 * requests (`server.max_in_flight_per_owner`). The last part of the buffer, as large as the same share of the bytes, is
 * closed to an owner that holds more than its share in several requests. So no owner can fill the buffer for all
 * others, and yet one large body always fits.
 */
export function loadGate(limits: LoadLimits) {
  const all: Load = { limits, owners: new Map(), inFlight: 0, buffered: 0 };
  return {
    inFlight: (): number => all.inFlight,
    enter: (): Lease | undefined => {
      if (all.inFlight >= limits.maxInFlight) return undefined;
      all.inFlight += 1;
      return new RequestLease(all);
    },
  };
}

export type LoadGate = ReturnType<typeof loadGate>;

/** The load of all requests. */
interface Load {
  readonly limits: LoadLimits;
  readonly owners: Map<string, OwnerLoad>;
  inFlight: number;
  buffered: number;
}

class RequestLease implements Lease {
  private readonly all: Load;
  private owner: { readonly key: string; readonly load: OwnerLoad } | undefined;
  private bytes = 0;
  private unfinished = 0;
  private keepers = 1;

  constructor(all: Load) {
    this.all = all;
  }

  readonly belongsTo = (key: string): boolean => {
    const load = this.all.owners.get(key) ?? { requests: 0, bytes: 0 };
    if (load.requests >= this.all.limits.maxInFlightPerOwner) return false;
    load.requests += 1;
    this.all.owners.set(key, load);
    this.owner = { key, load };
    return true;
  };

  readonly hold = (bytes: number): boolean => {
    if (!this.hasRoomFor(bytes)) return false;
    this.add(bytes);
    return true;
  };

  readonly holdUnfinished = (bytes: number): boolean => {
    // An upstream may still be drained after its request has ended.
    if (this.keepers === 0) return true;
    const more = bytes - this.unfinished;
    if (more > 0 && !this.hasRoomFor(more)) return false;
    this.add(more);
    this.unfinished = bytes;
    return true;
  };

  readonly giveBack = (bytes: number): void => {
    if (this.keepers > 0) this.add(-bytes);
  };

  readonly heldBytes = (): number => this.bytes;

  readonly keep = (): (() => void) => {
    this.keepers += 1;
    return once(() => this.letGo());
  };

  readonly release = once(() => {
    this.all.inFlight -= 1;
    if (this.owner !== undefined) this.owner.load.requests -= 1;
    this.letGo();
  });

  private hasRoomFor(bytes: number): boolean {
    const { limits, buffered } = this.all;
    if (buffered + bytes > limits.maxBufferedBytes) return false;
    if (this.owner === undefined) return true;
    const share = (limits.maxBufferedBytes * limits.maxInFlightPerOwner) / limits.maxInFlight;
    const own = this.owner.load.bytes;
    const isOverShare = own > this.bytes && own + bytes > share;
    return !isOverShare || buffered + bytes <= limits.maxBufferedBytes - share;
  }

  private add(bytes: number): void {
    this.all.buffered += bytes;
    this.bytes += bytes;
    if (this.owner !== undefined) this.owner.load.bytes += bytes;
  }

  private letGo(): void {
    this.keepers -= 1;
    if (this.keepers > 0) return;
    this.add(-this.bytes);
    if (this.owner === undefined) return;
    const { key, load } = this.owner;
    // The map may by now hold a newer entry of the same owner, created after this one was deleted.
    const isOver = load.requests === 0 && load.bytes === 0;
    if (isOver && this.all.owners.get(key) === load) this.all.owners.delete(key);
  }
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}
