/** Named resource: what a word such as `po`, `Deployment` or `cronjobs.v1.batch` means to the server, by discovery. */
import { nearestName } from '../../components/component-base/flags.ts'
import type { Client } from '../../components/client/client.ts'
import { createDiscovery, type ServerResources } from '../../components/client/server-resources.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { ClusterError } from '../cluster-error.ts'

/** Plural, singular, kind or short name, alone or followed by `.group` or `.version.group`, in any case (upstream: cli-runtime resource.Builder). */
export function findResource(
  { all, preferred }: ServerResources,
  word: string,
): Resource | undefined {
  const [name = '', ...rest] = word.toLowerCase().split('.')
  const suffix = rest.join('.')
  const isInGroup = ({ group, version }: Resource): boolean =>
    suffix === '' || suffix === group || suffix === `${version}.${group}`
  const full = ({ plural, singular, kind }: Resource): boolean =>
    [plural, singular, kind.toLowerCase()].includes(name)
  const short = ({ shortNames }: Resource): boolean => shortNames.includes(name)
  return (
    preferred.find((one) => isInGroup(one) && full(one)) ??
    preferred.find((one) => isInGroup(one) && short(one)) ??
    all.find((one) => isInGroup(one) && (full(one) || short(one)))
  )
}

/** The resource of that name; undefined when the server has none. */
export async function resourceNamed(client: Client, word: string): Promise<Resource | undefined> {
  return findResource(await createDiscovery(client)(), word)
}

/**
 * As `findResource`, but always the preferred version. Throws a ClusterError of kind `usage` for an unknown word; `otherwise` says
 * what else the user may have meant.
 */
export function neededResource(
  resources: ServerResources,
  word: string,
  otherwise?: string,
): Resource {
  const found = findResource(resources, word)
  if (found !== undefined) {
    const { group, plural } = found
    const same = resources.preferred.find((one) => one.group === group && one.plural === plural)
    return same ?? found
  }
  const names = resources.preferred.flatMap(({ plural, singular }) => [plural, singular])
  const nearest = nearestName(word.toLowerCase(), names)
  const also = otherwise === undefined ? [] : [otherwise]
  const hint =
    nearest === undefined
      ? ['see: kubectl api-resources', ...also].join('; ')
      : [`did you mean ${nearest}?`, ...also.map(asSentence)].join(' ')
  throw new ClusterError('usage', `the server has no kind "${word}"`, { hint })
}

const asSentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
