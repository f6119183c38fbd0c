/** Which kinds an import reads. What a cluster makes for itself, and what only works where it comes from, is left out. */
import type { ServerResources } from '../../components/client/server-resources.ts'
import {
  apiVersionOf,
  qualifiedName,
  type Resource,
} from '../../components/machinery/objects/resource.ts'
import { nearestName } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { kindName } from './kind-name.ts'
import { findResource } from '../why/named-resource.ts'

/** Read only when they are named. Webhooks would be called where no server answers, and refuse every write. */
const onlyNamed = new Set([
  'apiservices.apiregistration',
  'certificatesigningrequests.certificates',
  'controllerrevisions.apps',
  'csinodes.storage',
  'csistoragecapacities.storage',
  'endpoints',
  'endpointslices.discovery',
  'events',
  'events.events',
  'flowschemas.flowcontrol.apiserver',
  'ipaddresses.networking',
  'leasecandidates.coordination',
  'leases.coordination',
  'mutatingwebhookconfigurations.admissionregistration',
  'nodes',
  'prioritylevelconfigurations.flowcontrol.apiserver',
  'resourceslices.resource',
  'secrets',
  'servicecidrs.networking',
  'storageversions.internal.apiserver',
  'validatingwebhookconfigurations.admissionregistration',
  'volumeattachments.storage',
])

export interface WantedKinds {
  /** Names of kinds; empty: all that make sense elsewhere. */
  readonly kinds: readonly string[]
  readonly includeSecrets: boolean
}

const isReadable = ({ virtual, verbs }: Resource): boolean =>
  !virtual && verbs.includes('list') && verbs.includes('create')

function named(source: ServerResources, word: string): Resource {
  const found = findResource(source, word)
  if (found !== undefined && isReadable(found)) return found
  if (found !== undefined) {
    throw new ClusterError('usage', `${qualifiedName(found)} cannot be imported`, {
      hint: 'choose kinds that can be listed and created',
    })
  }
  const names = source.preferred.flatMap(({ plural, singular }) => [plural, singular])
  const nearest = nearestName(word.toLowerCase(), names)
  throw new ClusterError('usage', `the server has no kind "${word}"`, {
    hint: nearest === undefined ? 'see: kubectl api-resources' : `did you mean ${nearest}?`,
  })
}

/** In a version that the target serves too, where there is one. */
function sharedVersion(
  resource: Resource,
  { source, target }: { source: ServerResources; target: ServerResources | undefined },
): Resource {
  const serves = (one: Resource): boolean =>
    target === undefined ||
    target.all.some((two) => two.plural === one.plural && apiVersionOf(two) === apiVersionOf(one))
  if (serves(resource)) return resource
  const { group, plural } = resource
  const others = source.all.filter((one) => one.group === group && one.plural === plural)
  return others.find(serves) ?? resource
}

/** The kinds to read, each once. Throws a ClusterError of kind `usage` for an unknown name. */
export function kindsToImport(
  source: ServerResources,
  target: ServerResources | undefined,
  { kinds, includeSecrets }: WantedKinds,
): Resource[] {
  const isLeftOut = (resource: Resource): boolean => {
    const name = kindName(resource)
    return name === 'secrets' ? !includeSecrets : onlyNamed.has(name)
  }
  const chosen =
    kinds.length === 0
      ? source.preferred.filter((one) => isReadable(one) && !isLeftOut(one))
      : kinds.map((word) => named(source, word))
  const secrets = chosen.find((one) => qualifiedName(one) === 'secrets')
  if (secrets !== undefined && !includeSecrets) {
    throw new ClusterError('usage', 'Secrets are imported only with --include-secrets', {
      hint: 'pass --include-secrets too',
    })
  }
  const byName = new Map(chosen.map((one) => [qualifiedName(one), one]))
  return [...byName.values()].map((one) => sharedVersion(one, { source, target }))
}
