import { gatewayCodec } from './config.ts';
import { jsonSchemaOf } from './json-schema.ts';

/** The exact text of `config/gateway.schema.json`; a test compares the committed file with it. */
export const gatewaySchemaText: string = `${JSON.stringify(
  jsonSchemaOf('Model gateway configuration', gatewayCodec.shape),
  null,
  2,
)}\n`;
