/** The longest wait for another collector's batch: one with about thirty requests has finished by then. */
const maxTurnMs = 8;

/** A batch in progress. */
export interface BatchTurn {
  readonly end: () => void;
}

/**
 * Coordinates the batches of several collectors that write to different servers. A statement costs its server much the
 * same however few requests share it, so requests also gather while a batch is in progress on another server, as they
 * would with a single server. A slow batch holds nobody up for long: a server that is away must not delay the others.
 */
export class BatchTurns {
  /** The start of each batch in progress. */
  private readonly began = new Map<BatchTurn, number>();
  /** Wake-up callbacks of waiting collectors, in order of arrival. */
  private readonly waiting = new Map<() => void, NodeJS.Timeout>();

  /** Whether a batch whose first item was added at `addedAt` may begin now; if not, `wake` is called when it may. */
  mayBegin(addedAt: number, wake: () => void): boolean {
    const left = Math.min(addedAt, this.lastBegan()) + maxTurnMs - performance.now();
    if (left <= 0) return true;
    if (!this.waiting.has(wake))
      this.waiting.set(
        wake,
        setTimeout(() => this.wake(wake), Math.ceil(left)),
      );
    return false;
  }

  begin(): BatchTurn {
    const turn = { end: () => this.end(turn) };
    this.began.set(turn, performance.now());
    return turn;
  }

  private end(turn: BatchTurn): void {
    this.began.delete(turn);
    for (const wake of this.waiting.keys()) {
      if (this.lastBegan() + maxTurnMs > performance.now()) return;
      this.wake(wake);
    }
  }

  private lastBegan(): number {
    return Math.max(Number.NEGATIVE_INFINITY, ...this.began.values());
  }

  private wake(wake: () => void): void {
    clearTimeout(this.waiting.get(wake));
    this.waiting.delete(wake);
    wake();
  }
}
