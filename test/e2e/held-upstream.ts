import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './traces.ts';

/** A call that has reached the upstream and is answered by the test. */
export interface HeldCall {
  readonly path: string;
  /** Sends a 200 with the headers of an event stream or of a JSON answer. */
  readonly head: (kind: 'stream' | 'whole') => void;
  readonly refuse: (status: number) => void;
  readonly write: (text: string) => void;
  readonly end: () => void;
  /** Whether the gateway has closed the connection. */
  readonly left: () => boolean;
}

export interface HeldUpstream {
  /** Base URL, `http://127.0.0.1:PORT/v1`. */
  readonly url: string;
  readonly calls: () => number;
  /** Waits for the next call that was not returned yet. */
  readonly next: () => Promise<HeldCall>;
  readonly close: () => Promise<void>;
}

/** An upstream that sends only what the test tells it to, and when. */
export async function startHeldUpstream(): Promise<HeldUpstream> {
  const waiting: HeldCall[] = [];
  let calls = 0;
  const server = createServer((request, response) => {
    request.resume();
    calls += 1;
    waiting.push(heldCall(request.url ?? '', response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls: () => calls,
    next: () => eventually(() => waiting.shift()),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function heldCall(path: string, response: ServerResponse): HeldCall {
  let left = false;
  response.once('close', () => {
    left = !response.writableFinished;
  });
  return {
    path,
    head: (kind) => {
      response.writeHead(200, {
        'content-type': kind === 'stream' ? 'text/event-stream' : 'application/json',
      });
      response.flushHeaders();
    },
    refuse: (status) => void response.writeHead(status).end('{}'),
    write: (text) => void response.write(text),
    end: () => void response.end(),
    left: () => left,
  };
}

const frame = (payload: object): string => `data: ${JSON.stringify(payload)}\n\n`;
const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };

/** The events of a streamed chat answer. */
export const frames = {
  content: frame({ choices: [{ index: 0, delta: { content: 'piece' }, finish_reason: null }] }),
  finish: frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  usage: frame({ choices: [], usage }),
  error: frame({ error: { message: 'fell over' } }),
  done: 'data: [DONE]\n\n',
};

/** A whole chat answer with the same usage. */
export const wholeAnswer = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'all' }, finish_reason: 'stop' }],
  usage,
});
