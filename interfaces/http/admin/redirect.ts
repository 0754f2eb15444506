import { type RequestContext, idHeaders } from '../request-context.ts';
import { everyAnswer } from '../send-json.ts';
import { Value } from '../answers.ts';

/** Sends a browser on (302), in place of an answer with data. */
export class Redirect {
  /** A whole URL, or a path of this origin. */
  readonly location: string;

  constructor(location: string) {
    this.location = location;
  }
}

/** The codec of a route that answers with a {@link Redirect}: there is no data. */
export const redirectValue = new Value(
  'redirect',
  (given): given is Redirect => given instanceof Redirect,
  {},
);

/** Where it leads is between the browser and us: the next page is not told this address, which may hold a code. */
export function sendRedirect(context: RequestContext, { location }: Redirect): void {
  const { res } = context;
  res.writeHead(302, {
    ...idHeaders(context),
    ...everyAnswer,
    location,
    'referrer-policy': 'no-referrer',
    'content-length': 0,
  });
  res.end();
}
