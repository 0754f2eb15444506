/** An error in OpenAI's envelope, with the HTTP status it is sent with. */
export interface ErrorAnswer {
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
}

const typeOf = (status: number): string => {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
};

/** A 400 that names the part of the request it is about. */
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

/** The error a `status` directive asks for. */
export const simulatedError = (status: number, message: string | undefined): ErrorAnswer => ({
  status,
  message: message ?? `This is a simulated error with status ${status}.`,
  param: null,
  code: status === 429 ? 'rate_limit_exceeded' : null,
});

/** The JSON text of the envelope. */
export const errorBody = ({ status, message, param, code }: ErrorAnswer): string =>
  JSON.stringify({ error: { message, type: typeOf(status), param, code } });
