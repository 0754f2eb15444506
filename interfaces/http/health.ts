import { idHeaders, type RequestContext } from './request-context.ts';

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

async function answer(context: RequestContext, status: number, body: object): Promise<void> {
  const text = JSON.stringify(body);
  context.res.writeHead(status, {
    ...idHeaders(context),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  context.res.end(text);
}
