/** An error before a family encodes it, with its HTTP status. */
export interface ErrorAnswer {
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** A 400 that names the part of the request that is wrong. */
export const badRequest = (
  message: string,
  param: string | null,
  code: string | null = null,
): ErrorAnswer => ({
  status: 400,
  message,
  param,
  code,
});

/** The 400 for a missing part of the request. */
export const missingParameter = (param: string): ErrorAnswer =>
  badRequest(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');

/** The error that a `status` directive asks for. */
export const simulatedError = (
  status: number,
  { message, code }: { readonly message?: string; readonly code?: string },
): ErrorAnswer => ({
  status,
  message: message ?? `This is a simulated error with status ${status}.`,
  param: null,
  code: code ?? (status === 429 ? 'rate_limit_exceeded' : null),
});

/** The error that directives put inside a 200 answer. */
export const errorInside = ({
  message,
  ...named
}: {
  readonly message?: string;
  readonly code?: string;
}): ErrorAnswer =>
  simulatedError(500, { message: message ?? 'This is a simulated error inside a 200 answer.', ...named });
