import type { OutgoingHttpHeaders } from 'node:http';
import type { Answer } from './answer.ts';
import { linePieceBytes } from './bounds.ts';
import type { Call } from './call.ts';
import type { Directives } from './directives.ts';
import { errorInside, type ErrorAnswer, simulatedError } from './error-answer.ts';
import { compressed, nextTurn, pause, untilGone, written } from './socket.ts';
import { type Step, streamSteps, wholeSteps } from './steps.ts';

/** Content type of a JSON answer. */
export const jsonType = 'application/json';
/** Content type of a streamed answer. */
export const eventStreamType = 'text/event-stream; charset=utf-8';

const page =
  '<!doctype html><html><head><title>Simulated</title></head><body><h1>Not an API answer</h1></body></html>\n';

interface Reply {
  readonly contentType: string;
  readonly steps: Iterable<Step>;
}

/** The body that directives substitute for the answer. */
function substitute(
  { dialect, serial }: Call,
  d: Directives,
  answer: Answer,
): { readonly contentType: string; readonly text: string } | undefined {
  if (d.empty === true)
    return { contentType: answer.kind === 'whole' ? jsonType : eventStreamType, text: '' };
  if (d.html === true) return { contentType: 'text/html; charset=utf-8', text: page };
  const error = (what: ErrorAnswer) => ({ contentType: jsonType, text: dialect.errorBody(what, serial) });
  if (d.status !== undefined) return error(simulatedError(d.status, d));
  const inPlace = d['json-error'] === true || (answer.kind === 'whole' && d['error-at'] !== undefined);
  return inPlace ? error(errorInside(d)) : undefined;
}

function replyOf(call: Call, d: Directives, answer: Answer): Reply {
  const other = substitute(call, d, answer);
  if (other !== undefined)
    return { contentType: other.contentType, steps: wholeSteps(other.text, d, call.dialect) };
  return answer.kind === 'whole'
    ? { contentType: jsonType, steps: wholeSteps(answer.json, d, call.dialect) }
    : { contentType: eventStreamType, steps: streamSteps(answer, d, call) };
}

/** The length of a body that is one write and a clean end; `undefined` for any other. */
function knownLength(steps: Iterable<Step>): number | undefined {
  if (!Array.isArray(steps)) return undefined;
  const [first, second] = steps as readonly Step[];
  return first?.kind === 'write' && second?.kind === 'end' ? Buffer.byteLength(first.text) : undefined;
}

function headersOf(d: Directives, { contentType, steps }: Reply): OutgoingHttpHeaders {
  const length = d.gzip === true ? undefined : knownLength(steps);
  return {
    'content-type': d['content-type'] ?? contentType,
    'cache-control': 'no-cache',
    ...(length === undefined ? {} : { 'content-length': length }),
    ...(d.gzip === true ? { 'content-encoding': 'gzip' } : {}),
    ...(d['retry-after'] === undefined ? {} : { 'retry-after': d['retry-after'] }),
    ...(d.status !== undefined && d.status < 400 ? { location: '/v1/redirected' } : {}),
  };
}

/** Sends an error that the simulation itself detects in a request. */
export function sendError(
  { response, dialect, serial }: Pick<Call, 'response' | 'dialect' | 'serial'>,
  error: ErrorAnswer,
): void {
  const text = dialect.errorBody(error, serial);
  response.writeHead(error.status, { 'content-type': jsonType, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/** Sends an answer as the directives demand. Settles when it is sent or broken off, or after a client disconnect. */
export async function deliver(call: Call, d: Directives, answer: Answer): Promise<void> {
  const { response, pace } = call;
  if (d.hang === 'headers') {
    await untilGone(response);
    return;
  }
  const latencyMs = d['latency-ms'] ?? pace.latencyMs;
  if (latencyMs > 0 && !(await pause(response, latencyMs))) return;
  if (d.break === 0) {
    call.breakOff();
    return;
  }
  const reply = replyOf(call, d, answer);
  response.writeHead(d.status ?? 200, headersOf(d, reply));
  response.flushHeaders();
  await play(call, d, reply.steps);
}

async function play(call: Call, d: Directives, steps: Iterable<Step>): Promise<void> {
  const { response, pace } = call;
  const delayMs = d['chunk-delay-ms'] ?? pace.chunkDelayMs;
  const out = d.gzip === true ? compressed(response) : response;
  const send = (bytes: string | Buffer): Promise<boolean> => written(response, out, bytes);
  const perform = async (step: Step): Promise<boolean> => {
    switch (step.kind) {
      case 'write':
        if (step.paced && delayMs > 0 && !(await pause(response, delayMs))) return false;
        return sendInPieces(step.text, d['write-bytes'], send, () => nextTurn(response));
      case 'line':
        return sendLine(step.bytes, send);
      case 'hang':
        return untilGone(response);
      case 'destroy':
        if (await nextTurn(response)) call.breakOff();
        return false;
      case 'end':
        out.end();
        return false;
    }
  };
  for (const step of steps) if (!(await perform(step))) return;
}

type Send = (bytes: string | Buffer) => Promise<boolean>;

async function sendInPieces(
  text: string,
  pieceBytes: number | undefined,
  send: Send,
  turn: () => Promise<boolean>,
): Promise<boolean> {
  if (text === '') return true;
  if (pieceBytes === undefined) return (await send(text)) && turn();
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    if (!(await send(bytes.subarray(from, from + pieceBytes))) || !(await turn())) return false;
  }
  return true;
}

async function sendLine(bytes: number, send: Send): Promise<boolean> {
  const piece = Buffer.alloc(linePieceBytes, 'x');
  for (let left = bytes; left > 0; left -= piece.length) {
    if (!(await send(left < piece.length ? piece.subarray(0, left) : piece))) return false;
  }
  return true;
}
