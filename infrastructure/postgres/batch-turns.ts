/** The longest wait for another's batch: one with some thirty requests is over by then. */
const maxTurnMs = 8;

/** A batch under way. */
export interface BatchTurn {
  readonly end: () => void;
}

/**
 * The turns of collectors whose servers are several. A statement costs its server much the same however few requests
 * share it, so requests gather while a batch is under way elsewhere, too, as they would with one server. Nobody waits
 * for a batch that lasts: a server that is away must not hold up the others.
 */
export class BatchTurns {
  /** When each batch under way began. */
  private readonly began = new Map<BatchTurn, number>();
  /** Who is to look again, in the order of their coming. */
  private readonly waiting = new Map<() => void, NodeJS.Timeout>();

  /** Whether a batch may begin now, whose first item was added at `addedAt`; otherwise `wake` is called when it may. */
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
