import { idHeaders, type RequestContext } from './request-context.ts';
import { sendJson } from './send-json.ts';

export interface HealthPorts {
  /** Why the process must not get requests at the moment; undefined when it may. */
  readonly notReady: () => Promise<string | undefined>;
}

/** The process is alive; nothing else is asked. */
export const healthz = (context: RequestContext): Promise<void> => answer(context, 200, { status: 'ok' });

/** Config loaded, database reachable, migrations applied; 503 while draining. */
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
