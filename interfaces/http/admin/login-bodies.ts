import { fairSlots } from '../../../application/admin/fair-slots.ts';
import { overloaded } from '../../../domain/shared/gateway-error.ts';
import { type Arrivals, bodyPace } from '../body-pace.ts';

/** An address and a password are a few hundred bytes. */
export const maxLoginBytes = 8 * 1024;

export interface LoginBodyBounds {
  /** Bodies that arrive concurrently: 8 MiB at most. */
  readonly places: number;
  /** A login fits in one packet. */
  readonly withinMs: number;
}

const bounds: LoginBodyBounds = { places: 1024, withinMs: 10_000 };

/**
 * The limits for login bodies, which anybody may send. They are separate from everything else, so that a half-sent
 * login takes room only from other slow logins. A body that has already arrived in full does not wait.
 */
export function loginBodies({ places, withinMs }: LoginBodyBounds = bounds) {
  const room = fairSlots(places);
  const arriving = bodyPace({ firstMs: withinMs, bytesPerSec: Infinity, lookMs: Math.min(500, withinMs) });
  return {
    waiting: room.taken,
    of:
      (network: string): Arrivals =>
      (stop) => {
        const body = arriving(stop);
        const leave = room.enter(network, () => stop(overloaded));
        return {
          ...body,
          over: () => {
            body.over();
            leave();
          },
        };
      },
  };
}

export type LoginBodies = ReturnType<typeof loginBodies>;
