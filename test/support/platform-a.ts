import * as E from 'fp-ts/lib/Either.js';
import type { Frame } from '../../tools/simulated-upstream/answer.ts';
import { readRequest } from '../../tools/simulated-upstream/read-request.ts';
import { type Conversation, namedTool, spoken } from '../../tools/simulated-upstream/conversation.ts';
import { deliver, sendError } from '../../tools/simulated-upstream/deliver.ts';
import { type Dialect, messagesDialect } from '../../tools/simulated-upstream/dialect.ts';
import type { Directives } from '../../tools/simulated-upstream/directives.ts';
import { badRequest } from '../../tools/simulated-upstream/error-answer.ts';
import { isJsonObject, type JsonObject } from '../../tools/simulated-upstream/json-object.ts';
import { simulatedRoutes } from '../../tools/simulated-upstream/routes.ts';
import { joined, tokensIn } from '../../tools/simulated-upstream/text.ts';
import { planTurn, type Turn } from '../../tools/simulated-upstream/turn.ts';
import { generateContentFault } from './generate-content-faults.ts';
import type { GoogleFakes } from './google-fakes.ts';
import { objectsIn, recordIn, wordsOf } from './platform-faults.ts';
import { serveMessages } from './messages-host.ts';
import {
  type Arrival,
  callOf,
  objectIn,
  type PlatformServer,
  sendJson,
  startPlatformServer,
} from './platform-server.ts';

/** The base path of the fake platform's models. */
export const projectA = { project_id: 'project-1', location: 'us-central1' };

/** A fake platform A on a socket. */
export interface PlatformA extends PlatformServer {
  /** Makes all tokens issued so far count as expired. */
  readonly endTokens: () => void;
}

/**
 * A server that implements platform A: it accepts only tokens of the fakes, and a body only if the platform's
 * models accept it. It answers as the simulated upstream does, and follows the same directives.
 */
export async function startPlatformA({ tokens }: Pick<GoogleFakes, 'tokens'>): Promise<PlatformA> {
  const ended = new Set<string>();
  const server = await startPlatformServer((arrival) => {
    const token = bearerOf(arrival);
    if (!tokens.includes(token) || ended.has(token)) return refuseToken(arrival, token);
    return dispatch(arrival);
  });
  return { ...server, endTokens: () => tokens.forEach((token) => void ended.add(token)) };
}

/** The serverless service: the simulated upstream behind ID tokens for its audience. */
export const startServerless = (
  { claimsOf }: Pick<GoogleFakes, 'claimsOf'>,
  audience: string,
): Promise<PlatformServer> => startService((token) => claimsOf(token)?.['aud'] === audience);

/** The simulated upstream behind bearer tokens. */
export function startService(isKnown: (token: string) => boolean): Promise<PlatformServer> {
  const routes = simulatedRoutes();
  return startPlatformServer((arrival) => {
    const route = routes.find(({ suffix }) => arrival.target.endsWith(suffix));
    const body = objectIn(arrival.body);
    if (!isKnown(bearerOf(arrival)))
      return void arrival.response
        .writeHead(401, { 'content-type': 'text/html' })
        .end('<h1>Unauthorized</h1>');
    if (route === undefined || body === undefined) return sendJson(arrival, 404, { detail: 'Not Found' });
    return route.family(callOf(arrival, route.dialect, body));
  });
}

const bearerOf = ({ headers }: Arrival): string => (headers.authorization ?? '').replace(/^Bearer /, '');

const statuses: ReadonlyMap<number, string> = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [429, 'RESOURCE_EXHAUSTED'],
  [500, 'INTERNAL'],
  [503, 'UNAVAILABLE'],
]);

const errorOf = (code: number, message: string): object => ({
  error: { code, message, status: statuses.get(code) ?? 'UNKNOWN' },
});

/** The platform's format for errors of models without an envelope of their own. */
const platformDialect: Dialect = {
  errorBody: ({ status, message }) => JSON.stringify(errorOf(status, message)),
  errorEvent: ({ status, message }) => ({ data: JSON.stringify(errorOf(status, message)) }),
  malformed: { data: '{"candidates":[{"content":{"role":"model",' },
  foreign: {
    data: '{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"foreign"}}]}',
  },
};

/** Repeats the rejected token in its message, as real services have been seen to do. */
const refuseToken = (arrival: Arrival, token: string): void =>
  sendJson(
    arrival,
    401,
    errorOf(401, `Request had invalid authentication credentials: ${token}. Expected OAuth 2 access token.`),
    { 'www-authenticate': 'Bearer realm="https://accounts.google.com/"' },
  );

const modelPath =
  /^\/v1\/projects\/([^/]+)\/locations\/([^/]+)\/publishers\/(google|anthropic)\/models\/([^/:]+):(\w+)(\?alt=sse)?$/;

