/** How a model's embeddings are requested from the platform, and what the model can do. */
export interface EmbeddingModel {
  readonly method: 'predict' | 'embedContent';
  readonly maxDimensions: number;
  /**
   * Texts per call. The platform documents five for the text models and one for `gemini-embedding-001`. An
   * embed-content call returns one embedding for everything in it.
   */
  readonly textsPerCall: number;
}

/** The supported values of `upstream_model`. */
const models: ReadonlyMap<string, EmbeddingModel> = new Map([
  ['google/gemini-embedding-001', { method: 'predict', maxDimensions: 3072, textsPerCall: 1 }],
  ['google/gemini-embedding-2', { method: 'embedContent', maxDimensions: 3072, textsPerCall: 1 }],
  ['google/text-embedding-005', { method: 'predict', maxDimensions: 768, textsPerCall: 5 }],
  ['google/text-multilingual-embedding-002', { method: 'predict', maxDimensions: 768, textsPerCall: 5 }],
]);

/** `undefined` when the model is not one of the text-embedding models. */
export const embeddingModel = (upstreamModel: string): EmbeddingModel | undefined =>
  models.get(upstreamModel);
