/** `--runtime-config`: which of the built-in resources are served (upstream: apiserver pkg/server/resourceconfig). */
import type { Resource } from '../machinery/objects/resource.ts'
import type { Resources } from './resources.ts'

/** Keys that name a whole stage, in the order in which they are applied. */
const stages: readonly { key: string; matches: (version: string) => boolean }[] = [
  { key: 'api/all', matches: () => true },
  { key: 'api/ga', matches: (version) => /^v\d+$/.test(version) },
  { key: 'api/beta', matches: (version) => /^v\d+beta\d+$/.test(version) },
  { key: 'api/alpha', matches: (version) => /^v\d+alpha\d+$/.test(version) },
]

/**
 * Applies `batch/v1=false,storage.k8s.io/v1alpha1,api/beta=true` to the defaults: stages first, then versions, then single
 * resources (`group/version/plural`), so the closer key wins whatever the order. A key without a value means true; `v1`
 * (or `api/v1`) is the core group. Throws an Error fit for the operator; warnings are texts to log.
 */
export function servedResources(
  resources: Resources,
  runtimeConfig: string,
): { readonly served: readonly Resource[]; readonly warnings: readonly string[] } {
  const settings = parse(runtimeConfig)
  if (settings.size === 1 && settings.get('api/all') === false) {
    throw new Error('invalid key with only api/all=false')
  }
  const isServed = new Map(
    resources.all.map((resource) => [resource, resource.servedByDefault] as const),
  )
  const warnings: string[] = []
  for (const { key, matches } of stages) {
    const value = settings.get(key)
    if (value === undefined) continue
    for (const resource of isServed.keys()) {
      if (matches(resource.version)) isServed.set(resource, value)
    }
  }
  const keys = [...settings.keys()]
    .filter((key) => !stages.some((stage) => stage.key === key))
    .map((key) => ({ key, ...locate(key) }))
  for (const { group, version } of keys) refuseUnknown(resources, { group, version })
  const isWhole = ({ plural }: { plural?: string }) => plural === undefined
  const versionsFirst = [...keys.filter(isWhole), ...keys.filter((at) => !isWhole(at))]
  for (const { key, group, version, plural } of versionsFirst) {
    const named = resources.all.filter(
      (resource) =>
        resource.group === group &&
        resource.version === version &&
        (plural === undefined || resource.plural === plural),
    )
    if (named.length === 0) warnings.push(`runtime-config: there is no resource ${key}`)
    for (const resource of named) isServed.set(resource, settings.get(key) === true)
  }
  return { served: resources.all.filter((resource) => isServed.get(resource)), warnings }
}

function refuseUnknown(resources: Resources, at: { group: string; version: string }): void {
  const known = resources.groups.find((group) => group.name === at.group)
  if (known === undefined) throw new Error(`unknown api groups ${at.group}`)
  if (!known.versions.some(({ version }) => version === at.version)) {
    throw new Error(`group version ${at.group}/${at.version} that has not been registered`)
  }
}

function parse(text: string): Map<string, boolean> {
  const settings = new Map<string, boolean>()
  for (const item of text.split(',')) {
    if (item.trim() === '') continue
    const equals = item.indexOf('=')
    const key = (equals < 0 ? item : item.slice(0, equals)).trim()
    const value = equals < 0 ? '' : item.slice(equals + 1).trim()
    if (value !== '' && value !== 'true' && value !== 'false') {
      throw new Error(`invalid value of ${key}: ${value}, want true or false`)
    }
    settings.set(key, value !== 'false')
  }
  return settings
}

function locate(key: string): { group: string; version: string; plural?: string } {
  const parts = key === 'v1' ? ['api', 'v1'] : key.split('/')
  const [group = '', version = '', plural] = parts
  if (parts.length < 2 || parts.length > 3 || group === '' || version === '' || plural === '') {
    throw new Error(`runtime-config invalid key ${key}`)
  }
  if (plural !== undefined && plural !== plural.toLowerCase()) {
    throw new Error(
      `invalid key ${key}: group/version/resource and resource is always lowercase plural, not "${plural}"`,
    )
  }
  const at = { group: group === 'api' ? '' : group, version }
  return plural === undefined ? at : { ...at, plural }
}