function dispatch(arrival: Arrival): void | Promise<void> {
  const [, project, location, publisher, model = '', method, sse = ''] = modelPath.exec(arrival.target) ?? [];
  const serve = methods[`${publisher}:${method}${sse}`];
  const body = objectIn(arrival.body);
  if (project !== projectA.project_id || location !== projectA.location || serve === undefined)
    return sendJson(arrival, 404, errorOf(404, `The requested URL ${arrival.target} was not found.`));
  return body === undefined
    ? sendJson(arrival, 400, errorOf(400, 'Invalid JSON payload received.'))
    : serve(arrival, body, model);
}

type Serve = (arrival: Arrival, body: JsonObject, model: string) => void | Promise<void>;

/** The methods that each publisher's models support. */
const methods: Readonly<Record<string, Serve>> = {
  'anthropic:rawPredict': (arrival, body, model) => rawPredict(arrival, body, model, false),
  'anthropic:streamRawPredict': (arrival, body, model) => rawPredict(arrival, body, model, true),
  'google:generateContent': (arrival, body, model) => generateContent(arrival, body, model, false),
  'google:streamGenerateContent?alt=sse': (arrival, body, model) =>
    generateContent(arrival, body, model, true),
  'google:predict': (arrival, body, model) => embeddings(arrival, body, model, 'predict'),
  'google:embedContent': (arrival, body, model) => embeddings(arrival, body, model, 'embedContent'),
};

const vertexEvent: Frame = { mark: 'part', name: 'vertex_event', data: '{"type":"vertex_event"}' };

const rawPredict = (arrival: Arrival, body: JsonObject, model: string, stream: boolean): Promise<void> =>
  serveMessages(arrival, body, {
    model,
    version: 'vertex-2023-10-16',
    stream,
    betas: Array.isArray(body['anthropic_beta']) ? body['anthropic_beta'].map(wordsOf) : [],
    dialect: messagesDialect,
    interleaved: vertexEvent,
  });

const textIn = ({ text }: JsonObject): string => (typeof text === 'string' ? text : '');

/** What the simulation reads from a generate-content body. */
function conversationIn(body: JsonObject, model: string, stream: boolean): Conversation {
  const said = objectsIn(body['contents']).map(({ role, parts }) => {
    const results = objectsIn(parts).flatMap(({ functionResponse }) =>
      isJsonObject(functionResponse) ? [recordIn(functionResponse['response'])] : [],
    );
    return results.length > 0
      ? {
          role: 'tool',
          texts: results.map(({ output, ...rest }) =>
            typeof output === 'string' ? output : JSON.stringify(rest),
          ),
        }
      : { role: role === 'model' ? 'assistant' : 'user', texts: objectsIn(parts).map(textIn) };
  });
  const config = recordIn(recordIn(body['toolConfig'])['functionCallingConfig']);
  const { responseJsonSchema: schema } = recordIn(body['generationConfig']);
  const [only] = Array.isArray(config['allowedFunctionNames']) ? config['allowedFunctionNames'] : [];
  const choices = { ANY: 'required', NONE: 'none', AUTO: 'auto' } as const;
  return {
    ...spoken(said, objectsIn(recordIn(body['systemInstruction'])['parts']).map(textIn)),
    model,
    stream,
    tools: objectsIn(body['tools'])
      .flatMap(({ functionDeclarations }) => objectsIn(functionDeclarations))
      .flatMap(({ name, parametersJsonSchema }) => namedTool(name, parametersJsonSchema)),
    toolChoice:
      only === undefined
        ? choices[(config['mode'] ?? 'AUTO') as keyof typeof choices]
        : { name: wordsOf(only) },
    schema: isJsonObject(schema) ? schema : undefined,
  };
}

/** A generate-content answer; thoughts are included if the request asks for them. */
interface Plan extends Turn {
  readonly usage: JsonObject;
  readonly head: JsonObject;
  readonly finishReason: string | undefined;
}

function planAnswer(body: JsonObject, conversation: Conversation, d: Directives, serial: number): Plan {
  const config = recordIn(body['generationConfig']);
  const reasoning = d.reasoning ?? recordIn(config['thinkingConfig'])['includeThoughts'] === true;
  const turn = planTurn(conversation, { ...d, reasoning }, 'unused');
  return {
    ...turn,
    usage: d.usage === 'none' ? { trafficType: 'ON_DEMAND' } : usageOf(turn, d),
    head: {
      modelVersion: conversation.model,
      createTime: '2026-01-02T03:04:05.678901Z',
      responseId: `sim${serial.toString(36)}`,
    },
    finishReason: d['no-finish'] === true ? undefined : (d.finish ?? 'STOP'),
  };
}

