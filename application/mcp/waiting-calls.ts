import type { McpMessage } from '../../domain/mcp/message.ts';
import { isId } from '../../domain/mcp/message-id.ts';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import { awaitedId, type McpCall } from './mcp-call.ts';
import type { McpAnswer, McpRequest } from './mcp-request.ts';

const cancelled: McpError = { code: 'cancelled', message: 'The caller has cancelled the call.' };

/** Requests that wait for their answer in this process, so that a cancellation can end the one that it names. */
export interface WaitingCalls {
  /** Runs a call, which can be cancelled until its answer has ended. */
  readonly during: (call: McpCall, run: () => Promise<McpAnswer>) => Promise<McpAnswer>;
  /** Ends the call that the message cancels; a message that cancels nothing is ignored. */
  readonly cancel: (request: McpRequest, message: McpMessage) => void;
}

export const isCancellation = (
  message: McpMessage,
): message is Extract<McpMessage, { readonly kind: 'notification' }> =>
  message.kind === 'notification' && message.method === 'notifications/cancelled';

export function waitingCalls(): WaitingCalls {
  /** The calls of one id, in the order in which they arrived. */
  const waiting = new Map<string, readonly McpCall[]>();
  const waitingAs = (key: string): readonly McpCall[] => waiting.get(key) ?? [];
  return {
    during: async (call, run) => {
      const id = awaitedId(call);
      if (id === undefined) return run();
      const key = keyOf(call.request, id);
      waiting.set(key, [...waitingAs(key), call]);
      const release = (): void => {
        const others = waitingAs(key).filter((each) => each !== call);
        if (others.length > 0) waiting.set(key, others);
        else waiting.delete(key);
      };
      let lasts = false;
      try {
        const answer = await run();
        lasts = answer.kind === 'events';
        return answer.kind === 'events' ? { ...answer, events: thenRelease(answer.events, release) } : answer;
      } finally {
        if (!lasts) release();
      }
    },
    cancel: (request, message) => {
      if (!isCancellation(message)) return;
      const { requestId } = message.params;
      if (!isId(requestId)) return;
      const named = waitingAs(keyOf(request, requestId));
      // Clients without a session that share a key count their requests alike: another's must not end.
      if (request.session === undefined && named.length > 1) return;
      named.at(-1)?.life.lose(cancelled);
    },
  };
}

/** A caller can only name its own requests, and only those of the same session. */
const keyOf = ({ caller, serverId, session }: McpRequest, id: string | number): string =>
  JSON.stringify([caller.apiKeyId, serverId, session, id]);

async function* thenRelease<A>(events: AsyncIterable<A>, release: () => void): AsyncGenerator<A> {
  try {
    yield* events;
  } finally {
    release();
  }
}
