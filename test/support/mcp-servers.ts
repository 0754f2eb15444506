import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  type EventStore,
  StreamableHTTPServerTransport,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { freePort } from './free-port.ts';

/** A running server, with its MCP endpoint. */
export interface RunningServer {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

const packages = createRequire(import.meta.url);

/** The file that starts a published server. */
const entryOf = (name: string): string =>
  path.join(path.dirname(packages.resolve(`${name}/package.json`)), 'dist', 'index.js');

export async function listening(
  answer: RequestListener,
): Promise<RunningServer & { readonly server: Server }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    server,
    url: `http://127.0.0.1:${port}/mcp`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** `@modelcontextprotocol/server-everything`, which serves Streamable HTTP itself. */
export async function everythingServer(): Promise<RunningServer> {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [entryOf('@modelcontextprotocol/server-everything'), 'streamableHttp'],
    {
      env: { PATH: process.env['PATH'], PORT: String(port) },
      stdio: 'ignore',
    },
  );
  await untilListening(port);
  return { url: `http://127.0.0.1:${port}/mcp`, stop: () => ended(child) };
}

async function untilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 800; tries += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`).catch(() => undefined);
    if (answer !== undefined) return answer.body?.cancel();
    await sleep(50);
  }
  throw new Error('the server did not begin');
}

async function ended(child: ChildProcess): Promise<void> {
  // A process that has already ended emits no second event.
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill();
  await exited;
}

/** A published server that uses standard streams, behind Streamable HTTP, with one process per session. */
export function stdioServer(name: string, args: readonly string[] = []): Promise<RunningServer> {
  return sessionServer(async (transport) => {
    const standardStreams = new StdioClientTransport({
      command: process.execPath,
      args: [entryOf(name), ...args],
      stderr: 'ignore',
    });
    Object.assign(transport, {
      onmessage: (message: JSONRPCMessage) => void standardStreams.send(message),
      onclose: () => void standardStreams.close(),
    });
    Object.assign(standardStreams, {
      onmessage: (message: JSONRPCMessage) => void transport.send(message).catch(() => undefined),
    });
    await standardStreams.start();
    await transport.start();
    return () => standardStreams.close();
  });
}

/** A server of the official SDK in this process, one per session. */
export const sdkServer = (make: () => McpServer): Promise<RunningServer> =>
  sessionServer(async (transport) => {
    const server = make();
    await server.connect(transport);
    return () => server.close();
  });

/** The events that a session has sent, so that a stream can be resumed. */
function eventStore(): EventStore {
  const events: { readonly stream: string; readonly message: JSONRPCMessage }[] = [];
  return {
    storeEvent: async (stream, message) => String(events.push({ stream, message })),
    replayEventsAfter: async (lastEventId, { send }) => {
      const stream = events[Number(lastEventId) - 1]?.stream ?? '';
      for (const [index, event] of events.entries())
        if (event.stream === stream && index >= Number(lastEventId))
          await send(String(index + 1), event.message);
      return stream;
    },
  };
}

type Begin = (transport: StreamableHTTPServerTransport) => Promise<() => Promise<void>>;

async function sessionServer(begin: Begin): Promise<RunningServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const ends: (() => Promise<void>)[] = [];
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const id = req.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (typeof id === 'string' && known === undefined) return void res.writeHead(404).end();
    const transport =
      known ??
      new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => void sessions.set(session, transport),
        eventStore: eventStore(),
      });
    if (known === undefined) ends.push(await begin(transport));
    await transport.handleRequest(req, res);
  };
  const running = await listening((req, res) => void answer(req, res));
  return {
    url: running.url,
    stop: async () => {
      for (const end of ends) await end().catch(() => undefined);
      await running.stop();
    },
  };
}
