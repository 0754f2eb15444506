import { StreamedCall } from '../calls/streamed-calls.ts';

/** A tool call as a block of a message that is written while the call arrives. */
export class CallBlock extends StreamedCall {
  readonly kind = 'tool_use';
  /**
   * Arguments that are buffered until the call's block is open or, when they are not an object or an empty one,
   * until it ends.
   */
  held = '';
  /** Arguments were written to the caller. */
  isWritten = false;
  phase: 'new' | 'waiting' | 'open' | 'closed' = 'new';

  /** What was written to the caller stays. */
  override hasEmptyObject(): boolean {
    return super.hasEmptyObject() && !this.isWritten;
  }
}