/** Thoughts are counted apart from the rest of the answer; cached tokens are part of the prompt tokens. */
function usageOf({ counts, reasoning }: Turn, d: Directives): JsonObject {
  const told = (text: string | undefined, count: number): number =>
    text === undefined ? count : Number(text);
  const thoughts = reasoning === undefined ? 0 : tokensIn(reasoning.chars);
  const prompt = told(d['prompt-tokens'], counts.prompt);
  const candidates = told(d['completion-tokens'], counts.completion - thoughts);
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    ...(d['cached-tokens'] === undefined ? {} : { cachedContentTokenCount: Number(d['cached-tokens']) }),
    totalTokenCount: prompt + candidates + thoughts,
    trafficType: 'ON_DEMAND',
  };
}

const thoughtParts = ({ reasoning }: Plan): readonly JsonObject[] =>
  reasoning === undefined
    ? []
    : Array.from({ length: reasoning.count }, (_, index) => ({ text: reasoning.at(index), thought: true }));

/** The first call has the signature of the thoughts; there are no ids. */
const callParts = ({ toolCalls, reasoning }: Plan): readonly JsonObject[] =>
  toolCalls.map(({ name, arguments: text }, index) => ({
    functionCall: { name, args: JSON.parse(text) as unknown },
    ...(reasoning !== undefined && index === 0 ? { thoughtSignature: 'c2lnbmF0dXJl' } : {}),
  }));

function answerOf(
  plan: Plan,
  parts: readonly JsonObject[],
  finishReason?: string,
  usage = plan.usage,
): JsonObject {
  const stop = finishReason === undefined ? {} : { finishReason };
  return { candidates: [{ content: { role: 'model', parts }, ...stop }], usageMetadata: usage, ...plan.head };
}

function wholeAnswer(plan: Plan): JsonObject {
  const { reasoning } = plan;
  const thoughts = reasoning === undefined ? [] : [{ text: joined(reasoning), thought: true }];
  const said = plan.toolCalls.length > 0 ? callParts(plan) : [{ text: joined(plan.content) }];
  return answerOf(plan, [...thoughts, ...said], plan.finishReason);
}

/** Every event has usage, and only the last one the counts of the answer; there is no `[DONE]`. */
function* frames(plan: Plan): Generator<Frame> {
  const { promptTokenCount, trafficType } = plan.usage;
  const early = { ...(promptTokenCount === undefined ? {} : { promptTokenCount }), trafficType };
  const frame = (mark: Frame['mark'], parts: readonly JsonObject[]): Frame => ({
    mark,
    data: JSON.stringify(answerOf(plan, parts, undefined, early)),
  });
  for (const part of thoughtParts(plan)) yield frame('reasoning', [part]);
  for (const part of callParts(plan)) yield frame('delta', [part]);
  if (plan.toolCalls.length === 0)
    for (let index = 0; index < plan.content.count; index += 1)
      yield frame('delta', [{ text: plan.content.at(index) }]);
  if (plan.finishReason !== undefined)
    yield { mark: 'finish', data: JSON.stringify(answerOf(plan, [{ text: '' }], plan.finishReason)) };
}

async function generateContent(
  arrival: Arrival,
  body: JsonObject,
  model: string,
  stream: boolean,
): Promise<void> {
  const call = callOf(arrival, platformDialect, { ...body, model });
  const fault = generateContentFault(body, model);
  if (fault !== undefined) return sendError(call, badRequest(fault, null));
  const asked = readRequest(call, (_, name) => E.right(conversationIn(body, name, stream)));
  if (E.isLeft(asked)) return sendError(call, asked.left);
  const { request, directives: d } = asked.right;
  const plan = planAnswer(body, request, d, arrival.serial);
  if (!stream) return deliver(call, d, { kind: 'whole', json: JSON.stringify(wholeAnswer(plan), null, 2) });
  const deltaCount = plan.toolCalls.length > 0 ? plan.toolCalls.length : plan.content.count;
  return deliver(call, { ...d, crlf: true }, { kind: 'stream', frames: frames(plan), deltaCount });
}

/** The vector of a text `xxx` is `[3, 0.5]`, and costs two tokens. */
function embeddings(arrival: Arrival, body: JsonObject, model: string, method: string): void {
  const isNewest = model === 'gemini-embedding-2';
  const vector = (text: unknown): readonly number[] => [wordsOf(text).length, 0.5];
  if (method === 'embedContent' && isNewest) {
    const [part] = objectsIn(recordIn(body['content'])['parts']);
    const usageMetadata = { promptTokenCount: 2, totalTokenCount: 2 };
    return sendJson(arrival, 200, { embedding: { values: vector(part?.['text']) }, usageMetadata });
  }
  const instances = objectsIn(body['instances']);
  const most = model === 'gemini-embedding-001' ? 1 : 250;
  if (method !== 'predict' || isNewest || instances.length === 0 || instances.length > most)
    return sendJson(arrival, 400, errorOf(400, `${instances.length} instance(s) is not allowed.`));
  const predictions = instances.map(({ content }) => ({
    embeddings: { values: vector(content), statistics: { token_count: 2, truncated: false } },
  }));
  return sendJson(arrival, 200, { predictions });
}
