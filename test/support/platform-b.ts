import * as E from 'fp-ts/lib/Either.js';
import type { Frame } from '../../tools/simulated-upstream/answer.ts';
import { readRequest } from '../../tools/simulated-upstream/read-request.ts';
import { simulatedChat } from '../../tools/simulated-upstream/chat.ts';
import { deliver, sendError } from '../../tools/simulated-upstream/deliver.ts';
import {
  chatDialect,
  type Dialect,
  messagesDialect,
  responsesDialect,
} from '../../tools/simulated-upstream/dialect.ts';
import type { Directives } from '../../tools/simulated-upstream/directives.ts';
import { badRequest } from '../../tools/simulated-upstream/error-answer.ts';
import type { JsonObject } from '../../tools/simulated-upstream/json-object.ts';
import { endedResponseJson, planResponse } from '../../tools/simulated-upstream/responses-answer.ts';
import { readResponsesRequest } from '../../tools/simulated-upstream/responses-request.ts';
import { responsesDeltaCount, responsesFrames } from '../../tools/simulated-upstream/responses-stream.ts';
import { chatFault, responsesFault } from './chat-style-faults.ts';
import { converseConversation, planConverse, streamConverse, wholeConverse } from './converse-answer.ts';
import { converseFault } from './converse-faults.ts';
import { wordsOf } from './platform-faults.ts';
import { serveMessages } from './messages-host.ts';
import {
  type Arrival,
  callOf,
  objectIn,
  type PlatformServer,
  sendJson,
  startPlatformServer,
} from './platform-server.ts';
import { signatureFault, type Verifier } from './signature-verifier.ts';

/** A client whose signatures the platform knows. */
export interface KnownSigner {
  readonly accessKeyId: string;
  readonly secret: string;
  readonly token?: string;
}

/** A fake platform B on two sockets. */
export interface PlatformB {
  readonly runtime: PlatformServer;
  readonly endpointb: PlatformServer;
  readonly close: () => Promise<void>;
}

/** What the fake's hosts know. */
interface Known {
  readonly region: string;
  /** Path before `/chat/completions` and `/responses`. */
  readonly basePath: string;
  readonly signers: readonly KnownSigner[];
}

/**
 * Two servers that implement platform B: each verifies the signature of every request itself, and accepts a
 * body only if the platform does. They answer as the simulated upstream does, and follow the same directives.
 */
export async function startPlatformB(known: Known): Promise<PlatformB> {
  const chat = simulatedChat();
  const host = (service: 'bedrock' | 'bedrock-mantle', serve: Serve): Promise<PlatformServer> =>
    startPlatformServer((arrival) => {
      const fault = signatureFault(arrival, verifierOf(known, service));
      if (fault !== undefined) return refuseSignature(arrival, fault);
      const body = objectIn(arrival.body);
      return body === undefined
        ? sendJson(arrival, 400, { message: 'Malformed input request, please reformat your input.' })
        : serve(arrival, body);
    });
  const chatThere: Serve = (arrival, body) =>
    arrival.target === `${known.basePath}/chat/completions`
      ? chatStyle(chat, arrival, body)
      : unknownPath(arrival);
  const runtime = await host('bedrock', (arrival, body) => {
    const [, id, method] = /^\/model\/([^/]+)\/(converse|converse-stream|invoke)$/.exec(arrival.target) ?? [];
    if (id === undefined) return chatThere(arrival, body);
    const model = decodeURIComponent(id);
    return method === 'invoke'
      ? invoke(arrival, body, model)
      : converse(arrival, body, model, method !== 'converse');
  });
  const endpointb = await host('bedrock-mantle', (arrival, body) => {
    if (arrival.target === '/anthropic/v1/messages') return messages(arrival, body);
    if (arrival.target === `${known.basePath}/responses`) return responses(arrival, body);
    return chatThere(arrival, body);
  });
  return {
    runtime,
    endpointb,
    close: async () => {
      await runtime.close();
      await endpointb.close();
    },
  };
}

type Serve = (arrival: Arrival, body: JsonObject) => void | Promise<void>;

const verifierOf = ({ region, signers }: Known, service: 'bedrock' | 'bedrock-mantle'): Verifier => ({
  region,
  service,
  secretOf: (id) => signers.find(({ accessKeyId }) => accessKeyId === id),
  // The front of the endpointb host removes these headers before the signature is verified.
  ...(service === 'bedrock' ? {} : { drops: (header) => header.includes('_') }),
});

const noMatch =
  'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key ' +
  'and signing method. Consult the service documentation for details.';

