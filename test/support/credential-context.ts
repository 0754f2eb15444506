/** The context of credentials, with a record of their warnings and of the secrets that they concealed. */
export function recordedContext() {
  const warnings: string[] = [];
  const concealed: string[] = [];
  const context = {
    warn: (message: string) => void warnings.push(message),
    conceal: (secret: string) => void concealed.push(secret),
  };
  const forget = (): void => {
    for (const list of [warnings, concealed]) list.length = 0;
  };
  return { context, warnings, concealed, forget };
}
