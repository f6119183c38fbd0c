/** SchemaModules: large modules that few schemas need, loaded for the first schema that needs them. */

export interface SchemaModules {
  /** Compiles and evaluates rules in CEL. */
  readonly rules?: typeof import('./cel-rules.ts')
  /** Finds patterns, which are in the syntax of RE2. */
  readonly patterns?: typeof import('../../cel/linear-pattern.ts')
}

export const noModules: SchemaModules = {}

export interface NeededModules {
  readonly rules: boolean
  readonly patterns: boolean
}

export async function loadModules(needed: NeededModules): Promise<SchemaModules> {
  return {
    ...(needed.rules && { rules: await import('./cel-rules.ts') }),
    ...(needed.patterns && { patterns: await import('../../cel/linear-pattern.ts') }),
  }
}

/** The module. Throws where a schema needs one that was not loaded for it. */
export function loaded<Module>(module: Module | undefined): Module {
  if (module === undefined) throw new Error('a module that a schema needs is not loaded')
  return module
}

/** The modules that schemas anywhere in `value` may need; a field of such a name counts, too. */
export function modulesNeededBy(value: unknown): NeededModules {
  const text = JSON.stringify(value ?? {})
  return {
    rules: text.includes('"x-kubernetes-validations"'),
    patterns: text.includes('"pattern":'),
  }
}
