import { idHeaders, type RequestContext } from './request-context.ts';
import { sendJson } from './send-json.ts';

export interface HealthPorts {
  /** Why the process must not get requests now; `undefined` when it may. */
  readonly notReady: () => Promise<string | undefined>;
}

/** Whether the process is alive. Checks nothing else. */
export const healthz = (context: RequestContext): Promise<void> => answer(context, 200, { status: 'ok' });

/** 200 once the config is loaded, the database reachable and migrations applied; 503 otherwise, and while draining. */
export const readyz =
  ({ notReady }: HealthPorts) =>
  async (context: RequestContext): Promise<void> => {
    const reason = await notReady();
    return reason === undefined
      ? answer(context, 200, { status: 'ready' })
      : answer(context, 503, { status: 'not_ready', reason });
  };

const answer = async (context: RequestContext, status: number, body: object): Promise<void> =>
  sendJson(context.res, status, idHeaders(context), JSON.stringify(body));
