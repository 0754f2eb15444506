import { startCommand } from '../../e2e/processes.ts';
import type { World } from './world.ts';

/** Runs a command of the gateway on the world's database to its end. */
export async function runCommand(
  args: readonly string[],
  { configFile, database, folder }: World,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const command = startCommand(args, {
    GATEWAY_CONFIG: configFile,
    DATABASE_URL: database.url(),
    GATEWAY_DATA_DIR: folder,
  });
  const { code } = await command.exited;
  return { code, out: command.out(), err: command.err() };
}
