import { randomBytes } from 'node:crypto';

/** The gateway's client id and secret at the provider of tests. */
export const oidcClient = { id: 'gateway', secret: `client-secret-${randomBytes(16).toString('hex')}` };
