import { isAbsent, type JsonObject } from '../shared/json.ts';

/**
 * The field that restricts where the model may run, if the request has such a restriction. Only an upstream that has
 * the field can promise it. A request whose upstream does not get the field is refused, since data would otherwise
 * leave the region unnoticed.
 */
export const restrictedGeo = ({ inference_geo: region }: JsonObject): string | undefined =>
  isAbsent(region) || region === 'global' ? undefined : 'inference_geo';
