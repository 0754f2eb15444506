import type { Variables } from './interpolation.ts';

/** Settings from the environment; each overrides the file. An empty variable counts as not set. */
export interface Environment {
  /** `GATEWAY_CONFIG`: path of the file. */
  readonly configPath: string | undefined;
  /** `DATABASE_URL`. */
  readonly databaseUrl: string | undefined;
  /** `GATEWAY_DATA_DIR`: directory of the embedded database. */
  readonly dataDir: string;
  /** `GATEWAY_BIND`: `host:port`. */
  readonly bind: string | undefined;
  /** `GATEWAY_ADMIN_EMAIL`. */
  readonly adminEmail: string | undefined;
  /** `GATEWAY_ADMIN_PASSWORD`. */
  readonly adminPassword: string | undefined;
}

export const environment = (variables: Variables): Environment => {
  const read = (name: string) => (variables[name] === '' ? undefined : variables[name]);
  return {
    configPath: read('GATEWAY_CONFIG'),
    databaseUrl: read('DATABASE_URL'),
    dataDir: read('GATEWAY_DATA_DIR') ?? '.gateway',
    bind: read('GATEWAY_BIND'),
    adminEmail: read('GATEWAY_ADMIN_EMAIL'),
    adminPassword: read('GATEWAY_ADMIN_PASSWORD'),
  };
};
