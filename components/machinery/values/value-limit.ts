/** Value limit: how many values one body may hold, whatever its encoding. It bounds how long a request keeps others waiting. */

/**
 * Most values of a body: fields of objects and items of lists, after the expansion of aliases. Upstream has no such limit, but
 * its store takes no more than 1.5 MiB, in which so many values hardly fit. The largest CustomResourceDefinition found in
 * 21 projects (August 2026), LLMInferenceService of KServe, has 52,493 values in 877,134 bytes of JSON;
 * Workflow of Argo has 35,225 in 1,231,503 bytes.
 */
export const maxBodyValues = 65_536

/** A body of more values than its reader takes. */
export class TooManyValuesError extends Error {
  constructor() {
    super('the body holds too many values')
    this.name = 'TooManyValuesError'
  }
}

/** Counts the values of one body while it is read. */
export class ValueBudget {
  #left: number

  constructor(mostValues: number) {
    this.#left = mostValues
  }

  /** Throws TooManyValuesError when the body has more values than it may have. */
  spend(count = 1): void {
    this.#left -= count
    if (this.#left < 0) throw new TooManyValuesError()
  }
}
