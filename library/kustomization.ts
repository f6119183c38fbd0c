/** Kustomizations that only list their resources, as those of generated operators do; anything else needs kustomize itself. */
import { parseYaml } from '../cluster/yaml.ts'

const fileNames = ['kustomization.yaml', 'kustomization.yml', 'Kustomization']

export const isKustomization = (name: string): boolean => fileNames.includes(name)

/** Fields that change no object. */
const harmless = ['apiVersion', 'kind', 'metadata', 'resources']

const useKustomize =
  'name the folder with the objects, or a file with the output of kustomize build'

function isEmpty(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0)
}

/** Files and folders that it lists, relative to its own folder, in its order. Throws an Error that says what it asks for beyond that. */
export function resourcesOf(text: string): readonly string[] {
  const parsed = parseYaml(text) ?? {}
  if (typeof parsed !== 'object' || Array.isArray(parsed))
    throw new Error('is not a kustomization: it must be a mapping')
  const more = Object.entries(parsed).filter(
    ([field, value]) => !harmless.includes(field) && !isEmpty(value),
  )
  if (more.length > 0) {
    const fields = more.map(([field]) => field).join(', ')
    throw new Error(
      `kustomizations are read for their resources alone, not for ${fields}: ${useKustomize}`,
    )
  }
  const { resources } = parsed as { resources?: unknown }
  if (resources === undefined || resources === null) return []
  if (Array.isArray(resources) && resources.every((one) => typeof one === 'string'))
    return resources as string[]
  throw new Error('resources must be a list of files and folders')
}
