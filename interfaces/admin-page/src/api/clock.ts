let aheadMs = 0;

/** Learns the time of the gateway from an answer: the browser's clock may be hours off. */
export function readClock({ headers }: Response): void {
  const at = Date.parse(headers.get('date') ?? '');
  if (!Number.isNaN(at)) aheadMs = at - Date.now();
}

/** The time of the gateway, to a second, in milliseconds since the epoch. */
export const gatewayNow = (): number => Date.now() + aheadMs;
