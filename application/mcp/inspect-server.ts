import * as E from 'fp-ts/lib/Either.js';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import { isOpenTool } from '../../domain/mcp/server-policy.ts';
import { listedName } from '../../domain/mcp/server-message.ts';
import { unionName } from '../../domain/mcp/tool-names.ts';
import { type Secrets, withoutSecrets } from '../../domain/payload/secrets.ts';
import type { Digest } from '../../domain/shared/digest.ts';
import { elapsedMs } from '../../domain/shared/elapsed.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { Clock } from '../ports/clock.ts';
import type { AnswerMemory, McpServer } from '../ports/mcp-upstreams.ts';
import { firstStateless } from './mcp-request.ts';
import { titleOf } from './tool-titles.ts';
import { listAll } from './server-lists.ts';
import { beginSession, endSession, newestRevision, type UnionServersPorts } from './union-servers.ts';

export interface InspectPorts extends UnionServersPorts {
  readonly clock: Clock;
  readonly digest: Digest;
  /** The credentials of the configuration, which a server may show and an inspection must not. */
  readonly secrets: () => Secrets;
}

/** A tool as its server lists it now. */
export interface InspectedTool {
  readonly name: string;
  readonly title: string | undefined;
  /** Its name at `/mcp`. */
  readonly unionName: string;
  /** Whether everybody who may use the server may use the tool. */
  readonly isOpen: boolean;
}

/** The present state of a server. */
export interface Inspection {
  /** `undefined` when all is well. */
  readonly error: McpError | undefined;
  readonly latencyMs: number;
  /** The protocol revision that was negotiated with it. */
  readonly revision: string | undefined;
  readonly tools: readonly InspectedTool[];
}

/** Memory for all answers of a server: many times the size of its tools. */
const maxInspectedBytes = 16 * 1024 * 1024;

/** An inspection has no caller's request to reserve memory for. */
function roomOf(bytes: number): AnswerMemory {
  let left = bytes;
  return { hold: (more) => (left -= more) >= 0, holdUnfinished: () => true };
}

/** Connects to a server and lists its tools, as for a caller who may use it. */
export const inspectServer =
  (ports: InspectPorts) =>
  async (server: McpServer): Promise<Inspection> => {
    const { clock } = ports;
    const startedAt = clock.now();
    const serverCall = {
      server,
      traceContext: {},
      signal: new AbortController().signal,
      memory: roomOf(maxInspectedBytes),
    };
    const took = (): number => elapsedMs(startedAt, clock.now());
    const begun = await beginSession(ports, serverCall, newestRevision);
    const failed = (error: McpError): Inspection => ({
      error,
      latencyMs: took(),
      revision: undefined,
      tools: [],
    });
    if (E.isLeft(begun) && begun.left.code !== 'upstream_protocol') return failed(begun.left);
    // A server may speak only the revision without sessions, in which a list needs no beginning (rule 54.64).
    const session = E.isRight(begun) ? begun.right.session : { id: undefined, revision: firstStateless };
    const shown = (text: string): string => withoutSecrets(text, ports.secrets());
    const listed = await listAll(ports, { ...serverCall, session, method: 'tools/list' });
    if (E.isLeft(begun) && E.isLeft(listed)) return failed(begun.left);
    const latencyMs = took();
    await endSession(ports, { ...serverCall, session });
    return {
      error: E.isLeft(listed) ? listed.left : undefined,
      latencyMs,
      revision: session.revision === undefined ? undefined : shown(session.revision),
      tools: E.isLeft(listed) ? [] : listed.right.flatMap((tool) => inspected(ports, server, tool, shown)),
    };
  };

function inspected(
  { digest }: InspectPorts,
  server: McpServer,
  tool: JsonObject,
  shown: (text: string) => string,
): readonly InspectedTool[] {
  const name = listedName(tool);
  if (name === undefined) return [];
  const title = titleOf(tool);
  return [
    {
      name: shown(name),
      title: title === undefined ? undefined : shown(title),
      // Made of the name as shown: truncating a long one must leave no partial credential.
      unionName: unionName({ serverId: server.id, tool: shown(name) }, digest),
      isOpen: isOpenTool(server.policy, name),
    },
  ];
}
