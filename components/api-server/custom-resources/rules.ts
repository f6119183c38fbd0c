/** Whether schemas have rules in CEL, and the module that knows them: loaded for the first schema that has one. */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { additionalOf, itemsOf } from './structural-schema.ts'

type RulesModule = typeof import('./cel-rules.ts')

let loaded: RulesModule | undefined

/** To be awaited before `rulesModule` is asked. */
export async function loadRules(): Promise<void> {
  loaded ??= await import('./cel-rules.ts')
}

export function rulesModule(): RulesModule {
  if (loaded === undefined) throw new Error('rules are not loaded')
  return loaded
}

export function hasRules(schema: JSONSchemaProps): boolean {
  if ((schema['x-kubernetes-validations'] ?? []).length > 0) return true
  const [items, additional] = [itemsOf(schema), additionalOf(schema)]
  return (
    (items !== undefined && hasRules(items)) ||
    (additional !== undefined && hasRules(additional)) ||
    Object.values(schema.properties ?? {}).some(hasRules)
  )
}
