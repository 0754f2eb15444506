import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Credentials } from '../../application/admin/create-admin.ts';
import { flags, type Terminal, UsageError } from './command.ts';
import { askHidden } from './hidden-input.ts';

export interface AdminPorts {
  readonly createAdmin: (credentials: Credentials) => Promise<Either<string, void>>;
  /** `GATEWAY_ADMIN_PASSWORD`. */
  readonly password: string | undefined;
  /** The terminal that prompts for the password; `undefined` when input is not interactive. */
  readonly keyboard: NodeJS.ReadableStream | undefined;
}

/** `gateway admin create --email E`. The password comes from `GATEWAY_ADMIN_PASSWORD` or a prompt without echo. */
export const adminCommand =
  (ports: AdminPorts, { out, err }: Terminal) =>
  async ([verb = '', ...args]: readonly string[]): Promise<number> => {
    if (verb !== 'create') throw new UsageError('admin create --email E');
    const { values } = flags(args, { email: { type: 'string' } });
    if (values.email === undefined) throw new UsageError('admin create --email E');
    const password = ports.password ?? (await askPassword(ports.keyboard, err));
    const made = await ports.createAdmin({ email: values.email, password });
    if (E.isLeft(made)) {
      err(made.left);
      return 1;
    }
    out(`${values.email} is a platform admin with this password; sessions opened before have ended.`);
    return 0;
  };

async function askPassword(
  keyboard: NodeJS.ReadableStream | undefined,
  say: Terminal['err'],
): Promise<string> {
  if (keyboard === undefined)
    throw new UsageError(
      'admin create takes the password from GATEWAY_ADMIN_PASSWORD, or asks on a terminal.',
    );
  const questions = ['The password, which is not shown:', 'The password again:'];
  const [password, again] = (await askHidden(keyboard, say, questions)) ?? [];
  if (password === undefined) throw new Error('No password was given.');
  if (password !== again) throw new Error('These are two different passwords.');
  return password;
}
