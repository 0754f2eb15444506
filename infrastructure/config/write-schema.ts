// Writes config/gateway.schema.json: `node infrastructure/config/write-schema.ts`.
import { writeFile } from 'node:fs/promises';
import { gatewaySchemaText } from './gateway-schema.ts';

await writeFile(new URL('../../config/gateway.schema.json', import.meta.url), gatewaySchemaText);
