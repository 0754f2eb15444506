// Writes config/gateway.schema.json and docs/configuration.md: `node infrastructure/config/write-schema.ts`.
import { writeFile } from 'node:fs/promises';
import { configPage } from './config-page.ts';
import { gatewaySchemaText } from './gateway-schema.ts';

await writeFile(new URL('../../config/gateway.schema.json', import.meta.url), gatewaySchemaText);
await writeFile(new URL('../../docs/configuration.md', import.meta.url), configPage());
