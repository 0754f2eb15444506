import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type McpError, sessionEnded } from '../../domain/mcp/mcp-error.ts';
import { isObject, isString, type JsonObject, objectsOf } from '../../domain/shared/json.ts';
import type { AnswerMemory } from '../ports/mcp-upstreams.ts';
import {
  abandonSession,
  beginSession,
  callServer,
  newestRevision,
  noResult,
  type ServerCall,
  type UnionServersPorts,
  unionWaitMs,
} from './union-servers.ts';

/** The most pages of one list that are requested: enough for more than a thousand tools. */
const maxPages = 20;

/** The most items of one kind that are taken from one server; agents cannot cope with a hundredth of it. */
const maxListed = 10_000;

/** Once the pages take this much memory, as text and parsed, no further page is requested. */
const maxListedBytes = 16 * 1024 * 1024;

/** A cursor is sent back as it came, up to this length; real ones are numbers and ids. */
const maxCursorChars = 4096;

/** The list methods of servers, and the member of the result that holds the list. */
export const listedMembers = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const;

export type ListMethod = keyof typeof listedMembers;

export interface ListCall extends Omit<ServerCall, 'params' | 'withinMs'> {
  readonly method: ListMethod;
}

/**
 * Lists everything of one kind on a server. If the server has ended the session, as after a restart, it is listed in a
 * new session, which is closed afterwards: the caller's session id has no room for it, and leads to a new one with the
 * next call.
 */
export async function listAll(
  ports: UnionServersPorts,
  serverCall: ListCall,
): Promise<Either<McpError, readonly JsonObject[]>> {
  const listed = await listIn(ports, serverCall);
  if (E.isRight(listed) || listed.left !== sessionEnded) return listed;
  const { revision = newestRevision } = serverCall.session;
  const begun = await beginSession(ports, serverCall, revision);
  if (E.isLeft(begun)) return begun;
  const again = { ...serverCall, session: begun.right.session };
  const anew = await listIn(ports, again);
  abandonSession(ports, again);
  return anew;
}

/**
 * Reads the list page by page, within the timeout of one answer. Left when a page is missing. A server that ignores
 * cursors returns its first page again with the same cursor, which ends the list.
 */
async function listIn(
  ports: UnionServersPorts,
  serverCall: ListCall,
): Promise<Either<McpError, readonly JsonObject[]>> {
  const { clock } = ports;
  const until = clock.now() + unionWaitMs;
  const all: JsonObject[] = [];
  const { memory, heldBytes } = counted(serverCall.memory);
  let cursor: string | undefined;
  for (let page = 0; page < maxPages && heldBytes() < maxListedBytes; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const withinMs = Math.max(1, until - clock.now());
    const answered = await callServer(ports, { ...serverCall, params, withinMs, memory });
    if (E.isLeft(answered)) return answered;
    const { result } = answered.right;
    if (!isObject(result)) return E.left(noResult(serverCall.method, 200));
    for (const item of objectsOf(result[listedMembers[serverCall.method]])) {
      if (all.length >= maxListed) return E.right(all);
      all.push(item);
    }
    const next = result['nextCursor'];
    if (!isString(next) || next === '' || next === cursor || next.length > maxCursorChars) break;
    cursor = next;
  }
  return E.right(all);
}

function counted({ hold, holdUnfinished }: AnswerMemory) {
  let held = 0;
  const memory: AnswerMemory = {
    hold: (bytes) => {
      held += bytes;
      return hold(bytes);
    },
    holdUnfinished,
  };
  return { memory, heldBytes: () => held };
}
