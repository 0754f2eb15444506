/** How long a browser may stay at the identity provider. */
export const signInLifeMs = 10 * 60_000;

/** Maximum number of pending sign-ins of one address: more than anyone has windows open. */
export const maxSignInsOfAddress = 20;

/**
 * Maximum number of pending sign-ins in all; each is a row of a few hundred bytes. The oldest are deleted to make room
 * for a new one, so that someone who begins many, from many addresses, locks nobody out.
 */
export const maxSignIns = 10_000;

/** How far the clocks of gateway and provider may differ when the times of an ID token are checked. */
export const clockToleranceSecs = 30;
