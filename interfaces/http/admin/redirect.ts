import { type RequestContext, idHeaders } from '../request-context.ts';
import { commonHeaders } from '../send-json.ts';
import { Value } from '../answers.ts';

/** Redirects a browser (302) instead of answering with data. */
export class Redirect {
  /** A full URL, or a path on this origin. */
  readonly location: string;

  constructor(location: string) {
    this.location = location;
  }
}

/** The codec of a route that answers with a {@link Redirect} and has no data. */
export const redirectValue = new Value(
  'redirect',
  (given): given is Redirect => given instanceof Redirect,
  {},
);

/** `no-referrer` keeps this address from the next page, because it may hold a code (rule 51.30). */
export function sendRedirect(context: RequestContext, { location }: Redirect): void {
  const { res } = context;
  res.writeHead(302, {
    ...idHeaders(context),
    ...commonHeaders,
    location,
    'referrer-policy': 'no-referrer',
    'content-length': 0,
  });
  res.end();
}
