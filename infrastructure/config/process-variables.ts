import type { Variables } from './interpolation.ts';

/** The variables of this process. This file is the one that reads the environment. */
export const processVariables = (): Variables => process.env;

/**
 * Runs `work` without the variables whose names match: for libraries that read the environment, whatever they are told
 * as arguments. `work` must not be asynchronous, as the variables are back when it returns.
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