/** The platform's message for each fault; where the signature is reported, it repeats the request's text. */
function refuseSignature(arrival: Arrival, fault: string): void {
  const { method, target, headers } = arrival;
  const canonical = `'${method}\n${target}\n\nx-amz-security-token:${wordsOf(headers['x-amz-security-token'])}'`;
  const [, type, message] = refusals.find(([begins]) => fault.startsWith(begins)) ?? [
    '',
    'InvalidSignatureException',
    `${noMatch}\n\nThe Canonical String for this request should have been\n${canonical}\n`,
  ];
  sendJson(arrival, 403, { message }, { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/` });
}

/** Maps the beginning of a fault to its error. */
const refusals = [
  ['unknown', 'UnrecognizedClientException', 'The security token included in the request is invalid.'],
  ['session token', 'ExpiredTokenException', 'The security token included in the request is expired'],
  ['date', 'InvalidSignatureException', 'Signature expired.'],
  ['scope', 'InvalidSignatureException', 'Credential should be scoped to a valid region.'],
] as const;

const unknownPath = (arrival: Arrival): void =>
  sendJson(arrival, 404, { message: 'UnknownOperationException' });

/** The error format of the runtime host. */
const runtimeDialect: Dialect = {
  errorBody: ({ message }) => JSON.stringify({ message }),
  errorEvent: ({ message }) => ({ data: JSON.stringify({ message }) }),
  malformed: { data: '{"output":{"message":{' },
  foreign: { data: '{"choices":[]}' },
};

async function converse(arrival: Arrival, body: JsonObject, model: string, stream: boolean): Promise<void> {
  const call = callOf(arrival, runtimeDialect, { ...body, model });
  const fault = converseFault(body);
  if (fault !== undefined) return sendError(call, badRequest(fault, null));
  const asked = readRequest(call, (_, name) => E.right(converseConversation(body, name, stream)));
  if (E.isLeft(asked)) return sendError(call, asked.left);
  const { request, directives: d } = asked.right;
  const plan = planConverse(body, request, d, arrival.serial);
  return stream && !isNoStream(d)
    ? streamConverse(call, d, plan)
    : deliver(call, d, { kind: 'whole', json: wholeConverse(plan) });
}

/** Directives that replace a stream. */
const isNoStream = (d: Directives): boolean =>
  d.status !== undefined ||
  d.hang === 'headers' ||
  d.break === 0 ||
  d['json-error'] === true ||
  d.html === true;

const invoke = (arrival: Arrival, body: JsonObject, model: string): Promise<void> =>
  serveMessages(arrival, body, {
    model,
    version: 'bedrock-2023-05-31',
    stream: undefined,
    betas: Array.isArray(body['anthropic_beta']) ? body['anthropic_beta'].map(wordsOf) : [],
    dialect: runtimeDialect,
  });

function messages(arrival: Arrival, body: JsonObject): void | Promise<void> {
  const { headers } = arrival;
  if (headers['anthropic-version'] !== '2023-06-01')
    return sendJson(arrival, 400, {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'anthropic-version: header is required' },
    });
  return serveMessages(arrival, body, {
    model: wordsOf(body['model']),
    version: undefined,
    stream: body['stream'] === true,
    betas: headers['anthropic-beta'] === undefined ? [] : wordsOf(headers['anthropic-beta']).split(','),
    dialect: messagesDialect,
  });
}

function chatStyle(
  chat: ReturnType<typeof simulatedChat>,
  arrival: Arrival,
  body: JsonObject,
): void | Promise<void> {
  const call = callOf(arrival, chatDialect, body);
  const fault = chatFault(body, chatStyleModel);
  return fault === undefined ? chat(call) : sendError(call, badRequest(fault, null));
}

/** The model of the chat-style hosts. */
export const chatStyleModel = 'openai.gpt-oss-120b-1:0';

async function responses(arrival: Arrival, body: JsonObject): Promise<void> {
  const call = callOf(arrival, responsesDialect, body);
  const fault = responsesFault(body, chatStyleModel);
  if (fault !== undefined) return sendError(call, badRequest(fault, null));
  const asked = readRequest(call, readResponsesRequest);
  if (E.isLeft(asked)) return sendError(call, asked.left);
  const { request, directives: d } = asked.right;
  const plan = planResponse(request, d, arrival.serial);
  const createdSecs = Math.floor(Date.now() / 1000);
  if (!request.stream) return deliver(call, d, { kind: 'whole', json: endedResponseJson(plan, createdSecs) });
  const frames = sorted(responsesFrames(plan, createdSecs, arrival.serial));
  return deliver(
    call,
    { ...d, 'data-first': true },
    { kind: 'stream', frames, deltaCount: responsesDeltaCount(plan) },
  );
}

/** This host writes `data:` before `event:`, and the members of an event sorted by name. */
function* sorted(frames: Iterable<Frame>): Generator<Frame> {
  for (const frame of frames) {
    const members = Object.entries(JSON.parse(frame.data) as JsonObject).toSorted(([a], [b]) =>
      a < b ? -1 : 1,
    );
    yield { ...frame, data: JSON.stringify(Object.fromEntries(members)) };
  }
}
