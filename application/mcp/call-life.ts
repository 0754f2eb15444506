import type { McpError } from '../../domain/mcp/mcp-error.ts';
import type { CallerLink } from '../model-request.ts';

/** What changes about a call while it is served: whether its answer is still awaited, and whether it has ended. */
export class CallLife {
  private readonly upstream = new AbortController();
  private whyLost: McpError | undefined;
  private isOver = false;

  constructor(link: CallerLink) {
    link.whenLost((why) => this.lose(why === 'client_closed' ? left : cutOff));
  }

  /** Why nobody waits for the answer any more. */
  get lost(): McpError | undefined {
    return this.whyLost;
  }

  /** Whether it has its answer, or will get none. */
  get hasEnded(): boolean {
    return this.isOver;
  }

  /** Aborts whatever is under way upstream. */
  get signal(): AbortSignal {
    return this.upstream.signal;
  }

  lose(why: McpError): void {
    if (this.whyLost !== undefined) return;
    this.whyLost = why;
    this.abort();
  }

  abort(): void {
    this.upstream.abort();
  }

  /** Ends it. Returns whether this is the first end, the only one that counts. */
  end(): boolean {
    const isFirst = !this.isOver;
    this.isOver = true;
    return isFirst;
  }
}

const left: McpError = { code: 'client_closed', message: 'The caller has left.' };
const cutOff: McpError = {
  code: 'shutting_down',
  message: 'The gateway is shutting down and has cut this call off; try again.',
};
