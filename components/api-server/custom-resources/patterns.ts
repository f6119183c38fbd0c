/** Whether schemas have patterns, and the module that knows them: loaded for the first schema that has one. */
import type { JSONSchemaProps } from '../../api/generated/types.ts'

type PatternModule = typeof import('../cel/linear-pattern.ts')

let loaded: PatternModule | undefined

/** To be awaited before `patternModule` is asked. */
export async function loadPatterns(): Promise<void> {
  loaded ??= await import('../cel/linear-pattern.ts')
}

export function patternModule(): PatternModule {
  if (loaded === undefined) throw new Error('patterns are not loaded')
  return loaded
}

/** Whether there may be one: a field of that name counts, too. */
export function mayHavePatterns(schema: JSONSchemaProps): boolean {
  return JSON.stringify(schema).includes('"pattern":')
}
