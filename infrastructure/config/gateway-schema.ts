import { gatewayCodec } from './config.ts';
import { jsonSchemaOf } from './json-schema.ts';

/** `config/gateway.schema.json`, to the byte: a test holds the committed file against it. */
export const gatewaySchemaText: string = `${JSON.stringify(
  jsonSchemaOf('Model gateway configuration', gatewayCodec.shape),
  null,
  2,
)}\n`;
