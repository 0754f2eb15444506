import createClient from 'openapi-fetch';
import type { paths } from './api.d.ts';
import { readClock } from './clock.ts';
import { asText, fieldsOf } from './loose-json.ts';

/** The `data` in the answer to a call of this path. */
export type ResponseData<P extends keyof paths, M extends 'get' | 'post' = 'get'> =
  paths[P] extends Readonly<
    Record<M, { responses: { 200: { content: { 'application/json': { data: infer D } } } } }>
  >
    ? D
    : never;

/** The filters of a list. */
export type QueryOf<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Q } } }
  ? NonNullable<Q>
  : never;

/** The gateway's own API, typed by its description. The session cookie is sent with each call. */
export const api = createClient<paths>({ baseUrl: '/' });

/** No answer came from the gateway. */
export const unreachable = (message: string): ApiError =>
  new ApiError({ status: 0, code: 'unreachable', message });

/** The requester no longer wants the answer. */
const isAborted = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

/** A call without an answer may still have been carried out. */
const unanswered = ({ method }: Request): ApiError =>
  unreachable(
    `The gateway cannot be reached.${method === 'GET' ? '' : ' It is not known whether the change was made: check before you try again.'}`,
  );

const isJson = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('application/json') === true;

api.use({
  onError: ({ request, error }) => (isAborted(error) ? undefined : unanswered(request)),
  onResponse: ({ request, response }) => {
    readClock(response);
    // The gateway's own errors are JSON. This one is of a proxy that got no answer.
    if (response.status >= 500 && !isJson(response)) throw unanswered(request);
  },
});

/** An error of the API, read from its envelope. */
export class ApiError extends Error {
  readonly status: number;
  /** The code in the error table; `unreachable` when no answer came. */
  readonly code: string;
  /** The invalid field or parameter. */
  readonly param: string | undefined;
  readonly requestId: string | undefined;
  /** With 409: the current state. */
  readonly present: unknown;

  constructor(failure: {
    readonly status: number;
    readonly code: string;
    readonly message: string;
    readonly param?: string | undefined;
    readonly requestId?: string | undefined;
    readonly present?: unknown;
  }) {
    super(failure.message);
    this.name = 'ApiError';
    this.status = failure.status;
    this.code = failure.code;
    this.param = failure.param;
    this.requestId = failure.requestId;
    this.present = failure.present;
  }
}

interface Answer<D> {
  readonly data?: { readonly data: D } | undefined;
  readonly error?: unknown;
  readonly response: Response;
}

/** The `data` of an answer. Throws an `ApiError` for any other answer, and when none came. */
export async function read<D>(call: Promise<Answer<D>>): Promise<D> {
  const answer = await call.catch((cause: unknown) => {
    if (isAborted(cause) || cause instanceof ApiError) throw cause;
    throw unreachable('The response did not come from the gateway.');
  });
  if (answer.data !== undefined) return answer.data.data;
  throw errorOf(answer.error, answer.response);
}

/**
 * The same with the text of the answer, for JSON in which every digit and the order matter: parsing preserves neither.
 */
export async function readWithText<D>(
  call: (fetch: (request: Request) => Promise<Response>) => Promise<Answer<D>>,
): Promise<{ readonly data: D; readonly text: string }> {
  let text = '';
  const data = await read(
    call(async (request) => {
      const answer = await fetch(request);
      text = await answer.clone().text();
      return answer;
    }),
  );
  return { data, text };
}

/** The error in the body of an answer. */
export function errorOf(body: unknown, response: Response): ApiError {
  const { error, data } = fieldsOf(body);
  const { message, code, param } = fieldsOf(error);
  return new ApiError({
    status: response.status,
    code: asText(code) ?? 'unknown',
    message: asText(message) ?? `The gateway answered ${response.status}.`,
    param: asText(param),
    requestId: response.headers.get('x-request-id') ?? undefined,
    present: data,
  });
}
