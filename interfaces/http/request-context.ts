import type { IncomingMessage, ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { CallerLink, CallerLoss } from '../../application/model-request.ts';
import type { RequestId } from '../../domain/request-log/request-ids.ts';
import { clientAddress } from './client-address.ts';
import type { CutOff } from './cut-off.ts';

/** What every handler of one request shares. */
export interface RequestContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The `x-request-id`: the caller's value unchanged, or one generated before any handler runs. */
  readonly requestId: RequestId;
  readonly callerChoseRequestId: boolean;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly link: CallerLink & {
    /** The connection is closed, so nothing can be written to it. */
    readonly gone: () => boolean;
  };
}

/** Request correlation: an empty header counts as absent. */
export function openContext(
  req: IncomingMessage,
  res: ServerResponse,
  now: number,
  newId: () => string,
  cutOff: Pick<CutOff, 'whenCut'> = neverCut,
): RequestContext {
  const given = req.headers['x-request-id'];
  const chosen = typeof given === 'string' && given !== '' ? given : undefined;
  return {
    req,
    res,
    requestId: chosen ?? newId(),
    callerChoseRequestId: chosen !== undefined,
    receivedAt: now,
    link: callerLink(res, cutOff),
  };
}

/** For a gateway that never shuts down. */
const neverCut: Pick<CutOff, 'whenCut'> = { whenCut: () => () => undefined };

/** The caller is gone when its connection closes before the whole answer was handed over. */
function callerLink(res: ServerResponse, cutOff: Pick<CutOff, 'whenCut'>): RequestContext['link'] {
  let gone = false;
  const { link, lose } = controllableLink();
  const forget = cutOff.whenCut(() => lose('shutting_down'));
  res.once('close', () => {
    forget();
    if (res.writableFinished) return;
    gone = true;
    lose('client_closed');
  });
  return { ...link, gone: () => gone };
}

/** A link that is lost at most once. */
export function controllableLink(): { readonly link: CallerLink; readonly lose: (why: CallerLoss) => void } {
  let lost: CallerLoss | undefined;
  const callbacks: ((why: CallerLoss) => void)[] = [];
  return {
    link: {
      lost: () => lost,
      whenLost: (callback) => {
        if (lost === undefined) callbacks.push(callback);
        else callback(lost);
      },
    },
    lose: (why) => {
      if (lost !== undefined) return;
      lost = why;
      for (const callback of callbacks) callback(why);
    },
  };
}

/** The value of a header that must not be a list. */
export const header = (req: IncomingMessage, name: string): string | undefined => {
  const value = req.headers[name];
  return typeof value === 'string' ? value : undefined;
};

/** The address of the client that sent a request. */
export const addressOf = (req: IncomingMessage, trustedProxies: readonly string[]): string =>
  clientAddress(
    { peer: req.socket.remoteAddress, forwardedFor: header(req, 'x-forwarded-for') },
    trustedProxies,
  );

/** Sent on every response, including streams and errors; the SDKs of the messages API read `request-id`. */
export const idHeaders = ({ requestId }: RequestContext): Record<string, string> => ({
  'x-request-id': requestId,
  'request-id': requestId,
});

/** Whether the request itself came over TLS. */
export const isEncrypted = ({ socket }: IncomingMessage): boolean => socket instanceof TLSSocket;
