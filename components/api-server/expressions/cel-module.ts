/** The evaluator of expressions, loaded for the first object that has one. */
type CelModule = typeof import('../cel/cel.ts')

let loaded: CelModule | undefined

/** To be awaited before `celModule` is asked. */
export async function loadCel(): Promise<CelModule> {
  return (loaded ??= await import('../cel/cel.ts'))
}

export function celModule(): CelModule {
  if (loaded === undefined) throw new Error('the evaluator of expressions is not loaded')
  return loaded
}
