import { isAbsent, type JsonObject } from '../shared/json.ts';

/**
 * The field that says where the model must run, if it asks for less than everywhere. Only an upstream that has the
 * field can promise it: where it is not sent it is refused, since data would leave the region in silence.
 */
export const restrictedGeo = ({ inference_geo: region }: JsonObject): string | undefined =>
  isAbsent(region) || region === 'global' ? undefined : 'inference_geo';
