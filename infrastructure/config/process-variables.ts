import type { Variables } from './interpolation.ts';

/** The variables of this process. Only this file reads the environment. */
export const processVariables = (): Variables => process.env;

/**
 * Runs `work` without the variables whose names match, for libraries that read the environment whatever arguments they
 * get. `work` must be synchronous, as the variables are restored when it returns.
 */
export function withoutVariables<A>(names: RegExp, work: () => A): A {
  const hidden = Object.entries(process.env).filter(([name]) => names.test(name));
  for (const [name] of hidden) delete process.env[name];
  try {
    return work();
  } finally {
    for (const [name, value] of hidden) process.env[name] = value;
  }
}
