import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { Caller } from '../../domain/identity/caller.ts';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import { mayUseServer } from '../../domain/mcp/server-policy.ts';
import type { McpServer, McpUpstreams } from '../ports/mcp-upstreams.ts';
import type { McpCall } from './mcp-call.ts';
import type { McpAnswer } from './mcp-request.ts';

export interface LastingPorts {
  readonly upstreams: Pick<McpUpstreams, 'servers'>;
  /** Calls back every two seconds, until the returned function is called. */
  readonly beat: (look: () => void) => () => void;
}

/**
 * Runs an exchange that has no end of its own. It ends once a new request for it would be refused, so that a revocation
 * takes effect within 5 seconds for it, too (rule 54.37).
 */
export async function lasting(
  ports: LastingPorts,
  call: McpCall,
  run: () => Promise<McpAnswer>,
): Promise<McpAnswer> {
  const stop = ports.beat(onceAtATime(() => endIfRefused(ports, call)));
  call.life.signal.addEventListener('abort', stop, { once: true });
  let lasts = false;
  try {
    const answer = await run();
    lasts = answer.kind === 'events';
    return answer;
  } finally {
    if (!lasts) stop();
  }
}

async function endIfRefused({ upstreams }: LastingPorts, call: McpCall): Promise<void> {
  const { authenticateAgain, serverId } = call.request;
  const usable = pipe(
    await authenticateAgain(),
    E.chain((caller) =>
      usableServer(
        upstreams.servers().find(({ id }) => id === serverId),
        caller,
      ),
    ),
  );
  // Without the database this is not known: like all that was sent before it was lost, the stream goes on until it is
  // back.
  if (E.isLeft(usable) && usable.left.code !== 'store_unavailable') call.life.lose(usable.left);
}

/** The server of this name, if it exists and the caller may use it. */
export function usableServer(server: McpServer | undefined, caller: Caller): Either<McpError, McpServer> {
  if (server === undefined)
    return E.left({ code: 'unknown_server', message: 'There is no MCP server of this name.' });
  return mayUseServer(caller, server.policy)
    ? E.right(server)
    : E.left({
        code: 'server_not_allowed',
        message: `This API key may not use the MCP server \`${server.id}\`.`,
      });
}

/** A check may take longer than a beat. */
function onceAtATime(look: () => Promise<void>): () => void {
  let isLooking = false;
  return () => {
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
    });
  };
}
